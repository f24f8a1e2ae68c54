//! Simulated numbers compared with published equations.

use crate::run::{goodput, report, results, scenario, untraced, value, Run};
use bentpipe_core::{math, Time};

/// Returns a scenario with one TCP flow over one link. `link` and `transport` are additional keys.
/// Unless `transport` sets a profile, the profile is `classic`, which the equations describe.
fn one_flow(duration: f64, link: &str, transport: &str) -> String {
    let profile = if transport.contains("profile") { "" } else { "profile = \"classic\"" };
    format!(
        r#"
        name = "theory"
        duration = "{duration} s"
        [[link]]
        name = "sat"
        from = "a"
        to = "b"
        {link}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        app = "bulk"
        [flow.transport]
        kind = "tcp"
        congestion = "reno"
        {profile}
        {transport}
        "#
    )
}

/// Returns the packets sent per second according to the full model of Padhye, Firoiu, Towsley and
/// Kurose, "Modeling TCP Throughput: A Simple Model and its Empirical Validation", SIGCOMM 1998,
/// equation 31. `p` is the loss probability, `t0` the time-out in seconds, `b` the number of
/// segments per acknowledgment, and `wmax` the maximum window in segments.
fn padhye(p: f64, rtt: f64, t0: f64, b: f64, wmax: f64) -> f64 {
    let q = |w: f64| {
        let q3 = 1.0 - (1.0 - p).powi(3);
        let tail = 1.0 + (1.0 - p).powi(3) * (1.0 - math::powf(1.0 - p, w - 3.0));
        (q3 * tail / (1.0 - math::powf(1.0 - p, w))).min(1.0)
    };
    let f = 1.0 + (1..=6).map(|k| 2f64.powi(k - 1) * p.powi(k)).sum::<f64>();
    let c = (2.0 + b) / (3.0 * b);
    let w = c + (8.0 * (1.0 - p) / (3.0 * b * p) + c * c).sqrt();
    if w < wmax {
        ((1.0 - p) / p + w + q(w) / (1.0 - p)) / (rtt * (b / 2.0 * w + 1.0) + q(w) * f * t0 / (1.0 - p))
    } else {
        let rounds = b / 8.0 * wmax + (1.0 - p) / (p * wmax) + 2.0;
        ((1.0 - p) / p + wmax + q(wmax) / (1.0 - p)) / (rtt * rounds + q(wmax) * f * t0 / (1.0 - p))
    }
}

#[test]
fn the_full_model_agrees_with_the_reference_rows() {
    // tests/authorities/tfrc/PROVENANCE.md: p, RTT, T0, b, Wmax, approximate, full.
    let rows = include_str!("../../../../tests/authorities/tfrc/padhye_reference.csv");
    let mut count = 0;
    for line in rows.lines().skip(1) {
        let v: Vec<f64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
        let ours = padhye(v[0], v[1], v[2], v[3], v[4]);
        assert!((ours - v[6]).abs() <= 1e-4 * v[6] + 1e-4, "{line}: {ours}");
        count += 1;
    }
    assert!(count > 30);
}

/// Simulates a flow under random loss. Returns the packets sent per second, the packets delivered
/// per second, and the round-trip time in seconds, as means over the seeds.
fn under_loss(transport: &str, p: f64, delay: u32, seeds: u64) -> [f64; 3] {
    let duration = 2000.0;
    // Acknowledgments are not lost, and the rate of the link does not limit the flow.
    let link = format!(
        "rate = \"100 Mbit/s\"\ndelay = \"{delay} ms\"\nerror = {{ kind = \"packet\", probability = {p} }}\n\
         return = {{ rate = \"100 Mbit/s\", delay = \"{delay} ms\" }}"
    );
    // The slow-start threshold is near the steady-state window, so that slow start does not
    // overshoot.
    let threshold = (1.31 / p.sqrt()).max(2.0) as u32;
    let transport = format!("{transport}\ndelayed_ack = false\ninitial_ssthresh = {threshold}");
    let scenario = untraced(&one_flow(duration, &link, &transport));
    let mut means = [0.0; 3];
    for seed in 0..seeds {
        let report = report(&scenario, seed);
        let source = |column| value(&report, "flow_source", "f", column);
        let sample = [
            source("sent_packets") / duration,
            goodput(&report, "f", duration) / (8.0 * 1460.0),
            source("rtt_mean"),
        ];
        means.iter_mut().zip(sample).for_each(|(mean, value)| *mean += value / seeds as f64);
    }
    means
}

#[test]
fn reno_under_random_loss_follows_padhye() {
    for recovery in ["newreno", "sack"] {
        let transport = format!("recovery = \"{recovery}\"");
        for p in [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1] {
            let [sent, delivered, rtt] = under_loss(&transport, p, 250, 3);
            // The time-out has its minimum of 1 s, because the round-trip time of 0.5 s and the
            // minimum variation term of 0.2 s add up to less.
            let model = padhye(p, rtt, 1.0, 1.0, f64::INFINITY);
            assert!(
                (sent / model - 1.0).abs() < 0.2,
                "{recovery}, p = {p}: {sent} sent, {model} by the model"
            );
            let model = model * (1.0 - p);
            assert!(
                (delivered / model - 1.0).abs() < 0.2,
                "{recovery}, p = {p}: {delivered} delivered, {model} by the model"
            );
        }
    }
}

/// RACK and tail loss probes repair losses that would cause a time-out in the model's Reno. With
/// small windows, Linux is therefore faster than the model. With large windows, time-outs are rare,
/// and both are equally fast.
#[test]
fn linux_under_random_loss_follows_padhye_until_time_outs_count() {
    for (p, min, max) in [(0.0001, 0.8, 1.2), (0.001, 0.8, 1.2), (0.01, 0.8, 1.2), (0.1, 1.0, 1.4)] {
        let [sent, _, rtt] = under_loss("profile = \"linux\"", p, 250, 3);
        let model = padhye(p, rtt, rtt + 0.2, 1.0, f64::INFINITY);
        let ratio = sent / model;
        assert!((min..max).contains(&ratio), "p = {p}: {sent} sent, {model} by the model");
    }
}

#[test]
fn with_long_time_outs_reno_lies_between_padhye_and_no_time_outs() {
    // The model assumes that a loss is followed by the loss of all later packets of the round.
    // There are then few duplicate acknowledgments, and many losses end in a time-out. In the
    // simulation, losses are independent, so time-outs are rarer. With T0 = 10 RTT, time-outs
    // dominate. The simulated rate therefore lies between the model and the model without
    // time-outs.
    for recovery in ["newreno", "sack"] {
        for p in [0.01, 0.02, 0.05] {
            let [sent, _, rtt] = under_loss(&format!("recovery = \"{recovery}\""), p, 50, 1);
            let (min, max) =
                (padhye(p, rtt, 1.0, 1.0, f64::INFINITY), padhye(p, rtt, 0.0, 1.0, f64::INFINITY));
            assert!(min < sent && sent < 1.1 * max, "{recovery}, p = {p}: {min} {sent} {max}");
        }
    }
}

#[test]
fn reno_under_rare_random_loss_follows_the_stationary_mean() {
    // With independent losses, the mean window over time is 1.3098 / sqrt(p); with regular losses,
    // it would be 1.22 / sqrt(p) (T. Ott, J. Kemperman, M. Mathis, "The stationary behavior of
    // ideal TCP congestion avoidance", 1996). During the round trip of a recovery the window does
    // not grow, which costs about 2.5 %.
    for p in [0.0005, 0.001, 0.002] {
        let [sent, _, rtt] = under_loss("recovery = \"sack\"", p, 25, 2);
        let mean = 1.3098 / p.sqrt() / rtt;
        assert!((sent / mean - 1.0).abs() < 0.03, "p = {p}: {sent} packets/s instead of {mean}");
    }
}

#[test]
fn a_small_receive_window_limits_the_rate_to_window_over_round_trip_time() {
    for (segments, delay) in [(8u32, 250u32), (64, 250), (20, 40), (45, 600)] {
        let window = segments * 1460;
        let link = format!("rate = \"10 Mbit/s\"\ndelay = \"{delay} ms\"");
        let transport = format!("receive_window = \"{window} B\"\ndelayed_ack = false");
        let mut run = Run::new(&untraced(&one_flow(400.0, &link, &transport)), 1, 0);
        let bytes =
            |run: &Run, now| value(&run.network.report(now), "flow_destination", "f", "delivered_bytes");
        let begin = Time::from_nanos(100_000_000_000);
        run.network.run_until(begin);
        let before = bytes(&run, begin);
        let run = run.finished();
        let rate = (bytes(&run, run.end) - before) / 300.0;
        // Data packets have 1500 bytes, and acknowledgments 40 bytes.
        let rtt = 2.0 * f64::from(delay) / 1e3 + 1540.0 * 8.0 / 10e6;
        let bound = f64::from(window) / rtt;
        assert!((rate / bound - 1.0).abs() < 0.01, "{segments} segments, {delay} ms: {rate} of {bound} B/s");
        let measured = value(&run.report(), "flow_source", "f", "rtt_p50");
        // The report's percentiles have an error of up to 0.4 %.
        assert!((measured / rtt - 1.0).abs() < 0.006, "{measured} instead of {rtt} s");
    }
}

/// The payload per round trip, after it has stopped growing, equals the payload in Linux 6.12 in
/// virtual time with the same maxima of tcp_rmem and tcp_wmem (docs/notes/linux-tcp.md). The last
/// case sets keys that replace the memory.
#[test]
fn linux_carries_its_buffers_contents_per_round_trip() {
    const RAISED: &str = "profile = \"linux\"\nreceive_window = \"9 MB\"\nsend_buffer = \"8 MB\"";
    for (rate, profile, window) in [
        (50, "profile = \"linux\"", 3.33e6),
        (50, "profile = \"linux-6.12\"", 2.69e6),
        (200, "profile = \"linux-6.12\"", 2.73e6),
        (200, RAISED, 8e6),
    ] {
        let link = format!("rate = \"{rate} Mbit/s\"\ndelay = \"300 ms\"\nqueue = \"unlimited\"");
        let mut run = Run::new(&untraced(&one_flow(40.0, &link, profile)), 1, 0);
        let bytes =
            |run: &Run, now| value(&run.network.report(now), "flow_destination", "f", "delivered_bytes");
        let begin = Time::from_nanos(10_000_000_000);
        run.network.run_until(begin);
        let before = bytes(&run, begin);
        let run = run.finished();
        let in_a_round_trip = (bytes(&run, run.end) - before) / 30.0 * 0.6;
        assert!(
            (in_a_round_trip / window - 1.0).abs() < 0.04,
            "{rate}, {profile}: {in_a_round_trip} of {window}"
        );
    }
}

#[test]
fn a_full_link_carries_its_rate_minus_the_headers() {
    for (transport, header) in [
        ("", 40.0),
        ("timestamps = true\nsegment_size = 1448", 52.0),
        ("segment_size = 536\ndelayed_ack = false", 40.0),
        ("recovery = \"newreno\"\ninitial_ssthresh = 200", 40.0),
    ] {
        let link =
            "rate = \"2 Mbit/s\"\ndelay = \"250 ms\"\nqueue = { kind = \"drop-tail\", bytes = \"150 kB\" }";
        let text = one_flow(600.0, link, transport);
        let mut run = Run::new(&untraced(&text), 1, 0);
        let bytes =
            |run: &Run, now| value(&run.network.report(now), "flow_destination", "f", "delivered_bytes");
        let begin = Time::from_nanos(200_000_000_000);
        run.network.run_until(begin);
        let before = bytes(&run, begin);
        let run = run.finished();
        let rate = (bytes(&run, run.end) - before) * 8.0 / 400.0;
        let payload = match transport {
            _ if transport.contains("1448") => 1448.0,
            _ if transport.contains("536") => 536.0,
            _ => 1460.0,
        };
        let ceiling = 2e6 * payload / (payload + header);
        assert!(
            rate <= ceiling * 1.0001 && rate >= ceiling * 0.995,
            "{transport:?}: {rate} of {ceiling} bit/s"
        );
    }
}

#[test]
fn slow_start_doubles_each_round_trip() {
    // The link has negligible transmission times. A transfer of (2^rounds - 1) IW segments takes
    // one round trip for the handshake, one for each round except the last, and half a round trip
    // for the last round.
    for (initial, rounds) in [(1u64, 1u32), (1, 8), (2, 6), (4, 5), (10, 4)] {
        let segments = initial * ((1 << rounds) - 1);
        let link = "rate = \"100 Gbit/s\"\ndelay = \"250 ms\"";
        let transport = format!("delayed_ack = false\ninitial_window = {initial}");
        let text = one_flow(60.0, link, &transport).replace(
            "app = \"bulk\"",
            &format!("app = {{ kind = \"bulk\", size = \"{} B\" }}", segments * 1460),
        );
        let report = report(&untraced(&text), 0);
        let last = value(&report, "flow_destination", "f", "last_delivery");
        let expected = 0.5 * (f64::from(rounds) + 0.5);
        assert!(
            (last - expected).abs() < 1e-3,
            "IW {initial}, {rounds} rounds: {last} instead of {expected} s"
        );
        let completed = value(&report, "flow_source", "f", "completed");
        assert!((completed - expected - 0.25).abs() < 1e-3, "IW {initial}, {rounds} rounds: {completed} s");
        assert_eq!(value(&report, "flow_destination", "f", "delivered_packets"), segments as f64);
    }
}

#[test]
fn slow_start_fills_the_pipe_after_the_logarithm_of_its_size() {
    // A path with 10 Mbit/s and 500 ms holds 417 packets. With IW = 1, the window has 512 segments
    // after 9 doublings. The link is full when an acknowledgment makes the window larger than 417.
    let link = "rate = \"10 Mbit/s\"\ndelay = \"250 ms\"\nqueue = \"unlimited\"";
    let results = results(&scenario(&one_flow(20.0, link, "initial_window = 1\ndelayed_ack = false")));
    let rtt = 0.5 + 1540.0 * 8.0 / 10e6;
    let pipe = (10e6 * rtt / 12_000.0f64).ceil();
    let full = results.traces["tcp"].iter().find(|row| row.values[0] >= pipe).expect("the window grows");
    let time = full.time as f64 / 1e9;
    // The handshake takes one round trip, and eight doublings to 256 segments take eight. The
    // acknowledgments of the 256 segments arrive after the tenth round trip, at the rate of the
    // link.
    let expected = rtt * 10.0 + (pipe - 256.0) * 12_000.0 / 10e6;
    assert!((time - expected).abs() < 0.005, "{time} instead of {expected} s");
    let deliveries: Vec<_> =
        results.traces["delivery"].iter().filter(|row| row.time as f64 / 1e9 > expected + 1.0).collect();
    let gaps = deliveries.windows(2).filter(|pair| pair[1].time - pair[0].time > 1_200_000).count();
    assert_eq!(gaps, 0, "a full link delivers a packet every 1.2 ms");
}

#[test]
fn two_equal_flows_have_equal_shares() {
    for (profile, recovery) in [("classic", "sack"), ("classic", "newreno"), ("linux", "rack")] {
        let text = format!(
            r#"
            name = "sharing"
            duration = "2000 s"
            [[link]]
            name = "sat"
            from = "a"
            to = "b"
            rate = "4 Mbit/s"
            delay = "50 ms"
            queue = {{ kind = "drop-tail", packets = 33 }}
            [[flow]]
            name = "one"
            from = "a"
            to = "b"
            app = "bulk"
            transport = {{ kind = "tcp", profile = "{profile}", recovery = "{recovery}" }}
            [[flow]]
            name = "two"
            from = "a"
            to = "b"
            start = "7 s"
            app = "bulk"
            transport = {{ kind = "tcp", profile = "{profile}", recovery = "{recovery}" }}
            "#
        );
        let report = report(&untraced(&text), 0);
        let (one, two) = (goodput(&report, "one", 2000.0), goodput(&report, "two", 1993.0));
        assert!((one / two - 1.0).abs() < 0.1, "{recovery}: {one} and {two} bit/s");
        assert!(one + two > 0.9 * 4e6 * 1448.0 / 1500.0, "{recovery}: {one} and {two} bit/s");
    }
}

#[test]
fn the_delay_of_a_datagram_is_transmission_plus_propagation() {
    let text = r#"
        name = "clean"
        duration = "20 s"
        [[link]]
        name = "first"
        from = "a"
        to = "b"
        rate = "1 Mbit/s"
        delay = "250 ms"
        [[link]]
        name = "second"
        from = "b"
        to = "c"
        rate = "2 Mbit/s"
        delay = "10 ms"
        [[flow]]
        name = "f"
        from = "a"
        to = "c"
        app = { kind = "cbr", rate = "800 kbit/s", datagram = "972 B" }
        transport = "udp"
    "#;
    let results = results(&scenario(text));
    let rows = &results.traces["datagram"];
    // Packets of 1000 bytes take 8 ms on the first link and 4 ms on the second. Datagrams of 972
    // bytes at 800 kbit/s arrive every 9.72 ms.
    let expected = 0.272;
    assert!(rows.iter().all(|row| row.values[1] == expected), "{:?}", rows[0]);
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row.values[0], number as f64);
        assert_eq!(row.time, 272_000_000 + number as u64 * 9_720_000);
        assert_eq!(row.values[3], 972.0 * (number + 1) as f64);
    }
    assert_eq!(rows.len(), (20_000_000_000u64 - 272_000_000) as usize / 9_720_000 + 1);
}
