//! Tail loss probe (RFC 8985, section 7). If no acknowledgments arrive, one segment is sent before
//! the time-out. The segment has new data, or is a retransmission of the last segment. Its
//! acknowledgment can then start a recovery.
//!
//! The probe time-out (section 7.2) is 2 SRTT. For a single segment in flight, the maximum delay of
//! acknowledgments at the receiver, 200 ms, is added. It is never later than the retransmission
//! time-out. Probes are sent only in the state Open, one at a time (section 7.3). If a probe
//! retransmitted a segment and is acknowledged without a duplicate SACK, the segment had been lost,
//! so the window is reduced once (section 7.4).

use super::undo::Dsack;
use bentpipe_congestion::interface::State;
use bentpipe_core::Span;

/// Maximum delay of an acknowledgment by the receiver (WCDelAckT of section 7.2).
const DELAYED_ACK: Span = Span::from_millis(200);
/// Wait that Linux adds if several segments are in flight, so that an acknowledgment that is due at
/// the same time arrives first.
const MARGIN: Span = Span::from_millis(2);

/// The probe of one connection.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    /// `nxt` at the time of an unanswered probe, and true if the probe was a retransmission.
    outstanding: Option<(u64, bool)>,
}

/// The information of an acknowledgment about a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No information about the probe.
    Nothing,
    /// A loss that the probe repaired.
    Repaired,
}

impl Probe {
    /// Returns the wait after the last transmission or acknowledgment, not limited by the time-out.
    #[inline]
    pub fn wait(state: &State) -> Span {
        if state.srtt_us == 0 {
            return Span::from_secs(1);
        }
        let twice = Span::from_micros(u64::from(state.srtt_us) / 4);
        twice + if state.packets_out == 1 { DELAYED_ACK } else { MARGIN }
    }

    /// Returns true if a probe is unanswered.
    #[inline]
    pub fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Returns true if the unanswered probe may be the segment that arrived twice.
    pub fn explains(&self, dsack: &Dsack) -> bool {
        self.outstanding.is_some_and(|(end, _)| end == dsack.end)
    }

    /// Records a probe; `resent` if it was a retransmission.
    pub fn sent(&mut self, nxt: u64, resent: bool) {
        self.outstanding = Some((nxt, resent));
    }

    /// Discards the probe, because a recovery makes its answer meaningless.
    pub fn forget(&mut self) {
        self.outstanding = None;
    }

    /// Handles an acknowledgment of `position`; `pure_duplicate` if it contains no other
    /// information.
    pub fn answered(&mut self, position: u64, dsack: bool, pure_duplicate: bool) -> Answer {
        let Some((end, resent)) = self.outstanding.filter(|(end, _)| position >= *end) else {
            return Answer::Nothing;
        };
        let repaired = resent && !dsack && position > end;
        if !resent || dsack || repaired || pure_duplicate {
            self.outstanding = None;
        }
        if repaired {
            Answer::Repaired
        } else {
            Answer::Nothing
        }
    }
}
