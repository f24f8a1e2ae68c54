//! The packets that outstanding segments are kept in: the memory of a send buffer is their payload and something for each packet
//! ([`crate::transport::tcp::writer`]).
//!
//! - The segments of a burst are one packet, until a SACK begins or ends within it, or a part of it is resent.
//! - Neighbours that are both SACKed are one packet again.
//! - A packet is kept whole until all of it is acknowledged.
//!
//! Source: memory of a socket of Linux 6.12 (docs/decisions/0157-what-a-program-writes-next.md).

use super::sent::{Sent, APART, BEGINS, SACKED};
use std::collections::VecDeque;

/// The packets of what is outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Packets {
    /// Number of packets.
    pub count: u32,
    /// Where the first of them begins, of which a part may have been acknowledged.
    pub from: u64,
}

/// Whether a packet ends between two neighbours.
fn ends_between(segment: &Sent, next: &Sent) -> bool {
    next.is(BEGINS | APART) && !(segment.is(SACKED) && next.is(SACKED))
}

impl Packets {
    /// Records that a segment from `start` leaves, the `only` one that is outstanding or one that `begins` a burst.
    #[inline]
    pub(super) fn left(&mut self, start: u64, only: bool, begins: bool) {
        if only {
            *self = Packets { count: 1, from: start };
        } else {
            self.count += u32::from(begins);
        }
    }

    /// Records that a segment has been acknowledged, which was the first, and `next` is now.
    #[inline]
    pub(super) fn acknowledged(&mut self, segment: &Sent, next: Option<&Sent>) {
        match next {
            Some(next) if ends_between(segment, next) => {
                self.count -= 1;
                self.from = next.start;
            }
            Some(_) => {}
            None => *self = Packets { count: 0, from: segment.end() },
        }
    }

    /// The segment with this index has been SACKed: it joins neighbours that are, and parts from those that are not.
    pub(super) fn sacked(&mut self, sent: &mut VecDeque<Sent>, index: usize) {
        for (border, other) in [(index, index.wrapping_sub(1)), (index + 1, index + 1)] {
            let Some(joins) = sent.get(other).map(|other| other.is(SACKED)) else { continue };
            let segment = &mut sent[border];
            match (joins, segment.is(BEGINS | APART)) {
                (true, true) => self.count -= 1,
                (false, false) => {
                    segment.marks |= APART;
                    self.count += 1;
                }
                _ => {}
            }
        }
    }

    /// The segment with this index is parted from the one before it.
    pub(super) fn separate(&mut self, sent: &mut VecDeque<Sent>, index: usize) {
        if let Some(segment) = sent.get_mut(index) {
            self.count += u32::from(index > 0 && !segment.is(BEGINS | APART));
            segment.marks |= APART;
        }
    }

    /// Counts again after SACKs have been forgotten.
    pub(super) fn recount(&mut self, sent: &VecDeque<Sent>) {
        let borders =
            sent.iter().zip(sent.iter().skip(1)).filter(|(segment, next)| ends_between(segment, next));
        self.count = u32::from(!sent.is_empty()) + borders.count() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::congestion::State;
    use crate::transport::tcp::scoreboard::{Scoreboard, Tally};
    use bentpipe_core::Time;

    /// A connection with bursts of these lengths, each segment of ten bytes.
    fn sent(bursts: &[u64]) -> (Scoreboard, State) {
        let (mut board, mut state) = (Scoreboard::new(false), State::default());
        let mut start = 0;
        for length in bursts {
            for place in 0..*length {
                board.push(Time::ZERO, start, 10, (place == 0, false), &mut state);
                start += 10;
            }
        }
        (board, state)
    }

    fn sack(board: &mut Scoreboard, state: &mut State, from: u64, to: u64) -> u32 {
        board.sack(10 * from, 10 * to, state, &mut Tally::default());
        board.packets().count
    }

    fn acknowledge(board: &mut Scoreboard, state: &mut State, una: u64) -> (u32, u64) {
        board.acknowledge(10 * una, state, &mut Tally::default());
        (board.packets().count, board.packets().from)
    }

    #[test]
    fn a_packet_is_kept_until_all_of_it_is_acknowledged() {
        let (mut board, mut state) = sent(&[4, 3]);
        assert_eq!(board.packets(), Packets { count: 2, from: 0 });
        assert_eq!(acknowledge(&mut board, &mut state, 2), (2, 0));
        assert_eq!(acknowledge(&mut board, &mut state, 5), (1, 40));
        assert_eq!(acknowledge(&mut board, &mut state, 7), (0, 70));
    }

    #[test]
    fn sacks_divide_bursts_and_join_neighbours() {
        let (mut board, mut state) = sent(&[4, 4, 4]);
        assert_eq!(sack(&mut board, &mut state, 1, 3), 5, "1, 2, 1, 4 and 4 segments");
        assert_eq!(sack(&mut board, &mut state, 5, 6), 7, "1, 2, 1, 1, 1, 2 and 4");
        assert_eq!(sack(&mut board, &mut state, 3, 5), 4, "1, 5, 2 and 4");
        assert_eq!(sack(&mut board, &mut state, 6, 12), 2, "1 and 11");
        assert_eq!(acknowledge(&mut board, &mut state, 1), (1, 10));
        assert_eq!(acknowledge(&mut board, &mut state, 12), (0, 120));
    }

    #[test]
    fn what_is_resent_is_divided_from_the_rest_of_its_burst() {
        let (mut board, mut state) = sent(&[4, 2]);
        assert_eq!(sack(&mut board, &mut state, 4, 6), 2);
        board.mark_first_lost(&mut state);
        let lost = board.next_lost().unwrap();
        board.burst_again(lost.number, 1);
        assert_eq!(board.packets().count, 3);
        board.burst_again(lost.number, 1);
        assert_eq!(board.packets().count, 3, "it is divided already");
    }
}
