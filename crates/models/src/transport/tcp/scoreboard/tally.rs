//! What one acknowledgment told about the segments in the queue.

use super::sent::{Sent, EVER_RESENT};
use bentpipe_core::Time;

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
    pub(super) forward: Option<u64>,
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
    pub(super) fn delivered(&mut self, number: u64, segment: &Sent) {
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
