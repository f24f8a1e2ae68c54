//! Detection of lost segments: by SACKed segments above them, by their age, or by a time-out.

use super::sent::{Sent, EVER_RESENT, EXAMINED, LOST, OF_BURSTS, RESENT, SACKED};
use super::{locate, Scoreboard, DUP_THRESH};
use bentpipe_congestion::interface::State;
use bentpipe_core::{Span, Time};

/// Maximum number of segments per hole that are examined without new information.
const MAX_EXAMINED: u32 = 128;

/// The delivered segment with the latest transmission time: segments sent before it may be lost
/// (RACK, RFC 8985).
#[derive(Clone, Copy, Debug, Default)]
pub struct Border {
    /// Its transmission time (RACK.xmit_ts).
    pub sent: Time,
    /// Position after the segment's last byte (RACK.end_seq).
    pub end: u64,
    /// Time after transmission at which an earlier segment is lost: RACK.rtt plus the reordering
    /// window.
    pub loss_delay: Span,
}

impl Scoreboard {
    /// Marks segments as lost for which RFC 6675's `IsLost()` now holds.
    #[inline]
    pub fn mark_lost(&mut self, state: &mut State) {
        let border = self.highest[DUP_THRESH as usize - 1].saturating_sub(1);
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
        self.marked = self.marked.max(number);
        self.scanned = number;
    }

    /// Marks the first segment as lost, based only on duplicate or partial acknowledgments.
    pub fn mark_first_lost(&mut self, state: &mut State) {
        if let Some(segment) = self.sent.front_mut() {
            if !segment.is(SACKED | LOST) {
                segment.marks |= LOST;
                state.lost_out += 1;
                state.lost = state.lost.wrapping_add(1);
                self.waiting.push(self.first);
                self.marked = self.marked.max(self.first + 1);
            }
        }
    }

    /// Marks segments as lost that were sent before the border and not delivered in time (RFC 8985,
    /// section 6.2, step 5). Returns the time at which the next segment will be lost, if no
    /// acknowledgment arrives.
    #[inline]
    pub fn mark_overdue(&mut self, now: Time, border: &Border, state: &mut State) -> Option<Time> {
        while let Some((number, retransmitted)) = self.oldest() {
            let transmissions = self.transmissions.as_mut()?;
            let segment = &mut self.sent[(number - self.first) as usize];
            let at = segment.at;
            if (at, segment.end()) >= (border.sent, border.end) {
                return None;
            }
            if at + border.loss_delay > now {
                return Some(at + border.loss_delay);
            }
            mark_lost_again(segment, state);
            segment.marks |= EXAMINED;
            self.waiting.push(number);
            self.marked = self.marked.max(number + 1);
            if retransmitted {
                transmissions.skip_oldest_retransmission();
            } else {
                transmissions.first = number + 1;
            }
        }
        None
    }

    /// Returns the time at which the last of the segments that [`Scoreboard::mark_overdue`] would
    /// examine will be lost. Visits every outstanding segment.
    pub fn last_overdue(&self, border: &Border) -> Option<Time> {
        let examined = |one: &&Sent| one.is_in_network() && !one.is(EXAMINED);
        let before = |one: &&Sent| (one.at, one.end()) < (border.sent, border.end);
        let last = self.sent.iter().filter(examined).filter(before).map(|one| one.at).max();
        last.map(|at| at + border.loss_delay)
    }

    /// Records ranges that the receiver names as missing.
    pub fn add_missing(&mut self, ranges: impl Iterator<Item = (u64, u64)>) {
        self.missing.clear();
        self.missing.extend(ranges);
    }

    /// Returns true if the receiver has named ranges that have not been processed.
    #[inline]
    pub fn has_missing(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Marks ranges as lost that the receiver has named as missing: segments sent once, and those
    /// retransmitted at least `loss_delay` ago. Among segments that wait for retransmission or may
    /// still arrive, only the first ones of each hole are examined; later calls examine the others.
    pub fn mark_missing(&mut self, now: Time, loss_delay: Span, state: &mut State) {
        for (from, to) in std::mem::take(&mut self.missing) {
            let (mut index, mut examined) = (locate(&self.sent, from), 0);
            while let Some(segment) = self.sent.get_mut(index).filter(|segment| segment.end() <= to) {
                let number = self.first + index as u64;
                index += 1;
                if segment.start < from || segment.is(SACKED) {
                    continue;
                }
                let waits = segment.is(LOST) && !segment.is(RESENT);
                if waits || (segment.is(RESENT) && segment.at + loss_delay > now) {
                    examined += 1;
                    if examined > MAX_EXAMINED {
                        break;
                    }
                    continue;
                }
                mark_lost_again(segment, state);
                self.waiting.push(number);
                self.marked = self.marked.max(number + 1);
            }
        }
    }

    /// Returns time and segment of the oldest retransmission that may still arrive.
    #[inline]
    fn oldest_retransmission(&mut self) -> Option<(Time, u64)> {
        let Scoreboard { sent, first: base, transmissions, .. } = self;
        let transmissions = transmissions.as_mut()?;
        while let Some((at, number)) = transmissions.oldest_retransmission() {
            let segment = number.checked_sub(*base).and_then(|index| sent.get(index as usize));
            if segment.is_some_and(|one| one.at == at && one.is_in_network()) {
                return Some((at, number));
            }
            transmissions.skip_oldest_retransmission();
        }
        None
    }

    /// Returns the segment with the oldest last transmission among those that may still arrive, and
    /// true if that was a retransmission.
    #[inline]
    fn oldest(&mut self) -> Option<(u64, bool)> {
        let Scoreboard { sent, first: base, transmissions, .. } = self;
        let transmissions = transmissions.as_mut()?;
        transmissions.first = transmissions.first.max(*base);
        let once = loop {
            let Some(one) = sent.get((transmissions.first - *base) as usize) else { break None };
            if one.is_in_network() && !one.is(EVER_RESENT | EXAMINED) {
                break Some((one.at, transmissions.first));
            }
            transmissions.first += 1;
        };
        let retransmitted = self.oldest_retransmission();
        match (once, retransmitted) {
            (Some(once), Some(retransmitted)) if retransmitted < once => Some((retransmitted.1, true)),
            (Some((_, number)), _) => Some((number, false)),
            (None, retransmitted) => retransmitted.map(|(_, number)| (number, true)),
        }
    }

    /// After a time-out, marks everything not SACKed as lost and not retransmitted (Linux's
    /// `tcp_timeout_mark_lost`). If the receiver SACKed the first segment but does not acknowledge
    /// it, it has discarded its data (RFC 2018, section 8), so nothing counts as SACKed. With
    /// `recent`, segments sent after that time are not yet lost, except the first one (RFC 8985,
    /// section 6.3).
    pub fn mark_all_lost(&mut self, recent: Option<Time>, state: &mut State) {
        let reneged = self.sent.front().is_some_and(|first| first.is(SACKED));
        if reneged {
            self.sacked.clear();
            self.highest = Default::default();
            state.sacked_out = 0;
        }
        self.waiting.clear();
        // Counted in local variables for speed, because every outstanding segment is visited.
        let (mut lost_out, mut retrans_out, mut newly) = (0, 0, 0);
        let (first, waiting) = (self.first, &mut self.waiting);
        let recent = recent.filter(|_| !reneged).unwrap_or(Time::MAX);
        let unmarked = self.marked.max(first + 1);
        let (front, back) = self.sent.as_mut_slices();
        for (number, segment) in (first..).zip(front.iter_mut().chain(back)) {
            if number >= unmarked && segment.at > recent {
                // All following segments were also sent later, and have no mark.
                break;
            }
            let spared = segment.at > recent && number > first && segment.is_in_network();
            if spared {
                retrans_out += u32::from(segment.is(RESENT));
                lost_out += u32::from(segment.is(LOST));
            } else if !segment.is(SACKED) || reneged {
                newly += u32::from(segment.marks & (LOST | RESENT) != LOST);
                segment.marks = segment.marks & (EVER_RESENT | EXAMINED | OF_BURSTS) | LOST;
                lost_out += 1;
                waiting.push(number);
                self.marked = self.marked.max(number + 1);
            }
        }
        state.lost = state.lost.wrapping_add(newly);
        state.lost_out = lost_out;
        state.retrans_out = retrans_out;
        let end = self.first + self.sent.len() as u64;
        let (scanned, before) = self.timed_out;
        // After a further time-out of the same flight, `IsLost()` has nothing more to examine.
        self.timed_out = (if self.first < before { scanned } else { self.scanned }, end);
        self.scanned = end;
    }

    /// Removes all loss marks after a spurious loss. As in Linux, RACK does not examine the
    /// segments again that it had found lost itself. A genuine loss among them is detected when a
    /// retransmission is missing, or by the time-out. RACK and `IsLost()` do examine the segments
    /// that the time-out had marked: most of them are in flight, and the next SACKs must reveal a
    /// hole.
    pub fn unmark_lost(&mut self, state: &mut State) {
        self.waiting.clear();
        state.lost_out = 0;
        if self.first < self.timed_out.1 {
            self.scanned = self.timed_out.0;
        }
        let mut retransmitted = Vec::new();
        let mut first = None;
        let (front, back) = self.sent.as_mut_slices();
        for (number, segment) in (self.first..).zip(front.iter_mut().chain(back)) {
            if number >= self.marked {
                first = first.or(Some(number));
                break;
            }
            segment.marks &= !LOST;
            match segment.marks & (SACKED | EXAMINED | EVER_RESENT) {
                0 => first = first.or(Some(number)),
                EVER_RESENT => retransmitted.push((segment.at, number)),
                _ => {}
            }
        }
        if let Some(transmissions) = &mut self.transmissions {
            retransmitted.sort_unstable();
            transmissions.restart(first, retransmitted);
        }
    }
}

/// Marks a segment as lost because its last transmission (first or later) has not arrived.
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
