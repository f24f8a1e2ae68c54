//! BBR's ProbeRTT over a path on which the minimum round-trip time repeats to the nanosecond.
//!
//! The minimum round-trip time expires 10 s after it was *measured*: a sample that equals the
//! minimum does not renew it. Linux and draft-ietf-ccwg-bbr (text of 2025/26, `BBRUpdateMinRTT`:
//! "RS.rtt < BBR.min_rtt") agree; draft-cardwell-iccrg-bbr-congestion-control-00 has "<=".
//!
//! Each ProbeRTT therefore begins 10 s after the end of the previous ProbeRTT. A ProbeRTT first
//! drains the data in flight. Then it lasts 200 ms or one round trip, whichever is longer.

use crate::run::{scenario, Run};

/// Runs a flow and returns the times in seconds at which ProbeRTT begins: the window falls to
/// `max_window` segments or less. The initial window does not count.
fn probe_begins(variant: &str, delay_ms: u64, max_window: f64) -> Vec<f64> {
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
    let trace = run.results().traces.remove("tcp").expect("the scenario records the trace tcp");
    let mut begins = Vec::new();
    // The initial window is as small as the window of ProbeRTT.
    let mut is_probing = true;
    for row in &trace {
        let probes_now = row.values[0] <= max_window;
        if probes_now && !is_probing {
            begins.push(row.time as f64 / 1e9);
        }
        is_probing = probes_now;
    }
    begins
}

#[test]
fn the_minimum_round_trip_time_expires_even_if_it_repeats() {
    // 10 Mbit/s carry 833 packets of 1500 bytes per second. In ProbeRTT, BBR version 1 has a window
    // of 4 segments, and version 3 half a bandwidth-delay product.
    for (variant, delay_ms, max_window) in
        [("bbr", 50, 4.0), ("bbr", 250, 4.0), ("bbr3", 50, 50.0), ("bbr3", 250, 250.0)]
    {
        let rtt = 2.0 * delay_ms as f64 / 1e3;
        let begins = probe_begins(variant, delay_ms, max_window);
        assert!((5..=6).contains(&begins.len()), "{variant}, {delay_ms} ms: {begins:?}");
        assert!(begins[0] > 10.0 && begins[0] < 10.5 + 4.0 * rtt, "{variant}, {delay_ms} ms: {begins:?}");
        for pair in begins.windows(2) {
            let gap = pair[1] - pair[0];
            assert!(gap > 10.2 && gap < 10.3 + 4.0 * rtt, "{variant}, {delay_ms} ms: {begins:?}");
        }
    }
}
