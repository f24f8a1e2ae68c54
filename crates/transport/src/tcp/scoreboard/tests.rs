use super::*;
use crate::sending::in_flight;
use proptest::prelude::*;

const MSS: u32 = 100;

fn filled(segments: u64) -> (Scoreboard, State) {
    let (mut board, mut state) = (Scoreboard::new(true), State::default());
    for number in 0..segments {
        board.push(Time::from_nanos(number), 1 + number * u64::from(MSS), MSS, (false, false), &mut state);
    }
    (board, state)
}

fn at(number: u64) -> u64 {
    1 + number * u64::from(MSS)
}

#[test]
fn three_segments_sacked_above_make_a_segment_lost() {
    let (mut board, mut state) = filled(10);
    let mut tally = Tally::default();
    board.sack(at(2), at(4), &mut state, &mut tally);
    board.mark_lost(&mut state);
    assert_eq!((state.sacked_out, state.lost_out, board.next_lost()), (2, 0, None));
    board.sack(at(5), at(6), &mut state, &mut tally);
    board.mark_lost(&mut state);
    // Segments 0 and 1 have three SACKed segments above them, segment 4 has one.
    assert_eq!((state.sacked_out, state.lost_out), (3, 2));
    let lost = board.next_lost().unwrap();
    assert_eq!((lost.number, lost.start, lost.first), (0, at(0), true));
    board.resent(Time::ZERO, 0, &mut state);
    assert_eq!(board.next_lost().unwrap().number, 1);
    assert_eq!(in_flight(&state), 10 - 3 - 2 + 1);
    board.sack(at(7), at(9), &mut state, &mut tally);
    board.mark_lost(&mut state);
    assert_eq!(state.lost_out, 3);
    board.acknowledge(at(4), &mut state, &mut tally);
    assert_eq!(tally.acked, 4);
    assert_eq!(tally.sacked_before, 2);
    assert!(tally.resent);
    assert_eq!(board.next_lost().unwrap().number, 4);
}

#[test]
fn reneging_is_detected_at_a_time_out() {
    let (mut board, mut state) = filled(5);
    board.sack(at(1), at(3), &mut state, &mut Tally::default());
    board.acknowledge(at(1), &mut state, &mut Tally::default());
    board.mark_all_lost(None, &mut state);
    assert_eq!((state.packets_out, state.sacked_out, state.lost_out), (4, 0, 4));
}

proptest! {
    #[test]
    fn counters_agree_with_marks_and_losses_with_the_definition(
        operations in prop::collection::vec((0u8..6, 0u64..40, 1u64..6), 1..80)
    ) {
        let (mut board, mut state) = filled(30);
        let mut pushed = 30;
        let (mut una, mut sacked) = (0, [false; 200]);
        for (what, number, length) in operations {
            let mut tally = Tally::default();
            match what {
                0 => {
                    una = (una + length).min(pushed);
                    board.acknowledge(at(una), &mut state, &mut tally);
                    prop_assert_eq!(tally.sacked_before as usize,
                        (una as usize - tally.acked as usize..una as usize).filter(|&n| sacked[n]).count());
                }
                1 | 2 => {
                    let (from, to) = ((una + number).min(pushed), (una + number + length).min(pushed));
                    if from < to {
                        board.sack(at(from), at(to), &mut state, &mut tally);
                        for number in from..to {
                            let fresh = !std::mem::replace(&mut sacked[number as usize], true);
                            tally.sacked -= u32::from(fresh);
                        }
                        prop_assert_eq!(tally.sacked, 0);
                    }
                    board.mark_lost(&mut state);
                    for number in una..pushed {
                        let above = (number + 1..pushed).filter(|&n| sacked[n as usize]).count();
                        let marks = board.sent[(number - una) as usize].marks;
                        if above >= 3 && !sacked[number as usize] {
                            prop_assert!(marks & LOST != 0, "{} is lost", number);
                        }
                        prop_assert_eq!(marks & SACKED != 0, sacked[number as usize]);
                    }
                }
                3 => {
                    if let Some(lost) = board.next_lost() {
                        prop_assert_eq!(lost.start, at(lost.number));
                        board.resent(Time::ZERO, lost.number, &mut state);
                    } else {
                        prop_assert_eq!(state.lost_out, state.retrans_out);
                    }
                }
                4 => {
                    board.push(Time::ZERO, at(pushed), MSS, (false, false), &mut state);
                    pushed += 1;
                }
                _ if number == 0 => {
                    let reneged = una < pushed && sacked[una as usize];
                    board.mark_all_lost(None, &mut state);
                    if reneged {
                        sacked = [false; 200];
                    }
                }
                _ => board.mark_first_lost(&mut state),
            }
            let counters = [state.packets_out, state.sacked_out, state.lost_out, state.retrans_out];
            prop_assert_eq!(board.count(), counters);
        }
    }

    #[test]
    fn segments_without_a_mark_need_not_be_visited(
        operations in prop::collection::vec((0u8..7, 0u64..40, 1u64..6), 1..80)
    ) {
        let outcome = |visits_all: bool| {
            let (mut board, mut state) = filled(30);
            if visits_all {
                board.marked = u64::MAX;
            }
            let (mut una, mut pushed, mut now) = (0, 30, 30);
            let mut seen = Vec::new();
            for &(what, number, length) in &operations {
                let mut tally = Tally::default();
                now += 1;
                match what {
                    0 => {
                        una = (una + length).min(pushed);
                        board.acknowledge(at(una), &mut state, &mut tally);
                    }
                    1 => {
                        let (from, to) = ((una + number).min(pushed), (una + number + length).min(pushed));
                        if from < to {
                            board.sack(at(from), at(to), &mut state, &mut tally);
                        }
                        board.mark_lost(&mut state);
                    }
                    2 => {
                        if let Some(lost) = board.next_lost() {
                            board.resent(Time::from_nanos(now), lost.number, &mut state);
                        }
                    }
                    3 => {
                        board.push(Time::from_nanos(now), at(pushed), MSS, (false, false), &mut state);
                        pushed += 1;
                    }
                    4 => board.unmark_lost(&mut state),
                    5 => board.mark_first_lost(&mut state),
                    _ => board.mark_all_lost((number > 0).then(|| Time::from_nanos(number)), &mut state),
                }
                let order = board.transmissions.as_ref().map(|order| (order.first, order.oldest_retransmission()));
                let marks: Vec<u8> = board.sent.iter().map(|segment| segment.marks).collect();
                seen.push((board.count(), [state.packets_out, state.sacked_out, state.lost_out, state.retrans_out], marks, order, board.next_lost()));
            }
            seen
        };
        let (quick, whole) = (outcome(false), outcome(true));
        prop_assert!(quick.iter().all(|(count, state, ..)| count == state));
        prop_assert_eq!(quick, whole);
    }
}
