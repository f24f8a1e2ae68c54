//! The retransmission queue and the state of each of its segments: RFC 6675's scoreboard (section
//! 3). As in Linux, counters and hints replace searches.
//!
//! Segments are stored in a ring in the order of their positions and numbered from 0. RFC 6675's
//! functions are implemented as follows:
//!
//! - `Update()`: the set of SACKed ranges determines the new part of a block, and only the segments
//!   of that part are visited. A repeated block costs one look-up per acknowledgment.
//! - `IsLost()`: a segment is lost if three segments above it are SACKed. So every segment below
//!   the third highest SACKed one is lost, unless it is SACKed. This limit never decreases, and
//!   each segment is visited once, when the limit passes it. (The RFC's alternative, more than two
//!   full segments' bytes SACKed above, is equivalent for full segments.)
//! - `SetPipe()`: `packets_out - sacked_out - lost_out + retrans_out` of [`State`], Linux's
//!   `tcp_packets_in_flight`.
//! - `NextSeg()`: rule (1) uses a heap of segments that wait for retransmission; the sender applies
//!   rule (2). Rules (3) and (4) retransmit segments that are not yet lost, to obtain further
//!   acknowledgments. They are not included, as in Linux.
//!
//! RACK (RFC 8985, [`super::rack`]) needs segments in order of transmission time, which
//! [`super::order`] keeps.
//!
//! Without SACK `sacked_out` counts duplicate acknowledgments ([`super::recovery`]), and no segment
//! is marked SACKed.
//!
//! The cost of an acknowledgment does not depend on the window: it grows with the number of newly
//! reported segments and with the logarithm of the number of holes. A time-out visits the segments
//! that it marks lost and those with earlier marks.

mod losses;
mod packets;
mod sent;
mod tally;
#[cfg(test)]
mod tests;

use super::order::{Transmissions, Waiting};
use crate::sending::ranges::Ranges;
use bentpipe_congestion::interface::State;
use bentpipe_core::Time;
use sent::{Sent, BEGINS, EVER_RESENT, EXAMINED, LOST, OF_BURSTS, PUSHED, RESENT, SACKED};
use std::collections::VecDeque;
use tally::widen;

pub use losses::Border;
pub use packets::Packets;
pub use tally::{Tally, Timed};

/// DupThresh of RFC 5681 and 6675: the number of SACKed segments above a segment after which it is
/// lost, and of duplicate acknowledgments that start recovery.
pub const DUP_THRESH: u32 = 3;
/// A segment to retransmit: position and length in sequence space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Number in the queue, for [`Scoreboard::resent`].
    pub number: u64,
    /// Position of its first byte.
    pub start: u64,
    /// Length in positions, FIN included.
    pub length: u32,
    /// True if it is the first in the queue.
    pub first: bool,
    /// True if the segment ends the data that the application had handed over, so that it has PSH.
    pub pushed: bool,
}

/// The retransmission queue of one connection.
#[derive(Default, Debug)]
pub struct Scoreboard {
    sent: VecDeque<Sent>,
    /// Number of the first segment in the queue.
    first: u64,
    packets: Packets,
    sacked: Ranges,
    /// One more than the numbers of the highest SACKed segments, highest first; 0 for none.
    highest: [u64; DUP_THRESH as usize],
    /// All segments below this number are SACKed or have been marked lost.
    scanned: u64,
    /// The value of `scanned` before the last time-out, and the end of the affected flight.
    timed_out: (u64, u64),
    /// Number of the first segment after the last one with a mark. Segments from here on were sent
    /// in order.
    marked: u64,
    /// Segments that wait for retransmission; entries may be outdated.
    waiting: Waiting,
    /// Segments in order of transmission, for RACK; entries may be outdated.
    transmissions: Option<Transmissions>,
    /// End of the highest delivered segment (RACK.fack).
    forward: u64,
    /// Ranges that the receiver has named as missing and that have not been processed.
    missing: Vec<(u64, u64)>,
}

impl Scoreboard {
    /// Creates an empty scoreboard. With `timed` it keeps the order of transmission, for
    /// [`Scoreboard::mark_overdue`].
    pub fn new(timed: bool) -> Scoreboard {
        Scoreboard { transmissions: timed.then(Transmissions::default), ..Scoreboard::default() }
    }

    /// Records that `[start, start + length)` was sent; `begins` if it is the first segment of a
    /// burst, `pushed` if it ends the data that the application has handed over.
    #[inline]
    pub fn push(
        &mut self,
        now: Time,
        start: u64,
        length: u32,
        (begins, pushed): (bool, bool),
        state: &mut State,
    ) {
        let marks = if begins { BEGINS } else { 0 } | if pushed { PUSHED } else { 0 };
        self.packets.left(start, self.sent.is_empty(), begins);
        self.sent.push_back(Sent { start, at: now, length, marks });
        state.packets_out += 1;
    }

    /// Returns the number of the first outstanding segment.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns true if nothing is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Returns the position after the highest delivered segment.
    #[inline]
    pub fn forward(&self) -> u64 {
        self.forward
    }

    /// Returns the packets that contain the outstanding segments.
    #[inline]
    pub fn packets(&self) -> Packets {
        self.packets
    }

    /// Handles the cumulative acknowledgment of everything below `una`.
    #[inline]
    pub fn acknowledge(&mut self, una: u64, state: &mut State, tally: &mut Tally) {
        while let Some(front) = self.sent.front_mut() {
            if front.end() > una {
                if front.start < una {
                    front.length = (front.end() - una) as u32;
                    front.start = una;
                }
                break;
            }
            let segment = *front;
            self.sent.pop_front();
            self.first += 1;
            state.packets_out -= 1;
            tally.acked += 1;
            self.packets.acknowledged(segment.end(), self.sent.front());
            if !segment.is(SACKED) {
                tally.delivered(self.first - 1, &segment, true);
                let before = *tally.forward.get_or_insert(self.forward);
                tally.overtaken(&segment, before);
            }
            if segment.marks & !OF_BURSTS == 0 {
                widen(&mut tally.acked_sent, segment.at);
                continue;
            }
            if segment.is(LOST) {
                state.lost_out -= 1;
            }
            if segment.is(RESENT) {
                state.retrans_out -= 1;
            }
            if segment.is(SACKED) {
                state.sacked_out -= 1;
                tally.sacked_before += 1;
            }
            if segment.is(EVER_RESENT) {
                tally.resent = true;
            } else if !segment.is(SACKED) {
                widen(&mut tally.acked_sent, segment.at);
            }
        }
        if let Some(transmissions) = &mut self.transmissions {
            while transmissions.oldest_retransmission().is_some_and(|(_, number)| number < self.first) {
                transmissions.skip_oldest_retransmission();
            }
        }
        self.forward = self.forward.max(una);
        if !self.sacked.is_empty() {
            self.sacked.remove_below(una);
        }
    }

    /// Handles a SACK of `[start, end)`, which must lie within the outstanding data.
    pub fn sack(&mut self, start: u64, end: u64, state: &mut State, tally: &mut Tally) {
        let Scoreboard { sent, first, sacked, highest, forward, marked, packets, .. } = self;
        let before = *tally.forward.get_or_insert(*forward);
        sacked.insert(start, end, |from, to, (left, right)| {
            let mut index = locate(sent, from);
            while let Some(segment) = sent.get_mut(index).filter(|segment| segment.start < to) {
                // A partly received segment counts as not received.
                if segment.start >= left && segment.end() <= right && !segment.is(SACKED) {
                    if segment.is(LOST) {
                        state.lost_out -= 1;
                    }
                    if segment.is(RESENT) {
                        state.retrans_out -= 1;
                    }
                    segment.marks = segment.marks & (EVER_RESENT | OF_BURSTS) | SACKED;
                    tally.delivered(*first + index as u64, segment, false);
                    tally.overtaken(segment, before);
                    *forward = segment.end().max(*forward);
                    state.sacked_out += 1;
                    tally.sacked += 1;
                    if !segment.is(EVER_RESENT) {
                        widen(&mut tally.sacked_sent, segment.at);
                    }
                    raise(highest, *first + index as u64 + 1);
                    *marked = (*marked).max(*first + index as u64 + 1);
                    packets.sacked(sent, index);
                }
                index += 1;
            }
        });
    }

    /// Returns the first segment that is lost and has not been retransmitted since.
    #[inline]
    pub fn next_lost(&mut self) -> Option<Lost> {
        while let Some(number) = self.waiting.first() {
            let current = number.checked_sub(self.first).and_then(|index| self.sent.get(index as usize));
            if let Some(segment) = current.filter(|segment| segment.waits()) {
                let (start, length, pushed) = (segment.start, segment.length, segment.is(PUSHED));
                return Some(Lost { number, start, length, first: number == self.first, pushed });
            }
            self.waiting.pop();
        }
        None
    }

    /// Returns true if no segment can be waiting for retransmission.
    #[inline]
    pub fn none_waits(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the last outstanding segment, for a probe; `None` if the receiver has it.
    pub fn last(&self) -> Option<Lost> {
        let segment = self.sent.back().filter(|last| !last.is(SACKED))?;
        let number = self.first + self.sent.len() as u64 - 1;
        let (start, length, pushed) = (segment.start, segment.length, segment.is(PUSHED));
        Some(Lost { number, start, length, first: number == self.first, pushed })
    }

    /// Returns the length of the burst in which the lost segment `number` must be retransmitted:
    /// the segment and the following lost segments of its original burst, at most `max`. Longer
    /// bursts are divided permanently.
    pub fn retransmission_burst(&mut self, number: u64, max: u32) -> u64 {
        let mut index = (number - self.first) as usize;
        let mut length = u64::from(self.sent[index].length);
        for _ in 1..max {
            index += 1;
            let Some(next) = self.sent.get(index).filter(|next| next.waits() && !next.is(BEGINS)) else {
                return length;
            };
            length += u64::from(next.length);
        }
        self.packets.separate(&mut self.sent, index + 1);
        length
    }

    /// Makes the last outstanding segment a packet of its own.
    pub fn separate_last(&mut self) {
        let last = self.sent.len().saturating_sub(1);
        self.packets.separate(&mut self.sent, last);
    }

    /// Records the retransmission of a segment.
    pub fn resent(&mut self, now: Time, number: u64, state: &mut State) {
        let segment = &mut self.sent[(number - self.first) as usize];
        segment.at = now;
        if !segment.is(RESENT) {
            state.retrans_out += 1;
        }
        segment.marks = segment.marks & !EXAMINED | RESENT | EVER_RESENT;
        self.marked = self.marked.max(number + 1);
        if let Some(transmissions) = &mut self.transmissions {
            transmissions.retransmitted(now, number);
        }
    }

    /// Returns the last transmission time of the first segment.
    #[inline]
    pub fn first_sent_at(&self) -> Option<Time> {
        self.sent.front().map(|first| first.at)
    }

    /// Returns true if the first segment has ever been retransmitted.
    pub fn first_was_resent(&self) -> bool {
        self.sent.front().is_some_and(|first| first.is(EVER_RESENT))
    }

    /// Returns the counters recomputed from the marks, for tests: outstanding, SACKed, lost,
    /// retransmitted.
    #[cfg(test)]
    pub(super) fn count(&self) -> [u32; 4] {
        let with = |marks| self.sent.iter().filter(|segment| segment.is(marks)).count() as u32;
        [self.sent.len() as u32, with(SACKED), with(LOST), with(RESENT)]
    }
}
/// Returns the index of the segment that contains `position`. Segments are mostly of one size, so
/// the first guess is usually right.
fn locate(sent: &VecDeque<Sent>, position: u64) -> usize {
    let Some(first) = sent.front() else { return 0 };
    let holds = |segment: &Sent| segment.start <= position && position < segment.end();
    let middle = &sent[sent.len() / 2];
    for from in [(0, first), (sent.len() / 2, middle)] {
        if from.1.start <= position {
            let guess = from.0 + ((position - from.1.start) / u64::from(middle.length.max(1))) as usize;
            if sent.get(guess).is_some_and(holds) {
                return guess;
            }
        }
    }
    sent.partition_point(|segment| segment.end() <= position)
}

/// Inserts `value` into the highest values, in descending order.
#[inline]
fn raise(highest: &mut [u64; DUP_THRESH as usize], mut value: u64) {
    for seen in highest {
        if value > *seen {
            std::mem::swap(&mut value, seen);
        }
    }
}
