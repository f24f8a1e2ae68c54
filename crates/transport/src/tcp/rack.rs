//! Loss detection by time (RACK, RFC 8985, section 6): a segment is lost if a segment sent after it
//! has been delivered, and a reordering window has passed since it should have arrived.
//!
//! - The border is the delivered segment with the latest transmission time (section 6.2, steps 1
//!   and 2). RACK's round-trip time is that of the segment examined last: in Linux the highest
//!   segment acknowledged cumulatively, or else by SACK. A retransmission counts only if it was
//!   sent at least the minimum round-trip time ago, and, if it is acknowledged cumulatively, not
//!   after the echoed timestamp. As in Linux, the timestamp is not checked for SACKed segments:
//!   after a hole it is that of the last segment in order (RFC 7323, section 4.3).
//! - The reordering window (step 4) is 0 while no reordering has been seen and either recovery is
//!   in progress or three segments are SACKed. Otherwise it is a quarter of the minimum round-trip
//!   time times a multiplier, at most the smoothed round-trip time. The multiplier counts the round
//!   trips in which duplicate SACKs showed a retransmission to be spurious. It returns to one after
//!   16 recoveries without such a duplicate SACK. As in Linux since 5.15 (commit "tcp: more
//!   accurately check DSACKs to grow RACK reordering window"), a duplicate SACK counts only after
//!   reordering, and not if it answers a probe.
//! - Segments that are not yet lost set a timer (step 5).
//! - Once reordering has spanned more than three segments, the congestion window also grows by
//!   SACKed segments, as in Linux since 3.13 (commit "tcp: increase throughput when reordering is
//!   high"; RFC 5681 lets it grow only by data in order). A time-out in state Disorder with three
//!   segments SACKed resets this extent of reordering to three.
//!
//! The scoreboard keeps transmissions in order of time, so an acknowledgment examines only the
//! segments that it finds lost or delivered, and one more.

use super::scoreboard::{Border, Timed, DUP_THRESH};
use bentpipe_congestion::interface::{State, CA_RECOVERY};
use bentpipe_core::{Span, Time};

/// Number of recoveries for which a wider reordering window lasts (RFC 8985, section 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// Maximum extent of reordering in segments (Linux's tcp_max_reordering).
const MAX_EXTENT: u32 = 300;

/// The state of RACK (section 5.3).
#[derive(Clone, Debug)]
pub struct Rack {
    /// Transmission time and end of the delivered segment that was sent last.
    latest: Option<(Time, u64)>,
    rtt: Span,
    reordering_seen: bool,
    /// Extent of reordering (RFC 4737): number of segments that reordering has spanned, at least
    /// three.
    extent: u32,
    /// Multiplier of the reordering window.
    multiplier: u32,
    persistence: u8,
    /// End of the round trip in which a duplicate SACK has been counted.
    round_end: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            latest: None,
            rtt: Span::ZERO,
            reordering_seen: false,
            extent: DUP_THRESH,
            multiplier: 1,
            persistence: 0,
            round_end: 0,
        }
    }
}

impl Rack {
    /// Handles the segments that an acknowledgment delivers.
    #[inline]
    pub fn update(&mut self, now: Time, timed: &Timed) {
        self.rtt = now.since(timed.last.2);
        self.latest = self.latest.max(Some(timed.newest));
    }

    /// Records that a segment was delivered for the first time after one above it (step 3). It
    /// begins `bytes` before the end of the highest one.
    pub fn record_reordering(&mut self, bytes: u64, state: &State) {
        self.reordering_seen = true;
        let segments = u32::try_from(bytes.div_ceil(state.mss_cache.max(1).into())).unwrap_or(u32::MAX);
        self.extent = self.extent.max(segments.min(MAX_EXTENT));
    }

    /// Returns true once reordering was seen. The window then also grows by SACKed segments.
    #[inline]
    pub fn grows_by_sacked(&self) -> bool {
        self.extent > DUP_THRESH
    }

    /// Handles a time-out in state Open or Disorder: with this many segments SACKed, the extent was
    /// overestimated.
    pub fn timed_out(&mut self, sacked: u32) {
        if sacked >= DUP_THRESH {
            self.extent = DUP_THRESH;
        }
    }

    /// Handles a duplicate SACK of a segment that was not a probe. `una` and `nxt` as in RFC 9293.
    pub fn record_duplicate(&mut self, una: u64, nxt: u64) {
        if self.reordering_seen && una >= self.round_end {
            self.round_end = nxt;
            self.multiplier = (self.multiplier + 1).min(255);
            self.persistence = PERSISTENCE;
        }
    }

    /// Records that a recovery has ended without an undo.
    pub fn recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.multiplier = 1;
        }
    }

    /// Returns the border between segments that may be lost and others; `None` before the first
    /// delivery.
    #[inline]
    pub fn border(&self, state: &State) -> Option<Border> {
        let (sent, end) = self.latest?;
        Some(Border { sent, end, loss_delay: self.rtt + self.window(state) })
    }

    fn window(&self, state: &State) -> Span {
        if !self.reordering_seen && (state.ca_state >= CA_RECOVERY || state.sacked_out >= DUP_THRESH) {
            return Span::ZERO;
        }
        if state.rtt_min_us == u32::MAX {
            return Span::ZERO;
        }
        let window = u64::from(state.rtt_min_us) * u64::from(self.multiplier) / 4;
        Span::from_micros(window.min(u64::from(state.srtt_us / 8)))
    }
}
