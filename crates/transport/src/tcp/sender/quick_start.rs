//! Quick-Start (RFC 4782, section 4): the sender starts at a rate that the path has granted.
//!
//! - The window is the data that the rate carries in a round-trip time, headers included: R T /
//!   (MSS + H) segments (section 4.4), if that exceeds the initial window. Segments are paced at
//!   the rate.
//! - The first acknowledgment of data ends this phase. The window becomes the data in flight, if
//!   that is less, but at least the initial window, and slow start continues.
//! - If data sent at the granted rate is lost, the grant was too high. After the recovery the
//!   window is the initial one, and slow start continues up to the threshold set by the recovery
//!   (section 4.6).
//!
//! Deviations: the rate is not reported back to the routers (section 3.2; only routers that police
//! the rate use the report), and a grant does not expire before data is sent.

use crate::sending::pacing::Pacing;
use bentpipe_congestion::interface::{State, CA_OPEN, CA_RECOVERY, PACING_NEEDED, PACING_NONE};
use bentpipe_core::{Span, Time};

/// The state of Quick-Start at a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum QuickStart {
    /// No grant, or the grant is over.
    #[default]
    Off,
    /// Sending at the granted rate; `paced` if the connection was paced before.
    Begins { paced: bool },
    /// Data sent at the granted rate ends at this position and is not yet acknowledged completely.
    Watches { end: u64 },
    /// A part of that data was lost; the recovery is in progress.
    Failed,
}

impl QuickStart {
    /// Handles a grant of a rate in bit/s for packets of `packet` bytes.
    pub fn granted(
        now: Time,
        (bits, packet): (u64, u64),
        rtt: Span,
        state: &mut State,
        pacing: &mut Pacing,
    ) -> QuickStart {
        let rate = bits / 8;
        let window =
            (u128::from(rate) * u128::from(rtt.as_nanos()) / 1_000_000_000 / u128::from(packet)) as u64;
        if window <= u64::from(state.snd_cwnd) {
            return QuickStart::Off;
        }
        state.snd_cwnd = window.min(state.snd_cwnd_clamp.into()) as u32;
        let paced = state.sk_pacing_status != PACING_NONE;
        if !paced {
            state.sk_pacing_status = PACING_NEEDED;
        }
        state.sk_pacing_rate = rate * u64::from(state.mss_cache) / packet;
        pacing.without_unpaced_start(now);
        QuickStart::Begins { paced }
    }

    #[inline]
    pub fn is_off(self) -> bool {
        self == QuickStart::Off
    }

    /// Handles the acknowledgment of data up to `una`. `in_flight` is the number of segments in
    /// flight before it, `nxt` the end of the data sent so far, and `initial` the initial window
    /// without a grant.
    pub fn acknowledged(&mut self, una: u64, nxt: u64, in_flight: u32, initial: u32, state: &mut State) {
        if let QuickStart::Begins { paced } = *self {
            state.snd_cwnd = state.snd_cwnd.min(in_flight.max(initial));
            if !paced {
                state.sk_pacing_status = PACING_NONE;
                state.sk_pacing_rate = u64::MAX;
            }
            *self = QuickStart::Watches { end: nxt };
        }
        if matches!(self, QuickStart::Watches { end } if una >= *end) {
            *self = QuickStart::Off;
        }
    }

    /// Updates the state after an acknowledgment has been processed.
    pub fn settled(&mut self, initial: u32, state: &mut State) {
        match self {
            QuickStart::Watches { .. } if state.ca_state == CA_RECOVERY => *self = QuickStart::Failed,
            QuickStart::Failed if state.ca_state == CA_OPEN => {
                state.snd_cwnd = state.snd_cwnd.min(initial);
                *self = QuickStart::Off;
            }
            // After a time-out, the window is one segment anyway.
            QuickStart::Failed | QuickStart::Watches { .. } if state.ca_state > CA_RECOVERY => {
                *self = QuickStart::Off
            }
            _ => {}
        }
    }
}
