//! Undo of spurious window reductions.
//!
//! A reduction is spurious if no segment was lost. Two signs show this:
//!
//! - Eifel (RFC 3522): an acknowledgment of retransmitted data echoes a timestamp older than the
//!   first retransmission, so it answers the original;
//! - duplicate SACKs (RFC 3708): each retransmission was a duplicate at the receiver.
//!
//! The window and ssthresh return to their previous values (RFC 4015, section 3.2; the congestion
//! control's `undo_cwnd`).

use super::header;
use bentpipe_core::Time;

/// A range that a receiver reports as received twice (RFC 2883).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dsack {
    /// Position of the first byte that was received twice.
    pub start: u64,
    /// Position after the last byte of the range.
    pub end: u64,
}

impl Dsack {
    /// Returns the duplicate SACK of an acknowledgment: its first block, if that lies below the
    /// acknowledged `position` or within the second block (RFC 2883, section 4).
    #[inline]
    pub fn find(position: u64, blocks: &[(u64, u64)]) -> Option<Dsack> {
        let (&(start, end), others) = blocks.split_first()?;
        let within = others.first().is_some_and(|(left, right)| *left <= start && end <= *right);
        (start < end && (end <= position || within)).then_some(Dsack { start, end })
    }

    /// Returns the number of segments of `size` bytes that were received twice.
    #[inline]
    pub fn segments(&self, size: u32) -> u32 {
        (self.end - self.start).div_ceil(u64::from(size.max(1))) as u32
    }
}

/// The state of the last reduction.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    /// First unacknowledged position at the reduction; `None` if there is nothing to undo.
    marker: Option<u64>,
    /// Number of retransmissions since the reduction without a duplicate SACK; `None` before the
    /// first retransmission.
    unconfirmed: Option<u32>,
    /// Time of the first retransmission of this loss (`retrans_stamp` of Linux).
    first_resent: Option<Time>,
}

impl Undo {
    /// Records a reduction of the window while `resent` retransmissions are outstanding.
    pub fn begin(&mut self, una: u64, resent: u32) {
        self.marker = Some(una);
        self.unconfirmed = (resent > 0).then_some(resent);
    }

    /// Makes the reduction final.
    pub fn end(&mut self) {
        self.marker = None;
    }

    /// Discards all recorded retransmissions, so that they undo no reduction.
    pub fn discard_retransmissions(&mut self) {
        self.first_resent = None;
    }

    /// Returns true if the reduction could still be undone.
    pub fn is_open(&self) -> bool {
        self.marker.is_some()
    }

    /// Records that a segment was retransmitted at `now`.
    pub fn resent(&mut self, now: Time) {
        self.first_resent.get_or_insert(now);
        self.unconfirmed = Some(self.unconfirmed.unwrap_or(0) + 1);
    }

    /// Records a duplicate SACK for `segments` segments that end at `end`.
    pub fn explained(&mut self, dsack: &Dsack, segments: u32) {
        if self.marker.is_some_and(|marker| dsack.end > marker) {
            if let Some(count) = &mut self.unconfirmed {
                *count = count.saturating_sub(segments);
            }
        }
    }

    /// Returns true if every retransmission was spurious.
    pub fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.unconfirmed == Some(0)
    }

    /// Returns true if an acknowledgment with this echoed timestamp answers data sent before any
    /// retransmission.
    pub fn answers_original(&self, echo: Option<Time>) -> bool {
        match (self.marker, self.first_resent, echo) {
            (Some(_), Some(resent), Some(echo)) => echo < header::floor_to_tick(resent),
            _ => false,
        }
    }

    /// Returns true if either sign shows that the reduction was spurious.
    pub fn was_spurious(&self, echo: Option<Time>) -> bool {
        self.all_were_duplicates() || self.answers_original(echo)
    }
}
