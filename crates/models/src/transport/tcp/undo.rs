//! Taking back reductions of the window that were for nothing.
//!
//! A reduction is spurious when nothing had been lost. Two signs show it:
//!
//! - Eifel (RFC 3522): an acknowledgment of what was sent again echoes a timestamp older than the first
//!   retransmission, so it answers the original;
//! - duplicate SACKs (RFC 3708): the receiver has got each retransmission for a second time.
//!
//! The window and ssthresh go back to what they were (RFC 4015, section 3.2; the congestion control's `undo_cwnd`).

use super::header;
use bentpipe_core::Time;

/// What a receiver tells to have got twice (RFC 2883).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dsack {
    /// First position.
    pub start: u64,
    /// Position after the last.
    pub end: u64,
}

impl Dsack {
    /// The first SACK block tells it when it lies below the acknowledged `position` or within the second block (RFC
    /// 2883, section 4).
    #[inline]
    pub fn find(position: u64, blocks: &[(u64, u64)]) -> Option<Dsack> {
        let (&(start, end), others) = blocks.split_first()?;
        let within = others.first().is_some_and(|(left, right)| *left <= start && end <= *right);
        (start < end && (end <= position || within)).then_some(Dsack { start, end })
    }
}

/// What is known of the latest reduction.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    /// First unacknowledged position at the reduction; `None` when there is nothing to take back.
    marker: Option<u64>,
    /// Retransmissions since that no duplicate SACK has told of; `None` before the first.
    unexplained: Option<u32>,
    /// When the first retransmission of this loss left (Linux' retrans_stamp).
    first_resent: Option<Time>,
}

impl Undo {
    /// The window is reduced while `resent` retransmissions are out.
    pub fn begin(&mut self, una: u64, resent: u32) {
        self.marker = Some(una);
        self.unexplained = (resent > 0).then_some(resent);
    }

    /// There is nothing to take back any more.
    pub fn end(&mut self) {
        self.marker = None;
    }

    /// All retransmissions are done with.
    pub fn forget_retransmissions(&mut self) {
        self.first_resent = None;
    }

    /// Whether a reduction could still be taken back.
    pub fn is_open(&self) -> bool {
        self.marker.is_some()
    }

    /// A segment was sent again.
    pub fn resent(&mut self, now: Time) {
        self.first_resent.get_or_insert(now);
        self.unexplained = Some(self.unexplained.unwrap_or(0) + 1);
    }

    /// A duplicate SACK tells of so many segments that end at `end`.
    pub fn explained(&mut self, dsack: &Dsack, segments: u32) {
        if self.marker.is_some_and(|marker| dsack.end > marker) {
            if let Some(count) = &mut self.unexplained {
                *count = count.saturating_sub(segments);
            }
        }
    }

    /// Whether every retransmission was for nothing.
    pub fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.unexplained == Some(0)
    }

    /// Whether an acknowledgment with this echoed timestamp answers what was sent before any retransmission.
    pub fn answers_original(&self, echo: Option<Time>) -> bool {
        match (self.marker, self.first_resent, echo) {
            (Some(_), Some(resent), Some(echo)) => echo < header::floor_to_tick(resent),
            _ => false,
        }
    }

    /// Either sign.
    pub fn was_spurious(&self, echo: Option<Time>) -> bool {
        self.all_were_duplicates() || self.answers_original(echo)
    }
}
