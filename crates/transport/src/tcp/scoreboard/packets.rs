//! The packets that contain outstanding segments. They determine the memory of a send buffer:
//! payload plus an overhead per packet ([`crate::tcp::writer`]).
//!
//! - The segments of a burst are one packet, until a SACK begins or ends within it, or a part of it
//!   is retransmitted.
//! - Adjacent SACKed packets are joined, if the result has less than 524280 bytes.
//! - A packet counts until all of it is acknowledged, but its acknowledged payload is freed.
//!
//! Source: memory of a socket of Linux 6.12 (docs/notes/linux-tcp.md).

use super::sent::{Sent, BEGINS, SACKED};
use std::collections::VecDeque;

/// Maximum payload of a joined packet in bytes, exclusive.
const JOINED: u64 = 8 * 65_535;

/// The packets of the outstanding data.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Packets {
    /// Number of packets that contain the outstanding segments.
    pub count: u32,
    /// Position at which the payload of the first packet begins: a part of that packet may have
    /// been acknowledged.
    pub from: u64,
    /// Beginning and end of the last joined packet. Usually the next SACK extends it.
    grown: (u64, u64),
}

impl Packets {
    /// Records that a segment from `start` is sent; `only` if nothing else is outstanding, `begins`
    /// if it is the first of a burst.
    #[inline]
    pub(super) fn left(&mut self, start: u64, only: bool, begins: bool) {
        if only {
            (self.count, self.from) = (1, start);
        } else {
            self.count += u32::from(begins);
        }
    }

    /// Records the acknowledgment of the first segment, which ended at `end`; `next` is now the
    /// first.
    #[inline]
    pub(super) fn acknowledged(&mut self, end: u64, next: Option<&Sent>) {
        self.count -= u32::from(next.is_none_or(|next| next.is(BEGINS)));
        self.from = end;
    }

    /// Records that the segment with this index has been SACKed: separates it from adjacent
    /// segments that are not SACKed, and joins it with those that are.
    pub(super) fn sacked(&mut self, sent: &mut VecDeque<Sent>, index: usize) {
        let joins = |other: usize| sent.get(other).is_some_and(|other| other.is(SACKED));
        let (before, behind) = (joins(index.wrapping_sub(1)), joins(index + 1));
        if !before {
            self.separate(sent, index);
        }
        if !behind {
            self.separate(sent, index + 1);
        }
        if before {
            self.join(sent, index);
        }
        if behind {
            self.join(sent, index + 1);
        }
    }

    /// Joins the packet that begins with the segment with this index to the previous packet.
    fn join(&mut self, sent: &mut VecDeque<Sent>, index: usize) {
        if !sent[index].is(BEGINS) {
            return;
        }
        let border = sent[index].start;
        if self.grown.1 != border {
            let first = (0..index).rev().find(|index| *index == 0 || sent[*index].is(BEGINS));
            self.grown.0 = first.filter(|first| *first > 0).map_or(self.from, |first| sent[first].start);
        }
        let next = sent.range(index + 1..).take_while(|next| !next.is(BEGINS)).last();
        self.grown.1 = next.unwrap_or(&sent[index]).end();
        if self.grown.1 - self.grown.0 < JOINED {
            sent[index].marks &= !BEGINS;
            self.count -= 1;
        } else {
            self.grown.0 = border;
        }
    }

    /// Makes the segment with this index the beginning of a packet.
    pub(super) fn separate(&mut self, sent: &mut VecDeque<Sent>, index: usize) {
        if let Some(segment) = sent.get_mut(index) {
            self.count += u32::from(index > 0 && !segment.is(BEGINS));
            segment.marks |= BEGINS;
            if (self.grown.0..self.grown.1).contains(&segment.start) {
                self.grown = (0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tcp::scoreboard::{Scoreboard, Tally};
    use bentpipe_congestion::interface::State;
    use bentpipe_core::Time;

    /// Returns a connection with bursts of these lengths, each segment of ten bytes.
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
    fn a_packet_counts_until_all_of_it_is_acknowledged() {
        let (mut board, mut state) = sent(&[4, 3]);
        assert_eq!((board.packets().count, board.packets().from), (2, 0));
        assert_eq!(acknowledge(&mut board, &mut state, 2), (2, 20));
        assert_eq!(acknowledge(&mut board, &mut state, 5), (1, 50));
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
    fn retransmitted_segments_are_separated_from_the_rest_of_their_burst() {
        let (mut board, mut state) = sent(&[4, 2]);
        assert_eq!(sack(&mut board, &mut state, 4, 6), 2);
        board.mark_first_lost(&mut state);
        let lost = board.next_lost().unwrap();
        board.retransmission_burst(lost.number, 1);
        assert_eq!(board.packets().count, 3);
        board.retransmission_burst(lost.number, 1);
        assert_eq!(board.packets().count, 3, "it is divided already");
    }
    /// From the memory of a socket of Linux 6.12: SACKed segments of 1460 bytes are joined to
    /// packets of 359 segments.
    #[test]
    fn sacked_packets_have_less_than_524280_bytes() {
        let (mut board, mut state) = (Scoreboard::new(false), State::default());
        for number in 0..1200 {
            board.push(Time::ZERO, 1460 * number, 1460, (number % 2 == 0, false), &mut state);
        }
        let mut tally = Tally::default();
        let mut packets = |from: u64, to: u64| {
            for number in from..to {
                board.sack(1460 * number, 1460 * number + 1460, &mut state, &mut tally);
            }
            board.packets().count
        };
        // The first segment and those after the SACKed ones are not SACKed.
        assert_eq!(packets(1, 360), 600 - 180 + 2);
        assert_eq!(packets(360, 729), 600 - 365 + 2 + 3);
        // 359, 359 and 10 segments, a missing one, 359 and 47.
        assert_eq!(packets(730, 1136), 1 + 3 + 1 + 2 + 32);
        assert_eq!(packets(729, 730), 1 + 5 + 32);
    }
}
