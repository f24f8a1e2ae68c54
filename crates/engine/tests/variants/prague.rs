//! Prague over DualPI2 (RFC 9332), alone and with CUBIC.

use crate::run::{goodput, report, untraced, value};
use bentpipe_core::Report;

const RATE: f64 = 50e6;
const SECONDS: f64 = 60.0;
/// Duration in which the growth of the window at the start hardly counts, in seconds.
const LONG: f64 = 240.0;

/// Runs endless flows with these transports over one link with DualPI2.
fn over_dualpi2(round_trip_ms: u32, seconds: f64, transports: &[&str]) -> Report {
    let delay = f64::from(round_trip_ms) / 2.0;
    let mut text = format!(
        r#"
        name = "l4s"
        duration = "{seconds} s"
        [[link]]
        name = "l"
        from = "a"
        to = "b"
        rate = "50 Mbit/s"
        delay = "{delay} ms"
        queue = "dualpi2"
        return = {{ rate = "50 Mbit/s", delay = "{delay} ms", queue = "drop-tail" }}
        "#
    );
    for (number, transport) in transports.iter().enumerate() {
        text += &format!(
            r#"
            [[flow]]
            name = "{number}"
            from = "a"
            to = "b"
            app = "bulk"
            transport = {{ kind = "tcp", receive_window = "64 MiB", {transport} }}
            "#
        );
    }
    report(&untraced(&text), 1)
}

/// RFC 9330: low latency, low loss and scalable throughput. The queue stays near its step of 1 ms,
/// no packet is lost, and the link is used. After slow start, the window grows by one segment per
/// round trip, so at 100 ms it takes tens of seconds to fill the link.
#[test]
fn prague_alone_fills_the_link_with_a_queue_of_milliseconds() {
    for round_trip_ms in [10, 20, 50, 100] {
        let report = over_dualpi2(round_trip_ms, LONG, &["congestion = \"prague\""]);
        let used = goodput(&report, "0", LONG) / (RATE * 1460.0 / 1512.0);
        let queue = |column| value(&report, "flow_source", "0", column) * 1e3 - f64::from(round_trip_ms);
        let (p50, p95) = (queue("rtt_p50"), queue("rtt_p95"));
        println!("{round_trip_ms} ms: {used:.3} of the link, queue {p50:.2} and {p95:.2} ms");
        assert!(used > 0.9, "{round_trip_ms} ms: {used}");
        assert_eq!(value(&report, "flow_source", "0", "retransmissions"), 0.0, "{round_trip_ms} ms");
        assert!(p50 < 2.0 && p95 < 5.0, "{round_trip_ms} ms: {p50} and {p95} ms");
    }
}

/// RFC 9332, section 1.2: a scalable and a classic flow share the link about equally. CUBIC is the
/// classic flow, with ECN and without.
#[test]
fn prague_and_cubic_share_a_link_within_a_factor_of_two() {
    for classic in ["congestion = \"cubic\", ecn = true", "congestion = \"cubic\""] {
        for round_trip_ms in [10, 20, 50, 100] {
            let report = over_dualpi2(round_trip_ms, SECONDS, &["congestion = \"prague\"", classic]);
            let [prague, cubic] = ["0", "1"].map(|flow| goodput(&report, flow, SECONDS));
            let queue =
                |flow| value(&report, "flow_source", flow, "rtt_p50") * 1e3 - f64::from(round_trip_ms);
            println!(
                "{round_trip_ms} ms, {classic}: {:.3}, queues {:.2} and {:.2} ms",
                prague / cubic,
                queue("0"),
                queue("1")
            );
            assert!((0.5..2.0).contains(&(prague / cubic)), "{round_trip_ms} ms: {}", prague / cubic);
            assert!(prague + cubic > 0.9 * RATE * 1460.0 / 1512.0, "{round_trip_ms} ms");
            assert!(queue("0") < 0.5 * queue("1"), "{round_trip_ms} ms: the delays are those of two queues");
        }
    }
}

/// Without accurate feedback, and without ECN, Prague is a classic flow (RFC 9331, section 4.3).
#[test]
fn without_accurate_feedback_prague_joins_the_classic_queue() {
    for ecn in ["ecn = true", "ecn = false"] {
        let transport = format!("congestion = \"prague\", {ecn}");
        let report = over_dualpi2(40, SECONDS, &[&transport]);
        let queue = value(&report, "flow_source", "0", "rtt_p50") * 1e3 - 40.0;
        println!("{ecn}: queue {queue:.2} ms");
        assert!(queue > 3.0, "{queue}");
    }
}
