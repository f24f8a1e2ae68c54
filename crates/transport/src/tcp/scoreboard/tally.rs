//! The information of one acknowledgment about the segments in the queue.

use super::sent::{Sent, EVER_RESENT};
use crate::sending::Newest;
use crate::tcp::header;
use bentpipe_congestion::interface::State;
use bentpipe_core::{Span, Time};

/// The information of one acknowledgment about the segments in the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Number of cumulatively acknowledged segments.
    pub acked: u32,
    /// Number of newly SACKed segments.
    pub sacked: u32,
    /// Number of cumulatively acknowledged segments that had been SACKed earlier.
    pub sacked_before: u32,
    /// True if a cumulatively acknowledged segment had been retransmitted.
    pub resent: bool,
    /// Transmission times of the first and the last of the segments cumulatively acknowledged for
    /// the first time.
    pub acked_sent: Option<(Time, Time)>,
    /// Transmission times of the first and the last of the newly SACKed segments that were never
    /// retransmitted.
    pub sacked_sent: Option<(Time, Time)>,
    /// The newly delivered segment that was sent last.
    pub newest: Option<Newest>,
    /// Lowest start of the reordered segments: sent once, and delivered after a higher segment that
    /// an earlier acknowledgment reported.
    pub reordered: Option<u64>,
    /// End of the highest segment delivered by earlier acknowledgments; `None` before the first
    /// delivery.
    pub(super) forward: Option<u64>,
    /// Lowest end of the newly delivered segments that were sent once; `None` without any.
    pub original_end: Option<u64>,
    /// Latest transmission time of a retransmission that may have been delivered; later ones are
    /// too recent.
    pub(super) believed: Time,
    /// Transmission time of the acknowledged data, by the echoed timestamp.
    pub(super) echo: Option<Time>,
    /// The times of newly delivered segments for RACK, without too recent retransmissions.
    pub timed: Option<Timed>,
}

/// The times of newly delivered segments (RFC 8985, section 6.2, steps 1 and 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timed {
    /// The segment that gives RACK.rtt: true if acknowledged cumulatively, its number, and its last
    /// transmission time. It is the segment examined last. Linux examines cumulatively acknowledged
    /// segments last, in ascending order.
    pub last: (bool, u64, Time),
    /// Last transmission time and end of the segment that was sent last.
    pub newest: (Time, u64),
}

impl Tally {
    /// Creates the tally of an acknowledgment that arrives `now` and echoes the timestamp of the
    /// time `echo`.
    #[inline]
    pub fn new(now: Time, echo: Option<Time>, state: &State) -> Tally {
        let believed =
            Time::ZERO + now.since(Time::ZERO).saturating_sub(Span::from_micros(state.rtt_min_us.into()));
        Tally { believed, echo, ..Tally::default() }
    }

    /// Returns true if the last transmission of a retransmitted segment may have been delivered,
    /// `cumulatively` or by SACK.
    #[inline]
    fn may_be_delivered(&self, segment: &Sent, cumulatively: bool) -> bool {
        let answers = |echo| header::floor_to_tick(segment.at) <= echo;
        segment.at <= self.believed && (!cumulatively || self.echo.is_none_or(answers))
    }

    /// Records the delivery of a segment that was sent once, after the delivery of one that ends at
    /// `forward`.
    #[inline]
    pub(super) fn overtaken(&mut self, segment: &Sent, forward: u64) {
        if segment.end() < forward && !segment.is(EVER_RESENT) {
            self.reordered = Some(self.reordered.map_or(segment.start, |start| start.min(segment.start)));
        }
    }

    /// Records the delivery of a segment, `cumulatively` or by SACK.
    #[inline]
    pub(super) fn delivered(&mut self, number: u64, segment: &Sent, cumulatively: bool) {
        if !segment.is(EVER_RESENT) || self.may_be_delivered(segment, cumulatively) {
            let one = Timed { last: (cumulatively, number, segment.at), newest: (segment.at, segment.end()) };
            let before = self.timed.unwrap_or(one);
            // Cumulatively acknowledged segments come last, in the order of their numbers.
            let last = if cumulatively { one.last } else { before.last.max(one.last) };
            self.timed = Some(Timed { last, newest: before.newest.max(one.newest) });
        }
        if self.newest.is_none_or(|newest| (newest.sent, newest.number) < (segment.at, number)) {
            let resent = segment.is(EVER_RESENT);
            self.newest = Some(Newest { number, sent: segment.at, resent, end: segment.end() });
        }
        if !segment.is(EVER_RESENT) {
            self.original_end = Some(self.original_end.map_or(segment.end(), |end| end.min(segment.end())));
        }
    }
}

#[inline]
pub(super) fn widen(span: &mut Option<(Time, Time)>, at: Time) {
    *span = Some(span.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8985, section 6.2, step 2: a retransmission gives no round-trip time if the
    /// acknowledgment echoes an earlier timestamp, or arrives too early.
    #[test]
    fn a_retransmission_counts_only_if_it_may_have_been_acknowledged() {
        let at = |millis: u64| Time::from_nanos(1_000_000 * millis);
        let state = State { rtt_min_us: 50_000, ..State::default() };
        let resent = Sent { start: 0, at: at(400), length: 1460, marks: EVER_RESENT };
        let first = Sent { marks: 0, ..resent };
        let counts = |segment: &Sent, now, echo, cumulatively| {
            let mut tally = Tally::new(at(now), echo, &state);
            tally.delivered(0, segment, cumulatively);
            tally.timed.is_some()
        };
        assert!(counts(&resent, 451, Some(at(400)), true));
        assert!(!counts(&resent, 451, Some(at(399)), true), "it answers the transmission before");
        assert!(counts(&resent, 451, None, true), "no timestamps");
        assert!(counts(&resent, 451, Some(at(399)), false), "behind a hole the timestamp says nothing");
        assert!(!counts(&resent, 449, Some(at(400)), true), "less than the minimum round-trip time");
        assert!(counts(&first, 449, Some(at(399)), true));
    }
}
