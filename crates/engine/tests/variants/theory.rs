//! Congestion controls against the equations of their authors.

use crate::run::{goodput, report, untraced, value};

/// So many endless flows over one link, each with its share of the report.
fn flows(count: usize, variant: &str, duration: f64, link: &str, transport: &str) -> String {
    let mut text = format!(
        r#"
        name = "theory"
        duration = "{duration} s"
        [[link]]
        name = "l"
        from = "a"
        to = "b"
        {link}
        "#
    );
    for flow in 0..count {
        text += &format!(
            r#"
            [[flow]]
            name = "{flow}"
            from = "a"
            to = "b"
            start = "{flow} s"
            app = "bulk"
            transport = {{ kind = "tcp", congestion = "{variant}" {transport} }}
            "#
        );
    }
    text
}

/// Mean window in segments under random loss: what was sent, times the round-trip time.
fn mean_window(variant: &str, p: f64, rtt: f64, duration: f64, seeds: u64) -> f64 {
    let threshold = 200;
    let half = rtt / 2.0;
    let link = format!(
        "rate = \"1 Gbit/s\"\ndelay = \"{half} s\"\nerror = {{ kind = \"packet\", probability = {p} }}\n\
         queue = {{ kind = \"drop-tail\", packets = 100000 }}\nreturn = {{ rate = \"1 Gbit/s\", delay = \"{half} s\" }}"
    );
    let transport = format!(", delayed_ack = false, initial_ssthresh = {threshold}");
    let scenario = untraced(&flows(1, variant, duration, &link, &transport));
    let sum: f64 = (0..seeds)
        .map(|seed| {
            let report = report(&scenario, seed);
            value(&report, "flow_source", "0", "sent_packets") * rtt / duration
        })
        .sum();
    sum / seeds as f64
}

#[test]
fn cubic_follows_its_response_function_where_it_is_not_reno() {
    // RFC 9438, equation 6 (C = 0.4, beta = 0.7): 1.054 (RTT / p)^(3/4), for losses that come after 1/p segments each.
    // Here they are independent. For a window that grows with t^(1/d) between losses and keeps beta of itself, the
    // mean under Poisson losses is above that of equal gaps; Reno's is 1.31 instead of 1.22 (Ott, Kemperman, Mathis,
    // 1996), and for the concave part of CUBIC, which lies longer near W_max, it is below.
    for (p, rtt) in [(1e-4_f64, 0.5_f64), (1e-4, 1.0), (3e-4, 0.5)] {
        let expected = 1.054 * (rtt / p).powf(0.75);
        let window = mean_window("cubic", p, rtt, 1500.0, 2);
        println!(
            "cubic p {p:.0e} rtt {rtt}: {window:.1} of {expected:.1}, {:+.1} %",
            100.0 * (window / expected - 1.0)
        );
        assert!((window / expected - 1.0).abs() < 0.2, "p {p}, RTT {rtt} s: {window} of {expected}");
    }
}

#[test]
fn scalable_and_highspeed_follow_their_response_functions() {
    // Kelly 2003, section 3.1: a / (b p) of the losses that reduce, b = 1/8: w = 0.08 / p. RFC 3649, section 5:
    // w = (0.078 / p)^(1 / 1.2) from Low_Window to High_Window.
    for (variant, p, expected) in
        [("highspeed", 1e-4, (0.078_f64 / 1e-4).powf(1.0 / 1.2)), ("scalable", 1e-4, 0.08 / 1e-4)]
    {
        let window = mean_window(variant, p, 0.1, 1000.0, 2);
        println!("{variant}: {window:.1} of {expected:.1}, {:+.1} %", 100.0 * (window / expected - 1.0));
    }
}

#[test]
fn vegas_keeps_alpha_to_beta_segments_queued() {
    // 4 Mbit/s take 3 ms for a packet of 1500 bytes.
    let link = "rate = \"4 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"drop-tail\", packets = 200 }";
    for (alpha, beta) in [(2, 4), (4, 8), (10, 12)] {
        let transport = format!(", delayed_ack = false, parameters = {{ alpha = {alpha}, beta = {beta} }}");
        let scenario = untraced(&flows(1, "vegas", 120.0, link, &transport));
        let report = report(&scenario, 1);
        let queued = value(&report, "link", "l", "wait_mean") / 0.003;
        println!("vegas alpha {alpha}, beta {beta}: {queued:.2} packets wait");
        // The packet in transmission is one of those that Vegas counts, and the ramp at the start has a smaller queue.
        assert!((f64::from(alpha) - 1.5..=f64::from(beta)).contains(&queued), "{alpha}..{beta}: {queued}");
    }
}

#[test]
fn two_equal_flows_share_alike_over_a_long_run() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = { kind = \"drop-tail\", packets = 50 }";
    for variant in bentpipe_congestion::variants() {
        let scenario = untraced(&flows(2, variant.name, 1200.0, link, ""));
        let report = report(&scenario, 1);
        let rates: Vec<f64> = (0..2).map(|flow| goodput(&report, &flow.to_string(), 1200.0)).collect();
        let share = rates[0] / (rates[0] + rates[1]);
        println!("{:<10} {:.3}, {:.0} kbit/s together", variant.name, share, (rates[0] + rates[1]) / 1e3);
    }
}
