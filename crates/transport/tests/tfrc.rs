//! TFRC over simple paths, compared with RFC 5348.

mod common;

use bentpipe_core::{math, Span, Streams, Time};
use bentpipe_link::Link;
use bentpipe_testing::bench::{self, Bench};
use bentpipe_transport::app::{Config as AppConfig, End};
use bentpipe_transport::datagrams::Probes;
use bentpipe_transport::tfrc::{equation, Config, Endpoint};
use common::site;
use std::ops::Deref;

struct Path(Bench<bench::Path<Endpoint, Link>>);

impl Deref for Path {
    type Target = Bench<bench::Path<Endpoint, Link>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Path {
    /// Loses one of this many data packets, besides the losses of the links.
    fn new(config: &str, app: &str, link: &str, every: Option<u64>) -> Path {
        let config: Config = serde_json::from_str(config).unwrap();
        let app: AppConfig = serde_json::from_str(app).unwrap();
        let streams = Streams::new(7, 0);
        let build = |end: End, name: &str| {
            let app = app.build(end, streams.stream("plan"));
            Endpoint::new(site(end), &config, app, streams.stream(name), Probes::default())
        };
        let ends = [build(End::Source, "source"), build(End::Destination, "destination")];
        let link =
            |name: &str| Link::new(name, &serde_json::from_str(link).unwrap(), streams.stream(name), None);
        let mut path = bench::Path::new(ends, [link("out"), link("back")]);
        path.loses_every = every;
        Path(Bench::new(path))
    }

    fn run(&mut self, seconds: f64) {
        self.0.run(Time::ZERO + Span::from_secs_f64(seconds));
    }

    fn value(&mut self, table: &str, entity: &str, column: &str) -> f64 {
        self.0.report().value(table, entity, column).unwrap_or(f64::NAN)
    }

    fn delivered(&mut self) -> f64 {
        self.value("flow_destination", "flow", "delivered_bytes")
    }
}

const WIDE: &str = r#"{"rate": "1 Gbit/s", "delay": "100 ms"}"#;
const BULK: &str = r#"{"bulk": {}}"#;

#[test]
fn with_regular_losses_the_rate_equals_that_of_the_equation() {
    for every in [20, 50, 200, 1000] {
        let mut path = Path::new("{}", BULK, WIDE, Some(every));
        path.run(200.0);
        let before = path.delivered();
        path.run(400.0);
        let rate = (path.delivered() - before) / 200.0;
        // Every loss is a separate event if there are more packets between losses than in a round
        // trip.
        let p = path.ends[1].receiver().losses().rate();
        let expected = equation::rate(1460.0, path.value("flow_source", "flow", "rtt_mean"), p)
            * (1.0 - 1.0 / every as f64);
        assert!((rate / expected - 1.0).abs() < 0.05, "{every}: {rate} of {expected} B/s, p {p}");
        if every <= 50 {
            assert!((p * every as f64 - 1.0).abs() < 0.02, "{every}: p {p}");
        }
    }
}

#[test]
fn with_random_losses_the_rate_follows_the_equation_within_a_tenth() {
    for probability in [0.005, 0.01, 0.03] {
        let link = format!(
            r#"{{"rate": "1 Gbit/s", "delay": "150 ms", "error": {{"packet": {{"probability": {probability}}}}}}}"#
        );
        let mut path = Path::new("{}", BULK, &link, None);
        path.run(300.0);
        let (bytes, packets, (events, _)) = (
            path.delivered(),
            path.value("flow_source", "flow", "sent_packets"),
            path.ends[1].receiver().losses().counts(),
        );
        path.run(3000.0);
        let (later, _) = path.ends[1].receiver().losses().counts();
        let sent = path.value("flow_source", "flow", "sent_packets") - packets;
        let p = (later - events) as f64 / sent;
        let rate = (path.delivered() - bytes) / 2700.0 / (1.0 - probability);
        let expected = equation::rate(1460.0, path.value("flow_source", "flow", "rtt_mean"), p);
        assert!((rate / expected - 1.0).abs() < 0.1, "{probability}: {rate} of {expected} B/s, p {p}");
    }
}

#[test]
fn before_the_first_loss_the_rate_doubles_from_the_initial_window() {
    let mut path = Path::new(r#"{"damped": false}"#, BULK, WIDE, None);
    let mut rates = Vec::new();
    for round in 0..6 {
        // The first packet is answered after a round trip of 200 ms.
        path.run(0.2 * f64::from(round) + 0.35);
        rates.push(path.ends[0].sender().allowed());
    }
    // W_init of 4380 bytes a round trip.
    let initial = 4380.0 / 0.2;
    assert!((rates[0] / initial - 1.0).abs() < 0.01, "{rates:?}");
    // At most twice as much with each report (4.3). A report of packets sent at the old rate
    // permits no more than twice that, so a doubling takes one or two round trips.
    assert!(rates.windows(2).all(|pair| (1.0..=2.01).contains(&(pair[1] / pair[0]))), "{rates:?}");
    assert!(rates[5] >= initial * math::powf(2f64, 2.5), "{rates:?}");
}

#[test]
fn a_source_with_its_own_rate_is_not_exceeded_and_has_no_losses_on_a_clean_path() {
    let app = r#"{"cbr": {"rate": "400 kbit/s", "datagram": "500 B"}}"#;
    let mut path = Path::new("{}", app, r#"{"rate": "1 Mbit/s", "delay": "250 ms"}"#, None);
    path.run(60.0);
    let (sent, delivered) = (path.value("flow_source", "flow", "sent_packets"), path.delivered());
    assert!((sent - 60.0 * 100.0).abs() < 200.0, "{sent} packets");
    assert!(delivered / 500.0 > sent - 60.0);
    assert_eq!(path.value("tfrc", "flow.destination", "lost"), 0.0);
}

#[test]
fn a_granted_request_starts_at_its_rate_unless_a_router_did_not_approve_it() {
    let app = r#"{"cbr": {"rate": "1024 kbit/s", "datagram": "1000 B"}}"#;
    let config = r#"{"quick_start": "1024 kbit/s"}"#;
    let half = |link: &str| {
        let mut path = Path::new(config, app, link, None);
        path.run(1.5);
        (path.delivered(), path.value("tfrc", "flow.source", "granted"))
    };
    let (granted, rate) = half(r#"{"rate": "4 Mbit/s", "delay": "250 ms", "quick_start": 0.9}"#);
    assert_eq!(rate, 1_280_000.0);
    let (part, rate) = half(r#"{"rate": "1 Mbit/s", "delay": "250 ms", "quick_start": 0.9}"#);
    assert_eq!(rate, 640_000.0);
    let (plain, rate) = half(r#"{"rate": "4 Mbit/s", "delay": "250 ms"}"#);
    assert_eq!(rate, 0.0);
    assert!(granted > 1.7 * part && part > 2.0 * plain, "{granted} {part} {plain}");
}

#[test]
fn small_packets_have_the_bit_rate_of_large_ones_minus_their_headers() {
    let rate = |config: &str, app: &str| {
        let link = r#"{"rate": "1 Gbit/s", "delay": "100 ms"}"#;
        let mut path = Path::new(config, app, link, Some(100));
        path.run(300.0);
        path.delivered() / 300.0
    };
    let app = r#"{"cbr": {"rate": "4 Mbit/s", "datagram": "200 B"}}"#;
    let small = rate(r#"{"small_packets": true}"#, app);
    // 10 ms between packets of 200 bytes: 20 kB/s is the rate that RFC 4828 (section 4.2) permits.
    assert!((small / 20_000.0 - 1.0).abs() < 0.05, "{small}");
}
