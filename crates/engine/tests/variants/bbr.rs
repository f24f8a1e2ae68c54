//! BBR's ProbeRTT over a path whose smallest round-trip time repeats to the nanosecond.
//!
//! In both drafts and in Linux, the smallest round-trip time expires 10 s after it was *measured*:
//! a sample that equals it does not renew it (draft-ietf-ccwg-bbr, `BBRUpdateMinRTT`: "RS.rtt <
//! BBR.min_rtt"). So ProbeRTT begins 10 s after the last one ended, which takes 200 ms or a round
//! trip after the flight has drained, whichever is longer.

use crate::run::{scenario, Run};

/// Returns the seconds at which the window falls to that of ProbeRTT, after Startup.
fn probes(variant: &str, delay_ms: u64, max: f64) -> Vec<f64> {
    let text = format!(
        r#"
        name = "probes"
        duration = "60 s"
        record = {{ traces = ["tcp"] }}
        [[link]]
        name = "sat"
        from = "a"
        to = "b"
        rate = "10 Mbit/s"
        delay = "{delay_ms} ms"
        queue = {{ kind = "drop-tail", packets = 2000 }}
        return = {{ rate = "10 Mbit/s", delay = "{delay_ms} ms" }}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        app = "bulk"
        transport = {{ kind = "tcp", congestion = "{variant}", timestamps = true }}
        "#
    );
    let run = Run::new(&scenario(&text), 1, 0).finished();
    let trace = run.results().traces.remove("tcp").expect("the trace");
    let mut begins = Vec::new();
    let mut is_probing = true; // the initial window
    for row in &trace {
        let probes_now = row.values[0] <= max;
        if probes_now && !is_probing {
            begins.push(row.time as f64 / 1e9);
        }
        is_probing = probes_now;
    }
    begins
}

#[test]
fn the_smallest_round_trip_time_expires_even_if_it_repeats() {
    // Packets of 1500 bytes at 10 Mbit/s: 833 per second.
    for (variant, delay_ms, max) in
        [("bbr", 50, 4.0), ("bbr", 250, 4.0), ("bbr3", 50, 50.0), ("bbr3", 250, 250.0)]
    {
        let rtt = 2.0 * delay_ms as f64 / 1e3;
        let begins = probes(variant, delay_ms, max);
        assert!((5..=6).contains(&begins.len()), "{variant}, {delay_ms} ms: {begins:?}");
        assert!(begins[0] > 10.0 && begins[0] < 10.5 + 4.0 * rtt, "{variant}, {delay_ms} ms: {begins:?}");
        for pair in begins.windows(2) {
            let gap = pair[1] - pair[0];
            assert!(gap > 10.2 && gap < 10.3 + 4.0 * rtt, "{variant}, {delay_ms} ms: {begins:?}");
        }
    }
}
