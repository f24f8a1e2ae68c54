//! Loss recovery: from what acknowledgments and time-outs tell to congestion states, reductions of the window
//! and permission to send again. The states and their order are those of Linux' `tcp_fastretrans_alert`,
//! `tcp_process_loss` and `tcp_enter_loss`, so that the congestion control's operations are called when Linux
//! calls them; the algorithms are those of the RFCs:
//!
//! - **NewReno** (RFC 6582), without SACK. The third duplicate acknowledgment starts recovery and resends the
//!   first segment; each partial acknowledgment resends the next. The window of RFC 6582 that is inflated by
//!   duplicate and deflated by partial acknowledgments is not kept as such: duplicate acknowledgments count
//!   as `sacked_out`, one segment each, so that sending while `in_flight < cwnd = ssthresh` allows exactly
//!   what inflation allows. The retransmission timer is restarted by every partial acknowledgment (the RFC's
//!   Slow-but-Steady variant), and a new recovery starts only above `recover` (its section 3.2, step 1; after
//!   a time-out, section 4.1). At the end the window is min(ssthresh, flight + 1): step 3, option 1, so that
//!   no burst leaves.
//! - **SACK** (RFC 6675). Recovery starts when a segment is lost by [`super::scoreboard`]'s rule; the first
//!   is resent at once, all others as the pipe falls below cwnd = ssthresh, lost ones before new data.
//! - **Time-out** (RFC 5681, section 3.1; RFC 6298, section 5). cwnd = 1, everything not SACKed is lost and
//!   resent in order in slow start; acknowledgments of what the receiver already holds shorten the repair.
//!
//! In all states before recovery each duplicate acknowledgment lets one new segment go, as in Linux (limited
//! transmit, RFC 3042, for the first two).
//!
//! Deviations from Linux: the window is ssthresh from the start of recovery (RFC 6675, section 5, step 4.2)
//! instead of reduced in proportion (PRR); no undo of reductions, so `undo_cwnd` is not called; no ECN, so
//! the state CWR does not occur; a lost retransmission is found by the time-out only.

use super::congestion::{
    Congestion, Event, State, CA_CWR, CA_DISORDER, CA_LOSS, CA_OPEN, CA_RECOVERY, INFINITE_SSTHRESH,
};
use super::scoreboard::{in_flight, Scoreboard, Tally, DUP_THRESH};

/// What recovery works on; the sender lends it for a call.
pub struct Parts<'a> {
    /// The congestion control's view.
    pub state: &'a mut State,
    /// The congestion control.
    pub congestion: &'a mut dyn Congestion,
    /// What is out.
    pub scoreboard: &'a mut Scoreboard,
    /// First unacknowledged position.
    pub una: u64,
    /// Next position to be sent for the first time.
    pub nxt: u64,
}

/// Loss recovery of one connection.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Whether selective acknowledgments are in use.
    sack: bool,
    /// `nxt` when the state last changed (Linux' `high_seq`): the state ends when this is acknowledged.
    high: u64,
    /// RFC 6582's `recover`, as the position after it: no NewReno recovery starts before more is
    /// acknowledged.
    recover: u64,
    /// One lost segment may be sent whatever the window says.
    forced: bool,
    /// The latest time-out has not been followed by an acknowledgment of new data.
    timeouts: u32,
}

impl Recovery {
    /// For a connection with or without selective acknowledgments.
    pub fn new(sack: bool) -> Recovery {
        Recovery { sack, ..Recovery::default() }
    }

    /// Whether selective acknowledgments are in use.
    #[inline]
    pub fn uses_sack(&self) -> bool {
        self.sack
    }

    /// Whether the next lost segment may be sent whatever the window says.
    #[inline]
    pub fn forced(&self) -> bool {
        self.forced
    }

    /// Notes that a lost segment was sent again.
    #[inline]
    pub fn resent(&mut self) {
        self.forced = false;
    }

    /// Time-outs since the last acknowledgment of new data.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// New data was acknowledged: `acked` segments. Without SACK, the first filled the hole and the others
    /// had each caused a duplicate acknowledgment (Linux' `tcp_remove_reno_sacks`). Returns how many were
    /// delivered newly.
    #[inline]
    pub fn advanced(&mut self, state: &mut State, tally: &Tally) -> u32 {
        self.timeouts = 0;
        if self.sack || state.sacked_out == 0 {
            return tally.acked - tally.sacked_before;
        }
        let delivered = tally.acked.saturating_sub(state.sacked_out).max(1);
        state.sacked_out = state.sacked_out.saturating_sub(tally.acked.saturating_sub(1));
        limit_reno_sacked(state);
        delivered
    }

    /// Whether an acknowledgment needs [`Recovery::alert`] (Linux' `tcp_ack_is_dubious`).
    #[inline]
    pub fn is_dubious(&self, state: &State, tally: &Tally, duplicate: bool) -> bool {
        duplicate || tally.sacked > 0 || state.ca_state != CA_OPEN
    }

    /// An acknowledgment that is duplicate, carries news of SACK, or comes in a state other than Open.
    /// Returns segments that it told to be delivered and that were not counted yet.
    pub fn alert(&mut self, parts: &mut Parts, advanced: bool, duplicate: bool) -> u32 {
        let mut delivered = 0;
        if parts.una >= self.high {
            match parts.state.ca_state {
                CA_RECOVERY => self.leave_recovery(parts),
                CA_LOSS => {
                    self.reset_reno_sacks(parts.state);
                    change(parts, CA_OPEN);
                }
                _ => {}
            }
        }
        match parts.state.ca_state {
            CA_RECOVERY => {
                if self.sack {
                    parts.scoreboard.mark_lost(parts.state);
                } else if advanced {
                    parts.scoreboard.mark_first_lost(parts.state);
                    self.forced = true;
                } else if duplicate {
                    delivered += self.add_reno_sack(parts);
                }
            }
            CA_LOSS => {
                if !self.sack {
                    if advanced {
                        self.reset_reno_sacks(parts.state);
                    } else if duplicate && parts.nxt > self.high {
                        delivered += self.add_reno_sack(parts);
                    }
                }
            }
            _ => {
                if self.sack {
                    parts.scoreboard.mark_lost(parts.state);
                } else {
                    if advanced {
                        self.reset_reno_sacks(parts.state);
                    }
                    if duplicate && parts.una > self.recover {
                        delivered += self.add_reno_sack(parts);
                    }
                }
                if self.is_time_to_recover(parts.state) {
                    self.enter_recovery(parts);
                } else {
                    self.open_or_disorder(parts);
                }
            }
        }
        delivered
    }

    /// The retransmission timer expired (Linux' `tcp_enter_loss`). The caller backs the timer off.
    pub fn enter_loss(&mut self, parts: &mut Parts) {
        self.reset_reno_sacks(parts.state);
        parts.scoreboard.mark_all_lost(parts.state);
        let ca_state = parts.state.ca_state;
        // Once per window: not for time-outs of what was sent before the last reduction.
        if ca_state <= CA_DISORDER || parts.una >= self.high || (ca_state == CA_LOSS && self.timeouts == 0) {
            reduce(parts);
            parts.congestion.cwnd_event(parts.state, Event::Loss);
        }
        parts.state.snd_cwnd = in_flight(parts.state) + 1;
        parts.state.snd_cwnd_cnt = 0;
        change(parts, CA_LOSS);
        self.high = parts.nxt;
        self.recover = parts.nxt;
        self.forced = false;
        self.timeouts += 1;
    }

    fn is_time_to_recover(&self, state: &State) -> bool {
        state.lost_out > 0 || (!self.sack && state.sacked_out >= DUP_THRESH)
    }

    fn enter_recovery(&mut self, parts: &mut Parts) {
        self.high = parts.nxt;
        self.recover = parts.nxt;
        reduce(parts);
        change(parts, CA_RECOVERY);
        if !parts.congestion.has_cong_control() {
            parts.state.snd_cwnd = parts.state.snd_ssthresh;
            parts.state.snd_cwnd_cnt = 0;
        }
        if !self.sack {
            parts.scoreboard.mark_first_lost(parts.state);
            limit_reno_sacked(parts.state);
        }
        self.forced = true;
    }

    fn leave_recovery(&mut self, parts: &mut Parts) {
        self.reset_reno_sacks(parts.state);
        self.forced = false;
        change(parts, CA_OPEN);
        if !parts.congestion.has_cong_control() {
            let state = &mut *parts.state;
            if state.snd_ssthresh < INFINITE_SSTHRESH {
                let flight = in_flight(state).max(1) + 1;
                state.snd_cwnd = if self.sack { state.snd_ssthresh } else { state.snd_ssthresh.min(flight) };
            }
            parts.congestion.cwnd_event(parts.state, Event::CompleteCwr);
        }
    }

    fn open_or_disorder(&mut self, parts: &mut Parts) {
        let state = &*parts.state;
        let disorder = state.sacked_out + state.lost_out > 0
            || state.retrans_out > 0
            || parts.scoreboard.first_was_resent();
        let target = if disorder { CA_DISORDER } else { CA_OPEN };
        if state.ca_state != target {
            change(parts, target);
            self.high = parts.nxt;
        }
    }

    /// Counts a duplicate acknowledgment; returns the segment that it told to be delivered.
    fn add_reno_sack(&self, parts: &mut Parts) -> u32 {
        let before = parts.state.sacked_out;
        parts.state.sacked_out += 1;
        limit_reno_sacked(parts.state);
        parts.state.sacked_out - before
    }

    fn reset_reno_sacks(&self, state: &mut State) {
        if !self.sack {
            state.sacked_out = 0;
        }
    }
}

/// Without SACK there is at least one hole among the segments out (Linux' `tcp_limit_reno_sacked`).
fn limit_reno_sacked(state: &mut State) {
    let holes = state.lost_out.max(1).min(state.packets_out);
    state.sacked_out = state.sacked_out.min(state.packets_out - holes);
}

/// Asks the congestion control for the new slow-start threshold.
fn reduce(parts: &mut Parts) {
    let state = &mut *parts.state;
    // Linux' tcp_current_ssthresh: what undoing the reduction would go back to.
    state.prior_ssthresh = match state.ca_state {
        CA_CWR | CA_RECOVERY => state.snd_ssthresh,
        _ => state.snd_ssthresh.max((state.snd_cwnd >> 1) + (state.snd_cwnd >> 2)),
    };
    state.prior_cwnd = state.snd_cwnd;
    let ssthresh = parts.congestion.ssthresh(parts.state);
    parts.state.snd_ssthresh = ssthresh;
}

fn change(parts: &mut Parts, ca_state: u32) {
    parts.congestion.set_state(parts.state, ca_state);
    parts.state.ca_state = ca_state;
}
