//! Congestion controls compared with the equations of their authors.

use crate::run::{goodput, report, untraced, value};
use bentpipe_core::{math, Streams};

/// Returns a scenario with `count` endless flows over one link, which start one second apart.
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

/// Simulates one flow under random loss and returns its mean window in segments: the packets sent
/// per second multiplied by the round-trip time.
fn mean_window(variant: &str, p: f64, rtt: f64, duration: f64, seeds: u64) -> f64 {
    let threshold = 200;
    let half = rtt / 2.0;
    let link = format!(
        "rate = \"1 Gbit/s\"\ndelay = \"{half} s\"\nerror = {{ kind = \"packet\", probability = {p} }}\n\
         queue = {{ kind = \"drop-tail\", packets = 100000 }}\nreturn = {{ rate = \"1 Gbit/s\", delay = \"{half} s\" }}"
    );
    let transport = format!(
        ", delayed_ack = false, initial_ssthresh = {threshold}, receive_window = \"1 GB\", send_buffer = \"1 GB\""
    );
    let scenario = untraced(&flows(1, variant, duration, &link, &transport));
    let sum: f64 = (0..seeds)
        .map(|seed| {
            let report = report(&scenario, seed);
            value(&report, "flow_source", "0", "sent_packets") * rtt / duration
        })
        .sum();
    sum / seeds as f64
}

/// Returns the mean window of CUBIC in segments under independent losses with probability `p` per
/// segment. Integrates equations 1, 2 and 4 of RFC 9438 without simulating packets.
fn cubic_under_independent_losses(p: f64, rtt: f64) -> f64 {
    const C: f64 = 0.4;
    const BETA: f64 = 0.7;
    const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
    let mut random = Streams::new(1, 0).stream("losses");
    let (mut w_max, mut epoch) = (1.0 / p.sqrt(), BETA / p.sqrt());
    let (mut sent, mut time) = (0.0, 0.0);
    for loss in 0..4000 {
        let gap = -math::ln(1.0 - random.uniform()) / p;
        let k = math::cbrt((w_max - epoch).max(0.0) / C);
        let origin = w_max.max(epoch);
        let step = rtt / 10.0;
        let (mut t, mut since) = (0.0, 0.0);
        let mut window = epoch;
        while since < gap {
            window = (C * (t - k).powi(3) + origin).max(epoch + ALPHA * t / rtt);
            since += window * step / rtt;
            t += step;
        }
        w_max = if window < w_max { window * (1.0 + BETA) / 2.0 } else { window };
        epoch = BETA * window;
        if loss >= 100 {
            (sent, time) = (sent + since, time + t);
        }
    }
    sent * rtt / time
}

#[test]
fn cubic_follows_its_equations_outside_the_reno_region() {
    for (p, rtt) in [(1e-4_f64, 0.5_f64), (1e-4, 1.0), (3e-4, 0.5)] {
        // Equation 6 of RFC 9438 is for losses at equal distances: 1.054 (RTT / p)^(3/4).
        let equal = 1.054 * math::powf(rtt / p, 0.75);
        let independent = cubic_under_independent_losses(p, rtt);
        let window = mean_window("cubic", p, rtt, 1500.0, 3);
        println!("cubic p {p:.0e} RTT {rtt} s: {window:.0}; equations {independent:.0}, equal distances {equal:.0}");
        assert!((window / independent - 1.0).abs() < 0.10, "p {p}, RTT {rtt} s: {window} of {independent}");
        assert!((window / equal - 1.0).abs() < 0.20, "p {p}, RTT {rtt} s: {window} of {equal}");
    }
}

#[test]
fn highspeed_and_scalable_follow_their_response_functions() {
    // RFC 3649, section 5: w = (0.078 / p)^(1 / 1.2). Kelly 2003, section 3.1: w = a / (b p) = 0.08
    // / p.
    for (variant, expected) in
        [("highspeed", math::powf(0.078_f64 / 1e-4, 1.0 / 1.2)), ("scalable", 0.08 / 1e-4)]
    {
        let window = mean_window(variant, 1e-4, 0.1, 1000.0, 3);
        println!("{variant}: {window:.0} of {expected:.0}");
        assert!((window / expected - 1.0).abs() < 0.20, "{variant}: {window} of {expected}");
    }
}

#[test]
fn vegas_keeps_alpha_to_beta_segments_queued() {
    // 4 Mbit/s take 3 ms for a packet of 1500 bytes.
    let link = "rate = \"4 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"drop-tail\", packets = 200 }";
    for (alpha, beta) in [(2, 4), (4, 8), (10, 12)] {
        // Slow start ends before the link is full, so it builds no queue.
        let transport = format!(
            ", delayed_ack = false, initial_ssthresh = 30, parameters = {{ alpha = {alpha}, beta = {beta} }}"
        );
        let scenario = untraced(&flows(1, "vegas", 120.0, link, &transport));
        let report = report(&scenario, 1);
        let queued = value(&report, "link", "l", "wait_mean") / 0.003;
        println!("vegas alpha {alpha}, beta {beta}: {queued:.2} packets wait");
        // The queue is empty at first, which lowers the mean. Vegas's `diff` is slightly larger
        // than the queue (see vegas.c).
        assert!(
            (f64::from(alpha) - 1.0..=f64::from(beta) + 0.2).contains(&queued),
            "{alpha}..{beta}: {queued}"
        );
    }
}

/// Congestion controls under which two equal flows share the link equally, each with the queue size
/// of its test in packets. A bandwidth-delay product is 33 packets.
///
/// Congestion controls that use the delay need a queue that drains at each loss. In a standing
/// queue, the minimum round-trip time of the second flow would include the queue of the first flow
/// (J. Mo et al., "Analysis and Comparison of TCP Reno and Vegas", INFOCOM 1999):
///
/// - `hybla` with 50 packets: the second flow overestimates its rho by 6 to 13 % and gets 53 % of
///   the link. If both flows start together, or if rho is 1, it gets 50.3 %.
/// - `ledbat` with 50 packets: no packet is lost, and the flows keep their initial ratio. The first
///   flow gets 36 to 62 % of the link, depending on the rate.
///
/// The other congestion controls are not expected to share equally:
///
/// - `scalable` keeps the initial ratio (D. Chiu and R. Jain, "Analysis of the Increase and
///   Decrease Algorithms", 1989, on multiplicative increase).
/// - `vegas` and `vegas95` are stable for all windows that leave alpha to beta segments queued.
/// - `lp` also yields to other `lp` flows.
/// - `fixed_rate` sends at a fixed rate.
const EQUAL_SHARES: [(&str, u32); 14] = [
    ("bbr", 50),
    ("bbr3", 50),
    ("bic", 50),
    ("compound", 50),
    ("cubic", 50),
    ("highspeed", 50),
    ("htcp", 50),
    ("hybla", 20),
    ("illinois", 20),
    ("ledbat", 40),
    ("reno", 50),
    ("veno", 33),
    ("westwood", 50),
    ("yeah", 50),
];

#[test]
fn two_equal_flows_have_equal_shares_over_a_long_run() {
    // At a single rate, the phase of the flows decides which flow finds the queue full: CUBIC's
    // first flow gets up to 62 % of the link. The test therefore averages over several rates.
    let rates = [9.4, 9.55, 9.7, 10.0, 10.3, 10.45, 10.6];
    for (name, packets) in EQUAL_SHARES {
        let (mut first, mut both) = (0.0, 0.0);
        for rate in rates {
            let link = format!(
                "rate = \"{rate} Mbit/s\"\ndelay = \"20 ms\"\nqueue = {{ kind = \"drop-tail\", packets = {packets} }}"
            );
            let scenario = untraced(&flows(2, name, 600.0, &link, ""));
            let report = report(&scenario, 1);
            let flow = |name| goodput(&report, name, 600.0);
            first += flow("0");
            both += flow("0") + flow("1");
        }
        let (share, used) = (first / both, both / rates.iter().sum::<f64>() / 1e6);
        println!("{:<10} {share:.3}, {used:.3} of the link", name);
        assert!((share - 0.5).abs() <= 0.025, "{}: {share}", name);
        assert!(used > 0.9, "{}: {used}", name);
    }
}
