use super::*;
use crate::tcp::config::Profile;
use crate::tcp::header;

fn receiver(config: Config) -> Receiver {
    let mut receiver = Receiver::new(&config);
    receiver.begin(true, Some(config.window_scale()), None);
    receiver.acknowledgment(Time::ZERO, false);
    receiver
}

fn path() -> Estimator {
    Estimator::new((&Config::default()).into())
}

fn blocks(receiver: &mut Receiver) -> Vec<(u32, u32)> {
    receiver.sack_blocks(header::Numbering::default()).map_or(Vec::new(), |blocks| blocks.as_slice().to_vec())
}

#[test]
fn every_second_full_segment_and_every_time_out_causes_an_acknowledgment() {
    let mut receiver = receiver(Profile::Classic.config());
    let mut start = 1;
    let mut seen = Vec::new();
    for number in 0..4 {
        assert_eq!(receiver.take(Time::ZERO, &path(), start, 1000, (false, false)).delivered, 1000);
        start += 1000;
        seen.push(receiver.must_acknowledge());
        if number % 2 == 1 {
            receiver.acknowledgment(Time::ZERO, false);
        }
    }
    assert_eq!(seen, [false, true, false, true]);
    receiver.take(Time::ZERO, &path(), start, 1000, (false, false));
    let later = Time::ZERO + Span::from_millis(200);
    assert_eq!(receiver.next_wake(), later);
    receiver.wake(later, &path());
    assert!(receiver.must_acknowledge() && !receiver.must_acknowledge_alone());
}

/// The cases of RFC 2018, section 4: the left window edge is 5000 and eight segments of 500 bytes
/// are sent.
#[test]
fn sack_blocks_equal_those_of_the_examples_of_rfc_2018() {
    let arrive = |numbers: &[u64]| {
        let mut receiver = receiver(Config::default());
        receiver.next = 5000;
        receiver.acknowledged = 5000;
        numbers
            .iter()
            .map(|number| {
                receiver.take(Time::ZERO, &path(), 5000 + (number - 1) * 500, 500, (false, false));
                let blocks = blocks(&mut receiver);
                (receiver.acknowledgment(Time::ZERO, false).0, blocks)
            })
            .collect::<Vec<_>>()
    };
    // Case 2: the first segment is dropped.
    let case = arrive(&[2, 3, 4]);
    assert_eq!(case, [(5000, vec![(5500, 6000)]), (5000, vec![(5500, 6500)]), (5000, vec![(5500, 7000)])]);
    // Case 3: the 2nd, 4th, 6th and 8th are dropped; then the 4th and the 2nd arrive.
    let case = arrive(&[1, 3, 5, 7, 4, 2]);
    assert_eq!(
        case,
        [
            (5500, vec![]),
            (5500, vec![(6000, 6500)]),
            (5500, vec![(7000, 7500), (6000, 6500)]),
            (5500, vec![(8000, 8500), (7000, 7500), (6000, 6500)]),
            (5500, vec![(6000, 7500), (8000, 8500)]),
            (7500, vec![(8000, 8500)]),
        ]
    );
}

#[test]
fn a_fin_out_of_order_ends_the_stream_when_the_hole_is_filled() {
    let mut receiver = receiver(Config::default());
    assert_eq!(receiver.take(Time::ZERO, &path(), 101, 50, (true, false)), Arrival::default());
    assert_eq!(
        receiver.take(Time::ZERO, &path(), 1, 100, (false, false)),
        Arrival { delivered: 150, finished: true }
    );
    assert_eq!(receiver.next(), 152);
}

#[test]
fn data_beyond_the_window_is_discarded() {
    let config = Config { receive_window: Some(bentpipe_core::Size::from_bytes(3000)), ..Config::default() };
    let mut receiver = receiver(config);
    assert!(!receiver.is_acceptable(3002, 100));
    receiver.take(Time::ZERO, &path(), 2001, 1500, (false, false));
    assert_eq!(blocks(&mut receiver), [(2001, 3001)]);
}

#[test]
fn old_timestamps_identify_old_data_but_not_old_acknowledgments() {
    let mut receiver = receiver(Config::default());
    assert!(!receiver.is_old(10, 1, 5));
    assert_eq!(receiver.echo(), 10);
    assert!(receiver.is_old(9, 1, 5));
    assert!(!receiver.is_old(9, 1, 0));
    assert_eq!(receiver.echo(), 10);
    // Not the earliest unacknowledged segment.
    assert!(!receiver.is_old(12, 500, 5));
    assert_eq!(receiver.echo(), 10);
}

/// From windows of Linux 6.12: in order and without stored data, growth ends one segment below the
/// limit. It pauses after a hole, and duplicate data causes no growth.
#[test]
fn stored_data_reduces_the_growth_of_the_window() {
    let config = Config {
        segment_size: bentpipe_core::Count::new(1000),
        quick_window: bentpipe_core::Size::from_bytes(UNSCALED_WINDOW + 6000),
        quick_acks: bentpipe_core::Count::new(0),
        ..Profile::Linux612.config()
    };
    let mut receiver = receiver(config);
    // One segment is reserved at the start.
    assert_eq!(receiver.remaining_growth, 7000);
    let mut seen = Vec::new();
    for segment in [0, 0, 2, 3, 4, 1, 5] {
        receiver.take(Time::ZERO, &path(), 1 + 1000 * segment, 1000, (false, false));
        seen.push(receiver.remaining_growth);
        receiver.acknowledgment(Time::ZERO, false);
    }
    assert_eq!(seen, [5000, 5000, 3000, 1000, 1000, 1000, 1000]);
    receiver.take(Time::ZERO, &path(), 7001, 1000, (false, false));
    assert_eq!(receiver.remaining_growth, 0);
}

/// A block is reported in the first or second place before it moves further back (the rule of Linux
/// 5.10's tcp_sack_new_ofo_skb). From a capture of Linux 7.3, with segments in units of 100 bytes.
#[test]
fn shared_acknowledgments_leave_before_a_block_moves_back() {
    let config = Config { quick_acks: bentpipe_core::Count::new(0), ..Profile::Linux612.config() };
    let mut receiver = receiver(config);
    let mut path = path();
    path.sample(Span::from_millis(40), &mut bentpipe_congestion::interface::State::default());
    let mut arrive = |segment: u32| {
        receiver.take(Time::ZERO, &path, 1 + 100 * u64::from(segment), 100, (false, false));
        receiver.must_acknowledge().then(|| {
            let blocks = blocks(&mut receiver);
            receiver.acknowledgment(Time::ZERO, false);
            blocks.into_iter().map(|(left, right)| ((left - 1) / 100, (right - 1) / 100)).collect::<Vec<_>>()
        })
    };
    // Three acknowledgments of the hole at once.
    assert_eq!(arrive(1), Some(vec![(1, 2)]));
    assert_eq!(arrive(2), Some(vec![(1, 3)]));
    assert_eq!(arrive(5), Some(vec![(5, 6), (1, 3)]));
    // From now on segments share acknowledgments. Segments that extend the first two blocks wait,
    // as does the first one of a new block.
    assert_eq!(arrive(6), None);
    assert_eq!(arrive(3), None);
    // A third block: the others are reported without it, and it waits for the next segment.
    assert_eq!(arrive(9), Some(vec![(1, 4), (5, 7)]));
    assert_eq!(arrive(10), None);
    assert_eq!(arrive(13), Some(vec![(9, 11), (1, 4), (5, 7)]));
    // The previous segment makes no acknowledgment due, and neither does the first waiting one.
    assert_eq!(arrive(16), None);
    assert_eq!(arrive(17), None);
    // A segment that extends a block in the third place is reported there.
    assert_eq!(arrive(11), Some(vec![(16, 18), (13, 14), (9, 12), (1, 4)]));
}

/// From captures of Linux 6.12 and 7.3: the acknowledgment of the last in-order data does not stop
/// its timer. When the timer expires, a jiffy after its 40 ms, the shared acknowledgment is sent.
#[test]
fn the_timer_of_in_order_data_ends_the_delay_after_a_hole() {
    let config = Config {
        segment_size: bentpipe_core::Count::new(100),
        quick_acks: bentpipe_core::Count::new(0),
        ..Profile::Linux612.config()
    };
    let mut receiver = receiver(config);
    let mut path = path();
    path.sample(Span::from_millis(40), &mut bentpipe_congestion::interface::State::default());
    let at = |microseconds: u64| Time::ZERO + Span::from_micros(microseconds);
    let take = |receiver: &mut Receiver, time: u64, segment: u64| {
        receiver.take(at(time), &path, 1 + 100 * segment, 100, (false, false));
        let due = receiver.must_acknowledge();
        if due {
            receiver.acknowledgment(at(time), false);
        }
        due
    };
    assert!(!take(&mut receiver, 0, 0));
    assert!(take(&mut receiver, 1000, 1));
    for segment in 3..6 {
        assert!(take(&mut receiver, 2000, segment));
    }
    let ends = |receiver: &mut Receiver, path: &Estimator| loop {
        let wake = receiver.next_wake();
        receiver.wake(wake, path);
        if receiver.must_acknowledge_alone() {
            receiver.acknowledgment(wake, false);
            return wake;
        }
    };
    assert!(!take(&mut receiver, 10_000, 6));
    assert_eq!(ends(&mut receiver, &path), at(11_100));
    assert!(!take(&mut receiver, 43_500, 7));
    assert_eq!(ends(&mut receiver, &path), at(44_000));
    assert!(!take(&mut receiver, 44_000, 8));
    assert_eq!(ends(&mut receiver, &path), at(45_100));
}
