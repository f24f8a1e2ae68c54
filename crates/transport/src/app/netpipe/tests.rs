//! Tests of both ends over a path that delivers each message as a whole after a given time.

use super::{Config, End, Workload};
use crate::app::{Actions, App, Event};
use bentpipe_core::{Problems, Report, Span, Streams, Time};

/// Runs NetPIPE over a path on which `bytes` take `time(bytes)` one way. Returns the rows (bytes,
/// repeats, time), the size of the unfinished block, and the messages of the source.
fn run(config: &str, time: impl Fn(u64) -> Span) -> (Vec<(u64, u64, f64)>, u64, Vec<u64>) {
    let config: Config = serde_json::from_str(config).unwrap();
    let streams = Streams::new(1, 0);
    let mut stream = streams.stream("app");
    let mut ends = [End::Source, End::Destination].map(|end| config.build(end, streams.stream("plan")));
    let (mut now, mut sent) = (Time::ZERO, Vec::new());
    let mut ask = |ends: &mut [Box<dyn App>; 2], end: usize, now, event| {
        let mut actions = Actions::default();
        ends[end].on(now, 0, event, &mut stream, &mut actions);
        actions
    };
    assert!(ask(&mut ends, 0, now, Event::Start).connect);
    let mut actions = ask(&mut ends, 0, now, Event::Connected);
    while !actions.close && sent.len() < 100_000 {
        sent.push(actions.send);
        let there = now + time(actions.send);
        let answer = ask(&mut ends, 1, there, Event::Received { bytes: actions.send });
        now = there + time(answer.send);
        actions = match answer.send {
            0 => ask(&mut ends, 0, now, Event::MaySend),
            bytes => ask(&mut ends, 0, now, Event::Received { bytes }),
        };
    }
    let mut report = Report::default();
    ends[0].report("np", Span::ZERO, &mut report);
    let (mut rows, mut pending) = (Vec::new(), 0);
    for (table, _, values) in report.rows() {
        match table.name {
            "netpipe" => rows.push((values[0] as u64, values[1] as u64, values[2])),
            _ => pending = values[1] as u64,
        }
    }
    (rows, pending, sent)
}

fn millis(bytes: u64) -> Span {
    Span::from_micros(1000 + bytes)
}

#[test]
fn messages_and_times_are_those_of_the_real_program() {
    let (rows, pending, sent) = run(r#"{"last": "4 B", "repeats": 7}"#, millis);
    let expected = [1u64, 2, 3, 4].map(|block| (block, 7, (1000 + block) as f64 * 1e-6));
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for (row, expected) in rows.iter().zip(expected) {
        assert!(row.1 == expected.1 && (row.2 - expected.2).abs() < 1e-9, "{row:?}");
    }
    assert_eq!(pending, 0);
    let mut messages = vec![6];
    messages.extend([1; 100]);
    for block in 1..=4 {
        for trial in 0..3 {
            messages.push(if trial == 0 { 16 } else { 6 });
            messages.extend([block; 7]);
        }
    }
    assert_eq!(sent, messages);
}

#[test]
fn a_block_of_the_size_of_a_message_is_not_a_message() {
    for size in [6, 16] {
        let (rows, pending, _) =
            run(&format!(r#"{{"first": "{size} B", "last": "{size} B", "repeats": 4}}"#), millis);
        assert!(rows.iter().any(|row| row.0 == size) && pending == 0, "{rows:?}");
    }
    let (rows, ..) = run(r#"{"last": "40 B"}"#, millis);
    assert_eq!(
        rows.iter().map(|row| row.0).collect::<Vec<_>>(),
        [1, 2, 3, 4, 6, 8, 12, 13, 16, 19, 21, 24, 27, 29, 32, 35]
    );
}

#[test]
fn the_run_stops_after_a_block_of_a_second() {
    // 1 ms for a byte: 1024 bytes take more than a second.
    let (rows, pending, _) = run(r#"{"perturbation": 0}"#, Span::from_millis);
    let (block, repeats, time) = *rows.last().unwrap();
    assert_eq!((block, repeats, pending), (1024, 3, 0));
    assert!((time - 1.024).abs() < 1e-9);
    // 0.1 s / 1 ms, the first block by the latency, the second by the first.
    assert_eq!((rows[0].1, rows[1].1), (100, 100));
}

#[test]
fn one_way_halves_the_round_trip_and_a_stream_times_all_blocks_together() {
    let (rows, ..) = run(
        r#"{"mode": "one-way", "first": "500 B", "last": "500 B", "perturbation": 0, "repeats": 5}"#,
        millis,
    );
    assert!((rows[0].2 - 0.0025_01).abs() < 1e-9, "{rows:?}");
    let (rows, _, sent) = run(
        r#"{"mode": "stream", "first": "500 B", "last": "500 B", "perturbation": 0, "repeats": 5}"#,
        millis,
    );
    // 2500 bytes and their acknowledgment, which has none.
    assert!((rows[0].2 - (1000.0 + 2500.0 + 1000.0) * 1e-6 / 5.0).abs() < 1e-9, "{rows:?}");
    assert_eq!(sent.iter().filter(|bytes| **bytes == 2500).count(), 3);
}

#[test]
fn a_run_that_ends_early_names_the_unfinished_block() {
    let config: Config = serde_json::from_str(r#"{"first": "1 MB"}"#).unwrap();
    let source = super::Source::new(&config);
    let mut report = Report::default();
    source.report("np", Span::ZERO, &mut report);
    let rows: Vec<_> = report
        .rows()
        .iter()
        .map(|(table, name, values)| (table.name, name.to_owned(), values.to_vec()))
        .collect();
    assert_eq!(rows, [("flow_netpipe", "np".to_owned(), vec![0.0, 999_997.0])]);
}

#[test]
fn unmeasurable_configurations_are_refused() {
    let problems = |json: &str| -> Vec<String> {
        let mut problems = Problems::default();
        serde_json::from_str::<Config>(json).unwrap().check(&mut problems);
        problems.into_vec().into_iter().map(|problem| problem.path.join(".")).collect()
    };
    assert_eq!(problems("{}"), Vec::<String>::new());
    assert_eq!(problems(r#"{"first": "0 B"}"#), ["first"]);
    assert_eq!(problems(r#"{"first": "2 kB", "last": "1 kB"}"#), ["last"]);
    assert_eq!(problems(r#"{"stop": "0 s"}"#), ["stop"]);
}
