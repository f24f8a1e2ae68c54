//! Bulk transfers over simple paths, compared with theory.

use super::path::{Path, DESTINATION, SOURCE};
use bentpipe_core::{Count, Size, Span, Time};
use bentpipe_stage::Stage;
use bentpipe_transport::tcp::config::{Config, Profile, Recovery};

const FAST: &str = r#"{"rate": "1 Gbit/s", "delay": "250 ms", "queue": {"drop-tail": {"packets": 100000}}}"#;

fn classic() -> Config {
    Config { initial_window: Count::new(10), ..Profile::Classic.config() }
}

fn study() -> Config {
    Config {
        initial_window: Count::new(1),
        initial_ssthresh: Some(Count::new(20)),
        delayed_ack: false,
        ..classic()
    }
}

fn seconds(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}

#[test]
fn a_transfer_is_delivered_acknowledged_and_closed() {
    let mut path = Path::bulk(&study(), Some(1_000_000), [FAST, FAST]);
    path.run(seconds(100.0));
    assert_eq!(path.value("flow_destination", "delivered_bytes"), 1e6);
    assert_eq!(path.value("flow_source", "sent_bytes"), 1e6);
    assert_eq!(path.value("flow_source", "retransmissions"), 0.0);
    assert!(path.value("flow_source", "completed") > 0.0);
    let totals = path.out.totals();
    assert_eq!(totals.created, totals.consumed);
    assert!(totals.dropped.is_empty());
    let mut state = |end: &str| path.report().value("tcp_connection", &format!("flow.{end}"), "state");
    // The end that closes first is left in TIME-WAIT.
    assert_eq!((state("source"), state("destination")), (Some(8.0), Some(0.0)));
    assert!(path.ends[SOURCE].next_wake().is_none() && path.ends[DESTINATION].next_wake().is_none());
}

#[test]
fn a_stopped_transfer_closes_after_the_data_that_was_sent() {
    let app = serde_json::from_str(r#"{"bulk": {"duration": "7 s"}}"#).unwrap();
    let mut path = Path::new(&study(), &app, [FAST, FAST]);
    path.run(seconds(100.0));
    assert_eq!(path.value("flow_destination", "delivered_bytes"), path.value("flow_source", "sent_bytes"));
    // Data in flight at 7 s is acknowledged half a second later, and the FIN with it or half a
    // second after it.
    let completed = path.value("flow_source", "completed");
    assert!((7.0..8.1).contains(&completed), "{completed}");
    assert!(path.ends[SOURCE].next_wake().is_none() && path.ends[DESTINATION].next_wake().is_none());
}

#[test]
fn slow_start_doubles_the_window_each_round_trip_up_to_ssthresh_and_then_adds_one() {
    let mut path = Path::bulk(&study(), None, [FAST, FAST]);
    let mut windows = Vec::new();
    for round in 1..12 {
        // The handshake takes the first round trip.
        path.run(seconds(0.5 * f64::from(round) + 0.4));
        windows.push(path.ends[SOURCE].connection().sender().state.snd_cwnd);
    }
    assert_eq!(windows, [1, 2, 4, 8, 16, 20, 21, 22, 23, 24, 25]);
}

#[test]
fn a_limited_receive_window_limits_the_rate_to_window_over_round_trip_time() {
    for (window, scaling) in [(65_535, false), (1_000_000, true)] {
        let config =
            Config { receive_window: Some(Size::from_bytes(window)), window_scaling: scaling, ..classic() };
        let mut path = Path::bulk(&config, None, [FAST, FAST]);
        path.run(seconds(20.0));
        let before = path.value("flow_destination", "delivered_bytes");
        path.run(seconds(60.0));
        let rate = (path.value("flow_destination", "delivered_bytes") - before) / 40.0;
        // Whole segments fit into the window; the round trip takes 0.5 s and the time on the links.
        let expected = (window / 1460 * 1460) as f64 / 0.5;
        assert!((rate / expected - 1.0).abs() < 0.03, "window {window}: {rate} of {expected} B/s");
    }
}

#[test]
fn delayed_acknowledgments_halve_their_number() {
    let run = |delayed_ack| {
        let mut path = Path::bulk(&Config { delayed_ack, ..classic() }, Some(2_000_000), [FAST, FAST]);
        path.run(seconds(100.0));
        let delivered = path.value("flow_destination", "delivered_packets");
        (path.out.totals().consumed.packets as f64 - delivered) / delivered
    };
    let (every, delayed) = (run(false), run(true));
    assert!((every - 1.0).abs() < 0.01, "{every}");
    assert!((delayed - 0.5).abs() < 0.02, "{delayed}");
}

#[test]
fn the_sawtooth_fills_the_link_and_halves_the_window() {
    for recovery in [Recovery::Newreno, Recovery::Sack] {
        // A pipe of 2 Mbit/s and 200 ms holds 33 segments of 1500 bytes, and the buffer as many
        // again.
        let out = r#"{"rate": "2 Mbit/s", "delay": "100 ms", "queue": {"drop-tail": {"packets": 33}}}"#;
        let back = r#"{"rate": "2 Mbit/s", "delay": "100 ms"}"#;
        let config = Config { recovery, ..study() };
        let mut path = Path::bulk(&config, None, [out, back]);
        path.run(seconds(50.0));
        let before = path.value("flow_destination", "delivered_bytes");
        let (mut min, mut max) = (u32::MAX, 0);
        for step in 0..3000 {
            path.run(seconds(50.0 + f64::from(step) * 0.1));
            let state = &path.ends[SOURCE].connection().sender().state;
            if state.ca_state == 0 {
                min = min.min(state.snd_cwnd);
                max = max.max(state.snd_cwnd);
            }
        }
        let share = (path.value("flow_destination", "delivered_bytes") - before) * 8.0 / 299.9 / 2e6;
        assert!(share > 0.95 * 1460.0 / 1500.0, "{recovery:?}: {share}");
        assert!((64..=70).contains(&max), "{recovery:?}: largest window {max}");
        assert!((30..=36).contains(&min), "{recovery:?}: smallest window {min}");
        assert_eq!(path.value("flow_source", "timeouts"), 0.0, "{recovery:?}");
        // One recovery as Linux calls the operations: Disorder, the reduction, Recovery, Open, the
        // end of the reduction.
        let calls = path.calls.lock().unwrap();
        let recovery = ["set_state 1", "ssthresh", "set_state 3", "set_state 0", "cwnd_event CompleteCwr"];
        assert_eq!(calls[..2], ["init", "cwnd_event TxStart"]);
        let first = calls.iter().position(|call| call == "set_state 1").unwrap();
        assert_eq!(calls[first..first + 5], recovery);
    }
}

#[test]
fn thousands_of_losses_of_one_overshoot_cost_one_retransmission_each() {
    // A pipe of 4167 segments and a buffer of the same size; slow start overshoots both by about as
    // much again.
    let out = r#"{"rate": "100 Mbit/s", "delay": "250 ms", "queue": {"drop-tail": {"packets": 4167}}}"#;
    let back = r#"{"rate": "100 Mbit/s", "delay": "250 ms"}"#;
    for profile in [classic(), Config::default()] {
        let recovery = profile.recovery;
        let config = Config { delayed_ack: false, receive_window: None, send_memory: None, ..profile };
        let mut path = Path::bulk(&config, None, [out, back]);
        path.run(seconds(20.0));
        let dropped = path.dropped.len();
        assert!(dropped > 3000, "{recovery:?}: {dropped} dropped");
        assert_eq!(path.value("flow_source", "retransmissions"), dropped as f64, "{recovery:?}");
        assert_eq!(path.value("flow_source", "timeouts"), 0.0, "{recovery:?}");
        assert_eq!(path.ends[SOURCE].connection().sender().state.ca_state, 0, "{recovery:?}");
    }
}
