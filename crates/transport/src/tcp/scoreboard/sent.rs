//! A segment in the retransmission queue.

use bentpipe_core::Time;

/// The segment is selectively acknowledged.
pub(super) const SACKED: u8 = 1;
/// The segment is marked lost.
pub(super) const LOST: u8 = 2;
/// The segment was retransmitted since it was marked lost.
pub(super) const RESENT: u8 = 4;
/// The segment was retransmitted at any time, so that it gives no round-trip time sample (Karn).
pub(super) const EVER_RESENT: u8 = 8;
/// RACK has found the last transmission lost and does not examine it again (Linux removes it from
/// `tsorted_sent_queue`).
pub(super) const EXAMINED: u8 = 16;
/// The segment is the first of a packet in the send buffer ([`super::Packets`]), which is a burst
/// or part of one.
pub(super) const BEGINS: u8 = 32;
/// The segment ends the data that the application has handed over: it and all its retransmissions
/// have PSH.
pub(super) const PUSHED: u8 = 64;
/// The marks that are unrelated to losses.
pub(super) const OF_BURSTS: u8 = BEGINS | PUSHED;

/// A segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    /// Time of the last transmission.
    pub at: Time,
    pub length: u32,
    pub marks: u8,
}

impl Sent {
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    #[inline]
    pub fn is(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }

    /// Returns true if the segment is lost and has not been retransmitted since.
    #[inline]
    pub fn waits(&self) -> bool {
        self.marks & (LOST | RESENT) == LOST
    }

    /// Returns true if the last transmission may still arrive: neither SACKed nor marked lost.
    #[inline]
    pub fn is_in_network(&self) -> bool {
        !self.is(SACKED) && !self.waits()
    }
}
