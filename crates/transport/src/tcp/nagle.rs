//! Nagle's algorithm: small segments wait, so that many small writes share a packet. A segment is
//! small if it is not full.
//!
//! - RFC 9293, section 3.7.4 (originally RFC 896): a small segment waits while any data is
//!   unacknowledged.
//! - G. Minshall, "A Proposed Modification to Nagle's Algorithm", draft-minshall-nagle-01 (1999): a
//!   small segment waits only while an earlier small segment is unacknowledged. The last part of a
//!   large write then leaves at once, without waiting for a round trip or a delayed acknowledgment.
//!   Linux has this rule.

use super::Config;

/// The state of Nagle's algorithm for one connection.
#[derive(Clone, Copy, Debug)]
pub struct Nagle {
    on: bool,
    /// True if only small segments in flight count.
    small_only: bool,
    /// Position after the last small segment that was sent.
    small: u64,
}

impl Nagle {
    /// Creates the state of a connection that has sent nothing.
    pub fn new(config: &Config) -> Nagle {
        Nagle { on: config.nagle, small_only: config.minshall, small: 0 }
    }

    /// Returns true if a small segment must wait; `una` is the first unacknowledged position and
    /// `next` the next one to send.
    #[inline]
    pub fn holds(&self, una: u64, next: u64) -> bool {
        self.on && una < if self.small_only { self.small } else { next }
    }

    /// Records that a segment with the data from `start` to `end` leaves for the first time; `size`
    /// is the size of a full segment.
    #[inline]
    pub fn sent(&mut self, start: u64, end: u64, size: u64) {
        if end - start < size {
            self.small = end;
        }
    }
}
