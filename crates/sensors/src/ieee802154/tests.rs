use super::timing::{
    airtime, frame, symbols, ACKNOWLEDGMENT, ACK_TIMEOUT, ASSESSMENT, BACKOFF, BIT_RATE, BYTE, CHECK, HEADER,
    LIFS, MAX_FRAME, PREAMBLE, SIFS, SYMBOL, TURNAROUND,
};
use super::{Channel, Failure, Medium, Outcome, Rules};
use bentpipe_core::{Span, Stream, Streams, Time};
use proptest::prelude::*;

/// Durations calculated from the standard.
const TABLE: &str = include_str!("../../../../tests/authorities/dtn/ieee802154_2450MHz_timing.csv");

fn stream(seed: u64) -> Stream {
    Streams::new(seed, 0).stream("medium")
}

fn all_hear(count: usize) -> Vec<Vec<bool>> {
    (0..count).map(|a| (0..count).map(|b| a != b).collect()).collect()
}

/// Every row must have a match arm below, so every row is checked.
#[test]
fn durations_match_every_row_of_the_timing_table() {
    let rules = Rules::default();
    let us = |span: Span| span.as_nanos() as f64 / 1e3;
    let mut rows = 0;
    for line in TABLE.lines().skip(1) {
        let (line, _unit) = line.rsplit_once(',').unwrap();
        let (what, value) = line.rsplit_once(',').unwrap();
        let ours = match what.trim_matches('"') {
            "bit rate" => BIT_RATE as f64 / 1e3,
            "symbol" => us(SYMBOL),
            "byte" => us(BYTE),
            "unit backoff period (20 symbols)" => us(BACKOFF),
            "turnaround (12 symbols)" => us(TURNAROUND),
            "CCA (8 symbols)" => us(ASSESSMENT),
            "SIFS (12 symbols, MPDU <= 18 byte)" => {
                assert_eq!((super::timing::pause(18), super::timing::pause(19)), (SIFS, LIFS));
                us(SIFS)
            }
            "LIFS (40 symbols)" => us(LIFS),
            "preamble+SFD+length" => f64::from(PREAMBLE),
            "MPDU most" => f64::from(MAX_FRAME),
            "longest frame on air (133 byte)" => us(airtime(MAX_FRAME)),
            "ACK MPDU" => f64::from(ACKNOWLEDGMENT),
            "ACK on air (11 byte)" => us(airtime(ACKNOWLEDGMENT)),
            "ACK wait (54 symbols)" => us(ACK_TIMEOUT),
            "macMinBE" => f64::from(rules.min_be),
            "macMaxBE" => f64::from(rules.max_be),
            "macMaxCSMABackoffs" => f64::from(rules.backoffs),
            "macMaxFrameRetries" => f64::from(rules.retries),
            "mean first backoff (3.5 units)" => mean_first_backoff_us(),
            "25-byte measure + 9 header + 2 FCS on air (42 byte)" => {
                assert_eq!((HEADER, CHECK), (9, 2));
                us(airtime(frame(25)))
            }
            unknown => panic!("the row {unknown} is not tested"),
        };
        assert_eq!(ours, value.parse::<f64>().unwrap(), "{what}");
        rows += 1;
    }
    assert_eq!(rows, 20);
}

/// Checks that a medium draws all first backoffs about equally often, and returns their mean.
fn mean_first_backoff_us() -> f64 {
    let mut stream = stream(3);
    let mut counts = [0_u32; 8];
    for _ in 0..8000 {
        let mut medium = Medium::new(Rules::default(), all_hear(2));
        medium.send(Time::ZERO, 0, 1, 25, (), &mut stream).unwrap();
        let backoff = medium.next_wake().unwrap().since(Time::ZERO + ASSESSMENT);
        assert_eq!(backoff.as_nanos() % BACKOFF.as_nanos(), 0);
        counts[(backoff.as_nanos() / BACKOFF.as_nanos()) as usize] += 1;
    }
    // The counts are binomially distributed with a standard deviation of 30.
    assert!(counts.iter().all(|count| count.abs_diff(1000) < 150), "{counts:?}");
    let values: Vec<f64> = (0..8).map(|units| f64::from(units) * 320.0).collect();
    values.iter().sum::<f64>() / 8.0
}

/// A frame with 25 bytes of payload takes 1344 us after backoff, assessment and turnaround. The
/// acknowledgment follows after 192 us and takes 352 us. The next contention starts 640 us after
/// the acknowledgment.
#[test]
fn one_exchange_takes_the_time_of_the_standard() {
    let (mut medium, mut stream) = (Medium::new(Rules::default(), all_hear(2)), stream(1));
    for number in 0..2 {
        medium.send(Time::ZERO, 0, 1, 25, number, &mut stream).unwrap();
    }
    let assessed = medium.next_wake().unwrap();
    let mut outcomes = Vec::new();
    medium.wake(assessed, &mut (), &mut stream, &mut outcomes);
    let start = medium.next_wake().unwrap();
    assert_eq!(start.since(assessed), symbols(12));
    let end = start + Span::from_micros(1344);
    medium.wake(end - Span::from_nanos(1), &mut (), &mut stream, &mut outcomes);
    assert_eq!(outcomes, []);
    medium.wake(end, &mut (), &mut stream, &mut outcomes);
    assert_eq!(outcomes, [Outcome::Received { from: 0, to: 1, value: 0 }]);
    let acknowledged = end + Span::from_micros(192 + 352);
    medium.wake(acknowledged, &mut (), &mut stream, &mut outcomes);
    assert_eq!(outcomes[1..], [Outcome::Sent { from: 0 }]);
    // The acknowledgment has cancelled the timeout, so the next event is after the pause.
    medium.wake(end + ACK_TIMEOUT, &mut (), &mut stream, &mut outcomes);
    let wait = medium.next_wake().unwrap().since(acknowledged);
    assert!(wait >= LIFS + ASSESSMENT, "{wait:?}");
    assert_eq!(wait.saturating_sub(LIFS + ASSESSMENT).as_nanos() % BACKOFF.as_nanos(), 0);
}

/// Nodes that do not hear each other transmit at the same time. The channel has no other errors.
#[test]
fn hidden_nodes_collide_more_often_than_nodes_in_range() {
    let run = |hears: Vec<Vec<bool>>| {
        let (mut medium, mut stream) = (Medium::new(Rules::default(), hears), stream(7));
        let mut outcomes = Vec::new();
        for round in 0..500_u64 {
            let now = Time::ZERO + Span::from_millis(100 * round);
            medium.wake(now, &mut (), &mut stream, &mut outcomes);
            for from in 0..2 {
                medium.send(now, from, 2, 100, (), &mut stream).unwrap();
            }
        }
        medium.wake(Time::MAX, &mut (), &mut stream, &mut outcomes);
        medium.counters(2).collisions
    };
    let hear = run(all_hear(3));
    let mut apart = all_hear(3);
    (apart[0][1], apart[1][0]) = (false, false);
    let hidden = run(apart);
    // Two nodes that hear each other collide if they draw the same of eight backoffs, with a
    // probability of 1/8. Both frames are then lost.
    assert!((60..220).contains(&hear), "{hear}");
    assert!(hidden > 4 * hear, "{hidden} {hear}");
}

/// Over a link that loses all frames, a node transmits a frame four times, and waits for the
/// acknowledgment each time.
#[test]
fn a_frame_is_dropped_after_three_retransmissions() {
    struct Dead;
    impl Channel for Dead {
        fn corrupts(&mut self, _: Time, _: usize, _: usize, _: u32) -> bool {
            true
        }
    }
    let (mut medium, mut stream) = (Medium::new(Rules::default(), all_hear(2)), stream(1));
    medium.send(Time::ZERO, 0, 1, 25, 'a', &mut stream).unwrap();
    let mut outcomes = Vec::new();
    medium.wake(Time::MAX, &mut Dead, &mut stream, &mut outcomes);
    let reason = Failure::NoAcknowledgment;
    assert_eq!(outcomes, [Outcome::Failed { from: 0, value: 'a', reason, received: false }]);
    let counters = medium.counters(0);
    assert_eq!((counters.transmissions, counters.bytes, medium.counters(1).errors), (4, 4 * 36, 4));
    assert_eq!(counters.transmitting, Span::from_micros(4 * 1344));
    assert_eq!(counters.receiving, Span::from_micros(4 * (128 + 864)));
}

struct Random(Stream, f64);

impl Channel for Random {
    fn corrupts(&mut self, _: Time, _: usize, _: usize, _: u32) -> bool {
        self.0.chance(self.1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any load, loss and set of audible nodes, each frame has one outcome, is received at most
    /// once and in order, and the medium becomes idle.
    #[test]
    fn every_frame_has_one_outcome(
        seed in 0_u64..1000,
        loss in 0.0_f64..1.0,
        deaf in proptest::collection::vec((0_usize..5, 0_usize..5), 0..6),
        frames in proptest::collection::vec((0_u64..200, 0_usize..5, 1_usize..5, 0_u32..=116), 1..150),
        acknowledged: bool,
    ) {
        let mut hears = all_hear(5);
        for (a, b) in deaf {
            hears[a][b] = false;
        }
        let rules = Rules { acknowledged, queue: 10, ..Rules::default() };
        let (mut medium, mut stream) = (Medium::new(rules, hears), stream(seed));
        let mut channel = Random(Streams::new(seed, 1).stream("channel"), loss);
        let (mut outcomes, mut refused) = (Vec::new(), 0);
        let mut frames = frames;
        frames.sort();
        for (number, &(at, from, step, bytes)) in frames.iter().enumerate() {
            let now = Time::ZERO + Span::from_millis(at);
            medium.wake(now, &mut channel, &mut stream, &mut outcomes);
            if medium.send(now, from, (from + step) % 5, bytes, number, &mut stream).is_err() {
                refused += 1;
            }
        }
        medium.wake(Time::MAX, &mut channel, &mut stream, &mut outcomes);
        prop_assert_eq!(medium.next_wake(), None);
        let (mut ended, mut received) = (refused, Vec::new());
        for outcome in outcomes {
            match outcome {
                Outcome::Received { from, to, value } => {
                    prop_assert_eq!((from, to), (frames[value].1, (frames[value].1 + frames[value].2) % 5));
                    received.push(value);
                }
                Outcome::Sent { .. } => ended += 1,
                Outcome::Failed { value, received: has, .. } => {
                    ended += 1;
                    prop_assert_eq!(has, received.contains(&value));
                }
            }
        }
        prop_assert_eq!(ended, frames.len());
        for node in 0..5 {
            prop_assert_eq!(medium.waiting(node), 0);
            let own: Vec<_> = received.iter().filter(|value| frames[**value].1 == node).collect();
            prop_assert!(own.is_sorted_by(|a, b| a < b), "out of order or twice: {own:?}");
        }
    }
}
