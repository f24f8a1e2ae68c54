//! The retransmission queue and what is known of each segment in it: RFC 6675's scoreboard (section 3), kept
//! as Linux keeps it, by counters and hints instead of searches.
//!
//! Segments stand in a ring in the order of their positions and are numbered from 0. RFC 6675's functions
//! become:
//!
//! - `Update()`: a set of SACKed ranges tells which part of a block is new, and only the segments of that
//!   part are visited. A block repeated by many acknowledgments costs one look-up each time.
//! - `IsLost()`: a segment is lost when three segments above it are SACKed. So all that is not SACKed below
//!   the third highest SACKed segment is lost; that border only rises, and each segment is visited once as it
//!   passes. (The RFC's alternative, more than two full segments' bytes SACKed above, says the same of full
//!   segments.)
//! - `SetPipe()`: `packets_out - sacked_out - lost_out + retrans_out` of [`State`], Linux'
//!   `tcp_packets_in_flight`.
//! - `NextSeg()`: rule (1) by a heap of what waits to be sent again; rule (2) is the sender's. Rules (3) and (4), which
//!   resend what is not yet lost to keep the acknowledgments coming, are left out, as in Linux.
//!
//! RACK (RFC 8985, [`super::rack`]) asks for segments in the order of sending time: [`super::order`] keeps it.
//!
//! Without SACK `sacked_out` counts duplicate acknowledgments ([`super::recovery`]), and no segment is marked
//! SACKed.
//!
//! Work per acknowledgment does not depend on the window: it grows with what that acknowledgment newly says
//! and the logarithm of the number of holes. Only a time-out visits the whole queue.

use super::congestion::State;
use super::order::{Transmissions, Waiting};
use super::rack::Border;
use super::ranges::Ranges;
use bentpipe_core::{Span, Time};
use std::collections::VecDeque;

/// Segments SACKed above a segment that make it lost, and duplicate acknowledgments that start recovery
/// (DupThresh of RFC 5681 and 6675).
pub const DUP_THRESH: u32 = 3;

/// Selectively acknowledged.
const SACKED: u8 = 1;
/// Taken for lost.
const LOST: u8 = 2;
/// Retransmitted since it was taken for lost.
const RESENT: u8 = 4;
/// Retransmitted at any time, so that it gives no round-trip time sample (Karn).
const EVER_RESENT: u8 = 8;

/// A segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    /// Last transmission.
    at: Time,
    length: u32,
    marks: u8,
}

impl Sent {
    #[inline]
    fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    #[inline]
    fn is(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }

    /// Whether its last transmission may still arrive: neither SACKed nor taken for lost.
    #[inline]
    fn is_in_network(&self) -> bool {
        !self.is(SACKED) && self.marks & (LOST | RESENT) != LOST
    }
}

/// What one acknowledgment told about the segments in the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Segments cumulatively acknowledged.
    pub acked: u32,
    /// Segments newly selectively acknowledged.
    pub sacked: u32,
    /// Of those cumulatively acknowledged, SACKed earlier.
    pub sacked_before: u32,
    /// A segment that was cumulatively acknowledged had been retransmitted.
    pub resent: bool,
    /// When the first and the last of those cumulatively acknowledged for the first time were sent.
    pub acked_sent: Option<(Time, Time)>,
    /// The same of those newly SACKed that were never retransmitted.
    pub sacked_sent: Option<(Time, Time)>,
    /// Of all segments newly delivered, the one that was sent last.
    pub newest: Option<Newest>,
    /// A segment that was sent once was delivered after one above it, by an earlier acknowledgment.
    pub reordered: bool,
    /// End of the highest segment delivered by earlier acknowledgments, once something is delivered.
    forward: Option<u64>,
    /// Least end of the segments newly delivered that were sent once; `None` without any.
    pub original_end: Option<u64>,
}

/// A segment that was delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Newest {
    /// Number in the queue.
    pub number: u64,
    /// Last transmission.
    pub sent: Time,
    /// Whether it had been sent before.
    pub resent: bool,
    /// Its end.
    pub end: u64,
}

impl Tally {
    #[inline]
    fn delivered(&mut self, number: u64, segment: &Sent) {
        if self.newest.is_none_or(|newest| (newest.sent, newest.number) < (segment.at, number)) {
            let resent = segment.is(EVER_RESENT);
            self.newest = Some(Newest { number, sent: segment.at, resent, end: segment.end() });
        }
        if !segment.is(EVER_RESENT) {
            self.original_end = Some(self.original_end.map_or(segment.end(), |end| end.min(segment.end())));
        }
    }
}

/// A segment to send again: position and length in sequence space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Number in the queue, for [`Scoreboard::resent`].
    pub number: u64,
    /// First position.
    pub start: u64,
    /// Positions, FIN included.
    pub length: u32,
    /// Whether it is the first in the queue.
    pub first: bool,
}

/// See the module.
#[derive(Default, Debug)]
pub struct Scoreboard {
    sent: VecDeque<Sent>,
    /// Number of the first segment in the queue.
    first: u64,
    sacked: Ranges,
    /// One more than the numbers of the highest SACKed segments, highest first; 0 for none.
    highest: [u64; DUP_THRESH as usize],
    /// Segments below this number are SACKed or have been marked lost.
    scanned: u64,
    /// What waits to be sent again; entries may be out of date.
    waiting: Waiting,
    /// The order of sending, when it is kept; entries may be out of date.
    transmissions: Option<Transmissions>,
    /// End of the highest segment delivered (RACK.fack).
    forward: u64,
}

impl Scoreboard {
    /// An empty one; `timed` to keep the order of sending, for [`Scoreboard::mark_overdue`].
    pub fn new(timed: bool) -> Scoreboard {
        Scoreboard { transmissions: timed.then(Transmissions::default), ..Scoreboard::default() }
    }

    /// Notes that `[start, start + length)` was sent.
    #[inline]
    pub fn push(&mut self, now: Time, start: u64, length: u32, state: &mut State) {
        self.sent.push_back(Sent { start, at: now, length, marks: 0 });
        state.packets_out += 1;
    }

    /// Number of the first segment out.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Whether nothing is out.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Everything below `una` is acknowledged.
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
            if !segment.is(SACKED) {
                tally.delivered(self.first - 1, &segment);
                let before = *tally.forward.get_or_insert(self.forward);
                tally.reordered |= segment.end() < before && !segment.is(EVER_RESENT);
            }
            if segment.marks == 0 {
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
            while transmissions.oldest_again().is_some_and(|(_, number)| number < self.first) {
                transmissions.pass_again();
            }
        }
        self.forward = self.forward.max(una);
        if !self.sacked.is_empty() {
            self.sacked.remove_below(una);
        }
    }

    /// The receiver holds `[start, end)`, which must lie within what is out.
    pub fn sack(&mut self, start: u64, end: u64, state: &mut State, tally: &mut Tally) {
        let Scoreboard { sent, first, sacked, highest, forward, .. } = self;
        let before = *tally.forward.get_or_insert(*forward);
        sacked.insert(start, end, |from, to, (left, right)| {
            let mut index = locate(sent, from);
            while let Some(segment) = sent.get_mut(index).filter(|segment| segment.start < to) {
                // A segment of which only a part is held counts as not held.
                if segment.start >= left && segment.end() <= right && !segment.is(SACKED) {
                    if segment.is(LOST) {
                        state.lost_out -= 1;
                    }
                    if segment.is(RESENT) {
                        state.retrans_out -= 1;
                    }
                    segment.marks = segment.marks & EVER_RESENT | SACKED;
                    tally.delivered(*first + index as u64, segment);
                    tally.reordered |= segment.end() < before && !segment.is(EVER_RESENT);
                    *forward = segment.end().max(*forward);
                    state.sacked_out += 1;
                    tally.sacked += 1;
                    if !segment.is(EVER_RESENT) {
                        widen(&mut tally.sacked_sent, segment.at);
                    }
                    raise(highest, *first + index as u64 + 1);
                }
                index += 1;
            }
        });
    }

    /// Marks lost what `IsLost()` of RFC 6675 now says, with so many segments SACKed above as proof: `DUP_THRESH` or fewer.
    #[inline]
    pub fn mark_lost(&mut self, proof: u32, state: &mut State) {
        let border = self.highest[proof as usize - 1].saturating_sub(1);
        let mut number = self.scanned.max(self.first);
        while number < border {
            let segment = &mut self.sent[(number - self.first) as usize];
            if !segment.is(SACKED | LOST) {
                segment.marks |= LOST;
                state.lost_out += 1;
                state.lost = state.lost.wrapping_add(1);
                self.waiting.push(number);
            }
            number += 1;
        }
        self.scanned = number;
    }

    /// Marks the first segment lost, on the evidence of duplicate or partial acknowledgments alone.
    pub fn mark_first_lost(&mut self, state: &mut State) {
        if let Some(segment) = self.sent.front_mut() {
            if !segment.is(SACKED | LOST) {
                segment.marks |= LOST;
                state.lost_out += 1;
                state.lost = state.lost.wrapping_add(1);
                self.waiting.push(self.first);
            }
        }
    }

    /// Marks lost what was sent before the border and not delivered in time (RFC 8985, section 6.2, step 5). Returns
    /// when the next one will be lost, if nothing changes.
    #[inline]
    pub fn mark_overdue(&mut self, now: Time, border: &Border, state: &mut State) -> Option<Time> {
        while let Some((number, again)) = self.oldest() {
            let transmissions = self.transmissions.as_mut()?;
            let segment = &mut self.sent[(number - self.first) as usize];
            let at = segment.at;
            if (at, segment.end()) >= (border.sent, border.end) {
                return None;
            }
            if at + border.patience > now {
                return Some(at + border.patience);
            }
            mark_lost_again(segment, state);
            self.waiting.push(number);
            if again {
                transmissions.pass_again();
            } else {
                transmissions.first = number + 1;
            }
        }
        None
    }

    /// Marks lost again what was sent again `patience` ago or earlier and is still missing below what is SACKed.
    pub fn mark_resent(&mut self, now: Time, patience: Span, state: &mut State) {
        let border = self.highest[0];
        while let Some((_, number)) = self.oldest_again() {
            let segment = &mut self.sent[(number - self.first) as usize];
            if number + 1 >= border || segment.at + patience > now {
                return;
            }
            mark_lost_again(segment, state);
            self.waiting.push(number);
            if let Some(transmissions) = &mut self.transmissions {
                transmissions.pass_again();
            }
        }
    }

    /// When the oldest retransmission that may still arrive was sent, and of which segment.
    #[inline]
    fn oldest_again(&mut self) -> Option<(Time, u64)> {
        let Scoreboard { sent, first: base, transmissions, .. } = self;
        let transmissions = transmissions.as_mut()?;
        while let Some((at, number)) = transmissions.oldest_again() {
            let segment = number.checked_sub(*base).and_then(|index| sent.get(index as usize));
            if segment.is_some_and(|one| one.at == at && one.is_in_network()) {
                return Some((at, number));
            }
            transmissions.pass_again();
        }
        None
    }

    /// The segment whose last transmission is the oldest of those that may still arrive, and whether it was sent again.
    #[inline]
    fn oldest(&mut self) -> Option<(u64, bool)> {
        let Scoreboard { sent, first: base, transmissions, .. } = self;
        let transmissions = transmissions.as_mut()?;
        transmissions.first = transmissions.first.max(*base);
        let once = loop {
            let Some(one) = sent.get((transmissions.first - *base) as usize) else { break None };
            if one.is_in_network() && !one.is(EVER_RESENT) {
                break Some((one.at, transmissions.first));
            }
            transmissions.first += 1;
        };
        let again = self.oldest_again();
        match (once, again) {
            (Some(once), Some(again)) if again < once => Some((again.1, true)),
            (Some((_, number)), _) => Some((number, false)),
            (None, again) => again.map(|(_, number)| (number, true)),
        }
    }

    /// After a time-out: what is not SACKed is lost and has not been sent again (Linux' `tcp_timeout_mark_lost`). A
    /// receiver that SACKed the first segment and still does not acknowledge it has discarded what it held (RFC
    /// 2018, section 8): then nothing counts as SACKed. With `recent`, what was sent after that is not yet lost,
    /// except the first segment (RFC 8985, section 6.3).
    pub fn mark_all_lost(&mut self, recent: Option<Time>, state: &mut State) {
        let reneged = self.sent.front().is_some_and(|first| first.is(SACKED));
        if reneged {
            self.sacked.clear();
            self.highest = Default::default();
            state.sacked_out = 0;
        }
        state.lost_out = 0;
        state.retrans_out = 0;
        self.waiting.clear();
        for (index, segment) in self.sent.iter_mut().enumerate() {
            if segment.is(SACKED) && !reneged {
                continue;
            }
            let spared = index > 0 && !reneged && recent.is_some_and(|recent| segment.at > recent);
            if spared && segment.is_in_network() {
                state.retrans_out += u32::from(segment.is(RESENT));
                state.lost_out += u32::from(segment.is(LOST));
                continue;
            }
            if !segment.is(LOST) || segment.is(RESENT) {
                state.lost = state.lost.wrapping_add(1);
            }
            segment.marks = segment.marks & EVER_RESENT | LOST;
            state.lost_out += 1;
            self.waiting.push(self.first + index as u64);
        }
        self.scanned = self.first + self.sent.len() as u64;
    }

    /// What was taken for lost was not: its transmissions count again, since it may be lost yet.
    pub fn unmark_lost(&mut self, state: &mut State) {
        for segment in &mut self.sent {
            segment.marks &= !LOST;
        }
        self.waiting.clear();
        state.lost_out = 0;
        if let Some(transmissions) = &mut self.transmissions {
            let resent = self.sent.iter().zip(self.first..).filter(|(one, _)| one.is(EVER_RESENT));
            transmissions.start_over(self.first, resent.map(|(one, number)| (one.at, number)).collect());
        }
    }

    /// The first segment that is lost and has not been sent again since.
    #[inline]
    pub fn next_lost(&mut self) -> Option<Lost> {
        while let Some(number) = self.waiting.first() {
            let current = number.checked_sub(self.first).and_then(|index| self.sent.get(index as usize));
            if let Some(segment) = current.filter(|segment| segment.is(LOST) && !segment.is(RESENT)) {
                let (start, length) = (segment.start, segment.length);
                return Some(Lost { number, start, length, first: number == self.first });
            }
            self.waiting.pop();
        }
        None
    }

    /// Whether nothing can wait to be sent again.
    #[inline]
    pub fn none_waits(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The last segment out, which a probe sends again; `None` when the receiver has it.
    pub fn last(&self) -> Option<Lost> {
        let segment = self.sent.back().filter(|last| !last.is(SACKED))?;
        let number = self.first + self.sent.len() as u64 - 1;
        Some(Lost { number, start: segment.start, length: segment.length, first: number == self.first })
    }

    /// Notes that a segment was sent again.
    pub fn resent(&mut self, now: Time, number: u64, state: &mut State) {
        let segment = &mut self.sent[(number - self.first) as usize];
        segment.at = now;
        if !segment.is(RESENT) {
            state.retrans_out += 1;
        }
        segment.marks |= RESENT | EVER_RESENT;
        if let Some(transmissions) = &mut self.transmissions {
            transmissions.again(now, number);
        }
    }

    /// When the first segment was last sent.
    #[inline]
    pub fn first_sent_at(&self) -> Option<Time> {
        self.sent.front().map(|first| first.at)
    }

    /// Whether the first segment has ever been sent again.
    pub fn first_was_resent(&self) -> bool {
        self.sent.front().is_some_and(|first| first.is(EVER_RESENT))
    }

    /// Counters recomputed from the marks, for tests: packets out, SACKed, lost, retransmitted.
    #[cfg(test)]
    pub(super) fn count(&self) -> [u32; 4] {
        let with = |marks| self.sent.iter().filter(|segment| segment.is(marks)).count() as u32;
        [self.sent.len() as u32, with(SACKED), with(LOST), with(RESENT)]
    }
}

/// Marks lost a segment whose last transmission, be it the first or a later one, does not arrive.
#[inline]
fn mark_lost_again(segment: &mut Sent, state: &mut State) {
    if segment.is(RESENT) {
        segment.marks &= !RESENT;
        state.retrans_out -= 1;
    }
    if !segment.is(LOST) {
        segment.marks |= LOST;
        state.lost_out += 1;
    }
    state.lost = state.lost.wrapping_add(1);
}

#[inline]
fn widen(span: &mut Option<(Time, Time)>, at: Time) {
    *span = Some(span.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
}

/// Index of the segment that holds `position`. Segments are mostly of one size, so the first guess is mostly
/// right.
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

/// Inserts `value` into the highest seen, in descending order.
#[inline]
fn raise(highest: &mut [u64; DUP_THRESH as usize], mut value: u64) {
    for seen in highest {
        if value > *seen {
            std::mem::swap(&mut value, seen);
        }
    }
}

/// Segments in flight (Linux' `tcp_packets_in_flight`, RFC 6675's pipe in segments).
#[inline]
pub fn in_flight(state: &State) -> u32 {
    state.packets_out + state.retrans_out - state.sacked_out - state.lost_out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 100;

    fn filled(segments: u64) -> (Scoreboard, State) {
        let (mut board, mut state) = (Scoreboard::new(true), State::default());
        for number in 0..segments {
            board.push(Time::from_nanos(number), 1 + number * u64::from(MSS), MSS, &mut state);
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
        board.mark_lost(DUP_THRESH, &mut state);
        assert_eq!((state.sacked_out, state.lost_out, board.next_lost()), (2, 0, None));
        board.sack(at(5), at(6), &mut state, &mut tally);
        board.mark_lost(DUP_THRESH, &mut state);
        // Segments 0 and 1 have three above them, segment 4 has one.
        assert_eq!((state.sacked_out, state.lost_out), (3, 2));
        let lost = board.next_lost().unwrap();
        assert_eq!((lost.number, lost.start, lost.first), (0, at(0), true));
        board.resent(Time::ZERO, 0, &mut state);
        assert_eq!(board.next_lost().unwrap().number, 1);
        assert_eq!(in_flight(&state), 10 - 3 - 2 + 1);
        board.sack(at(7), at(9), &mut state, &mut tally);
        board.mark_lost(DUP_THRESH, &mut state);
        assert_eq!(state.lost_out, 3);
        board.acknowledge(at(4), &mut state, &mut tally);
        assert_eq!(tally.acked, 4);
        assert_eq!(tally.sacked_before, 2);
        assert!(tally.resent);
        assert_eq!(board.next_lost().unwrap().number, 4);
    }

    #[test]
    fn what_was_not_lost_may_be_lost_yet() {
        let (mut board, mut state) = filled(5);
        let mut tally = Tally::default();
        let border =
            |nanos| Border { sent: Time::from_nanos(nanos), end: at(9), patience: Span::from_nanos(10) };
        board.mark_overdue(Time::from_nanos(50), &border(4), &mut state);
        assert_eq!(board.next_lost().unwrap().number, 0);
        board.resent(Time::from_nanos(60), 0, &mut state);
        let lost = state.lost_out;
        assert!(lost >= 4);
        board.unmark_lost(&mut state);
        assert_eq!((state.lost_out, board.next_lost()), (0, None));
        // The one that was sent again arrives, and the others still do not.
        board.sack(at(0), at(1), &mut state, &mut tally);
        board.mark_overdue(Time::from_nanos(100), &border(60), &mut state);
        assert_eq!((board.next_lost().unwrap().number, state.lost_out), (1, 4));
    }

    #[test]
    fn reneging_is_noticed_at_a_time_out() {
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
                        board.mark_lost(DUP_THRESH, &mut state);
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
                        board.push(Time::ZERO, at(pushed), MSS, &mut state);
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
    }
}
