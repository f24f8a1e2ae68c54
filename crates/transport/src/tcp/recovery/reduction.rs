//! Reductions of the window: start, progress, end and undo.

use super::{Method, Parts, Prr, RateHalving, Recovery};
use crate::sending::{in_flight, reduce};
use crate::tcp::config::Config;
use bentpipe_congestion::interface::{Event, State, CA_CWR, INFINITE_SSTHRESH};

/// The method by which the window falls to ssthresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reduction {
    AtOnce,
    Proportional,
    RateHalving,
}

impl Reduction {
    pub fn of(config: &Config, method: Method) -> Reduction {
        match method {
            Method::Tahoe => Reduction::AtOnce,
            _ if config.proportional_reduction => Reduction::Proportional,
            _ if config.rate_halving => Reduction::RateHalving,
            _ => Reduction::AtOnce,
        }
    }
}

impl Recovery {
    /// In recovery or CWR, adjusts the window to an acknowledgment that delivered this many
    /// segments (Linux's `tcp_cwnd_reduction`); `losses` if it reported new ones.
    #[inline]
    pub fn follow(&mut self, state: &mut State, delivered: u32, advanced: bool, losses: bool) {
        match self.reduction {
            Reduction::AtOnce => {}
            Reduction::Proportional => self.prr.acknowledge(delivered, advanced && !losses, state),
            Reduction::RateHalving => self.halving.acknowledge(delivered, state),
        }
    }

    /// Starts a reduction (Linux's `tcp_init_cwnd_reduction`).
    pub(super) fn begin_reduction(&mut self, parts: &mut Parts) {
        self.high = parts.nxt;
        self.probe.forget();
        self.prr = Prr::default();
        self.halving = RateHalving::default();
        self.reduced = true;
        parts.state.snd_cwnd_cnt = 0;
        reduce(parts.state, parts.congestion);
    }

    /// Ends a reduction (Linux's `tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction(&mut self, parts: &mut Parts) {
        if parts.congestion.has_cong_control() {
            return;
        }
        let state = &mut *parts.state;
        if state.snd_ssthresh < INFINITE_SSTHRESH && (state.ca_state == CA_CWR || self.undo.is_open()) {
            let burst = self.reduction == Reduction::AtOnce && !self.uses_sack();
            let limit = match self.reduction {
                _ if burst => in_flight(state).max(1) + 1,
                Reduction::RateHalving => state.snd_cwnd,
                _ => u32::MAX,
            };
            state.snd_cwnd = state.snd_ssthresh.min(limit);
        }
        parts.congestion.cwnd_event(parts.state, Event::CompleteCwr);
    }

    /// Undoes a spurious reduction (Linux's `tcp_undo_cwnd_reduction`).
    pub(super) fn undo_reduction(&mut self, parts: &mut Parts, unmark: bool) {
        if unmark {
            parts.scoreboard.unmark_lost(parts.state);
        }
        if parts.state.prior_ssthresh > 0 {
            parts.state.snd_cwnd = parts.congestion.undo_cwnd(parts.state);
            parts.state.snd_ssthresh = parts.state.snd_ssthresh.max(parts.state.prior_ssthresh);
        }
        self.undo.end();
        self.forced = false;
    }
}

/// Limits `sacked_out`: without SACK there is at least one hole among the outstanding segments
/// (Linux's `tcp_limit_reno_sacked`).
pub(super) fn limit_reno_sacked(state: &mut State) {
    let holes = state.lost_out.max(1).min(state.packets_out);
    state.sacked_out = state.sacked_out.min(state.packets_out - holes);
}

pub(super) fn change(parts: &mut Parts, ca_state: u32) {
    parts.congestion.set_state(parts.state, ca_state);
    parts.state.ca_state = ca_state;
}
