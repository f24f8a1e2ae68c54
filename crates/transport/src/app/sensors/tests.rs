use super::{Config, Workload};
use crate::app::{Actions, End, Event};
use bentpipe_core::{Problems, Report, Span, Stream, Streams, Time};

fn config(keys: &str) -> Config {
    let text = format!(
        r#"{{"motes": ["m1", "m2", "m3"], "query": "SELECT * FROM motes", "period": "500 ms"{keys}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn stream() -> Stream {
    Streams::new(1, 0).stream("test")
}

/// Returns the bytes that the sink sends up to `until`, and its report.
fn served(config: &Config, until: Time) -> (u64, Report) {
    let mut app = config.build(End::Destination, stream());
    let (mut stream, mut sent) = (stream(), 0);
    let mut event = Event::Received { bytes: config.query.len() as u64 };
    let mut now = Time::ZERO;
    loop {
        let mut actions = Actions::default();
        app.on(now, 0, event, &mut stream, &mut actions);
        sent += actions.send;
        match actions.timer.filter(|timer| *timer <= until) {
            Some(timer) => (now, event) = (timer, Event::Timer),
            None => break,
        }
    }
    let mut report = Report::default();
    app.report("f", Span::ZERO, &mut report);
    (sent, report)
}

/// Three motes, ten seconds at two samples a second with one at 0 s: 60 measures of 25 bytes.
#[test]
fn the_sink_sends_25_bytes_for_each_measure() {
    let until = Time::ZERO + Span::from_millis(9_900);
    let (sent, report) = served(&config(""), until);
    assert_eq!(sent, 60 * 25);
    assert_eq!(report.value("flow_sensors", "f", "sensor_rows"), Some(60.0));
    assert_eq!(report.value("motes", "f.m2", "samples"), Some(20.0));
    let max = report.value("flow_sensors", "f", "sensor_delay_max").unwrap();
    // The delay is at least backoff, assessment, turnaround and frame; at most three motes contend.
    assert!((0.001_664..0.1).contains(&max), "{max}");
}

/// A filter and an average on the motes cost a small part of the cost of shipping, in frames, bytes
/// and energy.
#[test]
fn a_placed_average_costs_less_than_shipping() {
    let query =
        r#", "query": "SELECT node, avg(light) FROM motes WHERE audio > 30 GROUP BY node, TUMBLE(time, 10)""#;
    let config = |placement: &str| -> Config {
        let motes = r#""motes": ["m1", "m2", "m3"], "period": "500 ms""#;
        serde_json::from_str(&format!(r#"{{{motes}, "placement": "{placement}"{query}}}"#)).unwrap()
    };
    let until = Time::ZERO + Span::from_secs(105);
    let [(placed, at_nodes), (shipped, at_sink)] =
        ["nodes", "sink"].map(|placement| served(&config(placement), until));
    assert_eq!((placed, shipped), (30 * 25, 30 * 25));
    for column in ["sensor_frames", "sensor_bytes", "sensor_energy"] {
        let [placed, shipped] =
            [&at_nodes, &at_sink].map(|report| report.value("flow_sensors", "f", column).unwrap());
        assert!(placed * 15.0 < shipped, "{column} {placed} {shipped}");
    }
}

/// A single mote has no collisions. An attempt arrives with probability 0.7, and its acknowledgment
/// with 0.7, so a message takes (1 - 0.51^4) / 0.49 = 1.9027 of up to four attempts on average;
/// none arrives with 0.3^4 = 0.0081.
#[test]
fn a_lossy_channel_costs_retransmissions_and_rows() {
    let text = r#"{"motes": ["m1"], "query": "SELECT * FROM m1", "period": "100 ms", "error": {"packet": {"probability": 0.3}}}"#;
    let config: Config = serde_json::from_str(text).unwrap();
    let (sent, report) = served(&config, Time::ZERO + Span::from_millis(199_950));
    let value = |column| report.value("flow_sensors", "f", column).unwrap();
    assert_eq!(value("sensor_messages"), 2000.0);
    // Standard deviations: 0.023 frames per message, and 4 lost messages.
    let frames = value("sensor_frames") / 2000.0;
    assert!((frames - 1.9027).abs() < 0.1, "{frames}");
    assert_eq!(sent, 25 * value("sensor_rows") as u64);
    let lost = 2000 - sent / 25;
    assert!((3..=32).contains(&lost), "{lost}");
}

#[test]
fn invalid_values_are_named() {
    for (keys, key, why) in [
        (r#", "motes": []"#, "motes", "0 motes"),
        (r#", "motes": ["a", "a"]"#, "motes", "\"a\""),
        (r#", "motes": ["sink"]"#, "motes", "sink"),
        (r#", "parents": {"m1": "m9"}"#, "parents", "m9"),
        (r#", "parents": {"m1": "m2", "m2": "m1"}"#, "parents", "circle"),
        (r#", "hears": {"m1": ["x"]}"#, "hears", "\"x\""),
        (r#", "period": "1 ms""#, "period", "10 ms"),
        (r#", "min_be": 6"#, "min_be", "max_be"),
        (r#", "measure": "0 B""#, "measure", "1 B"),
        (r#", "query": "SELECT colour FROM motes""#, "query", "colour"),
    ] {
        let text = r#"{"motes": ["m1", "m2", "m3"], "query": "SELECT * FROM motes"}"#;
        let mut base: serde_json::Value = serde_json::from_str(text).unwrap();
        let change: serde_json::Value = serde_json::from_str(&format!("{{{}}}", &keys[2..])).unwrap();
        base.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let mut problems = Problems::default();
        serde_json::from_value::<Config>(base).unwrap().check_keys(&mut problems);
        let problems = problems.into_vec();
        let problem = problems.first().unwrap_or_else(|| panic!("{keys} is accepted"));
        assert_eq!(problem.path, [key]);
        assert!(problem.message.contains(why), "{}", problem.message);
    }
}
