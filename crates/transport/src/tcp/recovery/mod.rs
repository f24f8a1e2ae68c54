//! Loss recovery: determines congestion states, window reductions and retransmissions from
//! acknowledgments and time-outs. The states and their order are those of Linux's
//! `tcp_fastretrans_alert`, `tcp_process_loss` and `tcp_enter_loss`, so the congestion control's
//! operations are called as in Linux. The algorithms are those of the RFCs:
//!
//! - **RACK** (RFC 8985). Recovery starts when a segment, possibly a retransmission, is lost by
//!   [`super::rack`]'s rule; lost segments are sent before new data.
//! - **SNACK** (CCSDS 714.0-B-2, [`super::snack`]). Data that the receiver names as missing is lost
//!   at once. A retransmission is lost if the receiver still names it after 5/4 of the smoothed
//!   round-trip time. Only acknowledgments of new data give round-trip times, because a negative
//!   one may report segments long after their arrival. A SNACK reports the first 128 segments above
//!   a hole. Beyond them, each duplicate acknowledgment without other information reports the
//!   arrival of one segment (RFC 5681, section 3.2, step 4), so that arrived segments do not count
//!   as in flight.
//! - **SACK** (RFC 6675). Like RACK, with the rule of [`super::scoreboard`]. The first lost segment
//!   is retransmitted at once.
//! - **NewReno** (RFC 6582), without SACK. The third duplicate acknowledgment starts recovery and
//!   retransmits the first segment; each partial acknowledgment retransmits the next. RFC 6582
//!   inflates the window by duplicate and deflates it by partial acknowledgments. Here duplicate
//!   acknowledgments count as `sacked_out` instead, one segment each. Sending while `in_flight <
//!   cwnd = ssthresh` then permits exactly the same segments. The retransmission timer is restarted
//!   by every partial acknowledgment (the RFC's Slow-but-Steady variant). A new recovery starts
//!   only above `recover` (section 3.2, step 1; after a time-out, section 4.1). At the end the
//!   window is min(ssthresh, flight + 1), which prevents a burst (step 3, option 1).
//! - **Reno** (RFC 5681, section 3.2): the first acknowledgment of new data ends recovery, even if
//!   losses remain unrepaired, and three more duplicates may start the next.
//! - **Tahoe** (Jacobson, "Congestion Avoidance and Control", 1988): the third duplicate
//!   acknowledgment has the effect of a time-out, but without the wait and the back-off.
//! - **Time-out** (RFC 5681, section 3.1; RFC 6298, section 5). cwnd = 1. All segments that are not
//!   SACKed are lost (with RACK only those sent long enough ago, RFC 8985, section 6.3) and are
//!   retransmitted in order, in slow start. Acknowledgments of data that the receiver already has
//!   shorten the repair.
//!
//! The window falls to ssthresh at once (RFC 6675, section 5, step 4.2), in proportion to the
//! delivered data ([`crate::sending::prr`]), or with every second acknowledgment
//! ([`super::rate_halving`]). F-RTO (RFC 5682, section 3) detects spurious time-outs. Timestamps or
//! duplicate SACKs reveal any spurious reduction ([`super::undo`]).
//!
//! In all states before recovery, each duplicate acknowledgment permits one new segment, as in
//! Linux (limited transmit, RFC 3042, for the first two).

mod reduction;
mod states;

use super::config::{Config, Recovery as Method};
use super::probe::{Answer, Probe};
use super::rack::Rack;
use super::rate_halving::RateHalving;
use super::scoreboard::{Border, Scoreboard, Tally};
use super::undo::{Dsack, Undo};
use crate::sending::prr::Prr;
use bentpipe_congestion::interface::{Congestion, State, CA_CWR, CA_OPEN, CA_RECOVERY};
use bentpipe_core::Time;
use reduction::{change, limit_reno_sacked, Reduction};

/// The parts of a sender on which recovery works, borrowed for a call.
pub struct Parts<'a> {
    /// The congestion control's view of the connection.
    pub state: &'a mut State,
    /// The congestion control of the connection.
    pub congestion: &'a mut dyn Congestion,
    /// The scoreboard of outstanding segments.
    pub scoreboard: &'a mut Scoreboard,
    /// Time of the present call.
    pub now: Time,
    /// Position of the first unacknowledged byte.
    pub una: u64,
    /// Next position to be sent for the first time.
    pub nxt: u64,
}

/// The information of an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub struct AckInfo<'a> {
    /// Changes of the outstanding segments.
    pub tally: &'a Tally,
    /// True if the acknowledgment covers new data.
    pub advanced: bool,
    /// Position of the first byte that was unacknowledged before this acknowledgment.
    pub from: u64,
    /// True for a duplicate acknowledgment (RFC 5681, section 2).
    pub duplicate: bool,
    /// Data reported as received twice.
    pub dsack: Option<Dsack>,
    /// Time at which the echoed timestamp was sent.
    pub echo: Option<Time>,
    /// True if the acknowledgment echoes congestion (RFC 3168).
    pub ece: bool,
}

/// Loss recovery of one connection.
#[derive(Clone, Debug)]
pub struct Recovery {
    method: Method,
    reduction: Reduction,
    undoes: bool,
    detects_spurious: bool,
    probes: bool,
    /// `nxt` at the last change of state (Linux's `high_seq`): the state ends when this position is
    /// acknowledged.
    high: u64,
    /// RFC 6582's `recover`, as the position after it: no NewReno recovery starts before data above
    /// it is acknowledged.
    recover: u64,
    /// True if one lost segment may be sent regardless of the window.
    forced: bool,
    /// True if lost segments wait for the next acknowledgment or time-out, because segments that
    /// filled holes were late, not lost.
    holds_lost: bool,
    /// Number of time-outs since the last acknowledgment of new data.
    timeouts: u32,
    /// True while the last time-out may be spurious.
    doubtful: bool,
    prr: Prr,
    halving: RateHalving,
    rack: Rack,
    undo: Undo,
    probe: Probe,
    /// True if the window was reduced and the other end has not been informed (RFC 3168, section
    /// 6.1.2).
    reduced: bool,
    /// Time at which the first segment is lost by its age, if no acknowledgment arrives.
    overdue: Option<Time>,
    /// RACK's border when `overdue` was computed. The reordering window may have changed since.
    border: Border,
    /// Number of segments in `sacked_out` that have arrived without being identified by a SNACK.
    unreported: u32,
}

impl Recovery {
    /// Creates the state. Without an agreement on selective acknowledgments (`sack`), NewReno
    /// replaces the methods that need them.
    pub fn new(config: &Config, sack: bool) -> Recovery {
        let method = if config.recovery.needs_sack() && !sack { Method::Newreno } else { config.recovery };
        Recovery {
            method,
            reduction: Reduction::of(config, method),
            undoes: config.undo,
            detects_spurious: config.frto && sack,
            probes: config.tail_loss_probe && method == Method::Rack,
            high: 0,
            recover: 0,
            forced: false,
            holds_lost: false,
            timeouts: 0,
            doubtful: false,
            prr: Prr::default(),
            halving: RateHalving::default(),
            rack: Rack::default(),
            undo: Undo::default(),
            probe: Probe::default(),
            reduced: false,
            overdue: None,
            border: Border::default(),
            unreported: 0,
        }
    }

    /// Returns and resets the flag of a reduced window.
    #[inline]
    pub fn take_reduced(&mut self) -> bool {
        std::mem::take(&mut self.reduced)
    }

    /// Returns true if selective acknowledgments are in use.
    #[inline]
    pub fn uses_sack(&self) -> bool {
        self.method.needs_sack()
    }

    /// Returns true if losses are detected by time.
    pub fn is_timed(&self) -> bool {
        self.method == Method::Rack
    }

    /// Returns true if arrivals may be reported late, so that the report gives no round-trip time
    /// sample.
    #[inline]
    pub fn has_late_reports(&self) -> bool {
        self.method == Method::Snack
    }

    /// Returns true if the next lost segment may be sent regardless of the window.
    #[inline]
    pub fn forced(&self) -> bool {
        self.forced
    }

    /// Lets one lost segment be sent regardless of the window.
    pub fn force(&mut self) {
        self.forced = true;
    }

    /// Returns true if lost segments must not be sent now.
    #[inline]
    pub fn holds_lost(&self) -> bool {
        self.holds_lost
    }

    /// Records the first transmission of a segment.
    #[inline]
    pub fn sent(&mut self, state: &State) {
        if matches!(state.ca_state, CA_CWR | CA_RECOVERY) {
            self.prr.sent();
        }
    }

    /// Records the retransmission of a segment.
    #[inline]
    pub fn resent(&mut self, now: Time, state: &State) {
        self.forced = false;
        self.undo.resent(now);
        self.sent(state);
    }

    /// Returns the number of time-outs since the last acknowledgment of new data.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Returns true if new data must be sent before lost data, to test if the time-out was spurious
    /// (RFC 5682, section 3.1, step 2b).
    #[inline]
    pub fn prefers_new(&self) -> bool {
        self.doubtful && self.timeouts == 0
    }

    /// Records that no new data could be sent, which ends the test for a spurious time-out.
    pub fn no_new_data(&mut self, nxt: u64) {
        if nxt <= self.high {
            self.doubtful = false;
        }
    }

    /// Returns the time at which the first waiting segment will be lost by its age, if any.
    #[inline]
    pub fn overdue(&self) -> Option<Time> {
        self.overdue
    }

    /// Returns the time at which the last waiting segment will be lost by its age, which is the
    /// time of the next call of [`Recovery::recheck_losses`] (RFC 8985, section 6.2, step 5: the
    /// timer is set for the longest remaining time). Visits every outstanding segment.
    pub fn last_overdue(&self, scoreboard: &Scoreboard) -> Option<Time> {
        self.overdue?;
        scoreboard.last_overdue(&self.border)
    }

    /// Returns true if a probe may be scheduled.
    #[inline]
    pub fn may_probe(&self, state: &State) -> bool {
        self.probes && state.packets_out > 0 && matches!(state.ca_state, CA_OPEN | CA_CWR)
    }

    /// Returns the probe of this connection.
    pub fn probe_mut(&mut self) -> &mut Probe {
        &mut self.probe
    }

    /// Handles the acknowledgment of new data. Without SACK, the first acknowledged segment filled
    /// the hole, and each of the others had caused a duplicate acknowledgment (Linux's
    /// `tcp_remove_reno_sacks`). Returns the number of newly delivered segments.
    #[inline]
    pub fn advanced(&mut self, state: &mut State, tally: &Tally) -> u32 {
        self.timeouts = 0;
        if self.unreported > 0 {
            let before = self.revert_unreported(state);
            self.count_unreported(state, before.saturating_sub(tally.acked - tally.sacked_before));
        }
        if self.uses_sack() || state.sacked_out == 0 {
            return tally.acked - tally.sacked_before;
        }
        let delivered = tally.acked.saturating_sub(state.sacked_out).max(1);
        state.sacked_out = state.sacked_out.saturating_sub(tally.acked.saturating_sub(1));
        limit_reno_sacked(state);
        delivered
    }

    /// Records the information of an acknowledgment about the times of segments, in any state.
    #[inline]
    pub fn note_times(&mut self, now: Time, info: &AckInfo, scoreboard: &Scoreboard, state: &State) {
        self.overdue = None;
        if self.method == Method::Rack {
            if let Some(timed) = &info.tally.timed {
                self.rack.update(now, timed);
            }
            if let Some(start) = info.tally.reordered {
                self.rack.record_reordering(scoreboard.forward() - start, state);
            }
        }
    }

    /// Returns true once reordering was seen: the window then also grows by SACKed segments.
    #[inline]
    pub fn grows_by_sacked(&self) -> bool {
        self.method == Method::Rack && self.rack.grows_by_sacked()
    }

    /// Returns true if a tail loss probe is unanswered.
    #[inline]
    pub fn is_probing(&self) -> bool {
        self.probe.is_outstanding()
    }

    /// Records the information of an acknowledgment of `position` about a probe and about segments
    /// that arrived twice.
    pub fn note(&mut self, parts: &mut Parts, info: &AckInfo, position: u64) {
        if let Some(dsack) = &info.dsack {
            self.undo.explained(dsack, dsack.segments(parts.state.mss_cache));
            if !self.probe.explains(dsack) {
                self.rack.record_duplicate(parts.una, parts.nxt);
            }
        }
        if self.probe.is_outstanding() {
            let pure = info.duplicate && info.tally.sacked == 0;
            if self.probe.answered(position, info.dsack.is_some(), pure) == Answer::Repaired {
                self.begin_reduction(parts);
                change(parts, CA_CWR);
                self.end_reduction(parts);
                self.open_or_disorder(parts);
            }
        }
    }

    /// Returns true if an acknowledgment needs [`Recovery::alert`] (Linux's `tcp_ack_is_dubious`).
    #[inline]
    pub fn is_dubious(&self, state: &State, info: &AckInfo) -> bool {
        info.duplicate
            || info.tally.sacked > 0
            || state.ca_state != CA_OPEN
            || info.dsack.is_some()
            || info.ece
    }
}
