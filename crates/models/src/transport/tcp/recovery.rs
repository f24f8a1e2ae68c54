//! Loss recovery: from what acknowledgments and time-outs tell to congestion states, reductions of the window
//! and permission to send again. The states and their order are those of Linux' `tcp_fastretrans_alert`,
//! `tcp_process_loss` and `tcp_enter_loss`, so that the congestion control's operations are called when Linux
//! calls them; the algorithms are those of the RFCs:
//!
//! - **RACK** (RFC 8985). Recovery starts when a segment is lost by [`super::rack`]'s rule, also one that was sent
//!   again; lost ones go before new data.
//! - **SACK** (RFC 6675). The same with [`super::scoreboard`]'s rule; the first lost segment is resent at once.
//! - **NewReno** (RFC 6582), without SACK. The third duplicate acknowledgment starts recovery and resends the
//!   first segment; each partial acknowledgment resends the next. The window of RFC 6582 that is inflated by
//!   duplicate and deflated by partial acknowledgments is not kept as such: duplicate acknowledgments count
//!   as `sacked_out`, one segment each, so that sending while `in_flight < cwnd = ssthresh` allows exactly
//!   what inflation allows. The retransmission timer is restarted by every partial acknowledgment (the RFC's
//!   Slow-but-Steady variant), and a new recovery starts only above `recover` (its section 3.2, step 1; after
//!   a time-out, section 4.1). At the end the window is min(ssthresh, flight + 1): step 3, option 1, so that
//!   no burst leaves.
//! - **Reno** (RFC 5681, section 3.2): the first acknowledgment of new data ends recovery, whatever it leaves
//!   unrepaired, and three more duplicate ones may start the next.
//! - **Tahoe** (Jacobson, "Congestion Avoidance and Control", 1988): the third duplicate acknowledgment has the
//!   effect of a time-out without the wait and the back-off.
//! - **Time-out** (RFC 5681, section 3.1; RFC 6298, section 5). cwnd = 1, everything not SACKed is lost (with RACK
//!   what was sent long enough ago, RFC 8985, section 6.3) and resent in order in slow start; acknowledgments of
//!   what the receiver already holds shorten the repair.
//!
//! The window falls to ssthresh at once (RFC 6675, section 5, step 4.2) or in proportion ([`super::prr`]). A time-out
//! may be found spurious by F-RTO (RFC 5682, section 3), any reduction by timestamps or duplicate SACKs
//! ([`super::undo`]).
//!
//! In all states before recovery each duplicate acknowledgment lets one new segment go, as in Linux (limited
//! transmit, RFC 3042, for the first two).

use super::config::{Config, Recovery as Method};
use super::congestion::{
    Congestion, Event, State, CA_CWR, CA_DISORDER, CA_LOSS, CA_OPEN, CA_RECOVERY, INFINITE_SSTHRESH,
};
use super::probe::{Answer, Probe};
use super::prr::Prr;
use super::rack::Rack;
use super::scoreboard::{in_flight, Scoreboard, Tally, DUP_THRESH};
use super::undo::{Dsack, Undo};
use bentpipe_core::Time;

/// What recovery works on; the sender lends it for a call.
pub struct Parts<'a> {
    /// The congestion control's view.
    pub state: &'a mut State,
    /// The congestion control.
    pub congestion: &'a mut dyn Congestion,
    /// What is out.
    pub scoreboard: &'a mut Scoreboard,
    /// The present moment.
    pub now: Time,
    /// First unacknowledged position.
    pub una: u64,
    /// Next position to be sent for the first time.
    pub nxt: u64,
}

/// What an acknowledgment told.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Of the segments out.
    pub tally: &'a Tally,
    /// It acknowledges new data.
    pub advanced: bool,
    /// It is a duplicate (RFC 5681, section 2).
    pub duplicate: bool,
    /// It tells of data received twice.
    pub dsack: Option<Dsack>,
    /// When the timestamp that it echoes was sent.
    pub echo: Option<Time>,
    /// It echoes congestion (RFC 3168).
    pub ece: bool,
}

/// Loss recovery of one connection.
#[derive(Clone, Debug)]
pub struct Recovery {
    method: Method,
    /// Reduces the window in proportion.
    proportional: bool,
    undoes: bool,
    detects_spurious: bool,
    probes: bool,
    /// `nxt` when the state last changed (Linux' `high_seq`): the state ends when this is acknowledged.
    high: u64,
    /// RFC 6582's `recover`, as the position after it: no NewReno recovery starts before more is
    /// acknowledged.
    recover: u64,
    /// One lost segment may be sent whatever the window says.
    forced: bool,
    /// The latest time-out has not been followed by an acknowledgment of new data.
    timeouts: u32,
    /// It is not yet known whether the latest time-out was spurious.
    doubtful: bool,
    prr: Prr,
    rack: Rack,
    undo: Undo,
    probe: Probe,
    /// When a segment will be lost by its time, if nothing is heard of it.
    overdue: Option<Time>,
}

impl Recovery {
    /// Without an agreement on selective acknowledgments (`sack`) NewReno takes the place of what needs them.
    pub fn new(config: &Config, sack: bool) -> Recovery {
        let method = if config.recovery.needs_sack() && !sack { Method::Newreno } else { config.recovery };
        Recovery {
            method,
            proportional: config.proportional_reduction && method != Method::Tahoe,
            undoes: config.undo,
            detects_spurious: config.frto && sack,
            probes: config.tail_loss_probe && method == Method::Rack,
            high: 0,
            recover: 0,
            forced: false,
            timeouts: 0,
            doubtful: false,
            prr: Prr::default(),
            rack: Rack::default(),
            undo: Undo::default(),
            probe: Probe::default(),
            overdue: None,
        }
    }

    /// Whether selective acknowledgments are in use.
    #[inline]
    pub fn uses_sack(&self) -> bool {
        self.method.needs_sack()
    }

    /// Whether losses are found by time.
    pub fn is_timed(&self) -> bool {
        self.method == Method::Rack
    }

    /// Whether the next lost segment may be sent whatever the window says.
    #[inline]
    pub fn forced(&self) -> bool {
        self.forced
    }

    /// Notes that a segment was sent for the first time.
    #[inline]
    pub fn sent(&mut self, state: &State) {
        if matches!(state.ca_state, CA_CWR | CA_RECOVERY) {
            self.prr.sent();
        }
    }

    /// Notes that a segment was sent again.
    #[inline]
    pub fn resent(&mut self, now: Time, state: &State) {
        self.forced = false;
        self.undo.resent(now);
        self.sent(state);
    }

    /// Time-outs since the last acknowledgment of new data.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Whether new data must go before what is lost, to find out whether the time-out was spurious (RFC 5682,
    /// section 3.1, step 2b); `false` for `sent` when there was none, which ends the doubt.
    #[inline]
    pub fn prefers_new(&self) -> bool {
        self.doubtful && self.timeouts == 0
    }

    /// Nothing new could be sent.
    pub fn nothing_new(&mut self, nxt: u64) {
        if nxt <= self.high {
            self.doubtful = false;
        }
    }

    /// When to call [`Recovery::look_again`], if a segment waits for its time.
    #[inline]
    pub fn overdue(&self) -> Option<Time> {
        self.overdue
    }

    /// Whether a probe may be scheduled.
    #[inline]
    pub fn may_probe(&self, state: &State) -> bool {
        self.probes && state.packets_out > 0 && matches!(state.ca_state, CA_OPEN | CA_CWR)
    }

    /// The probe of this connection.
    pub fn probe_mut(&mut self) -> &mut Probe {
        &mut self.probe
    }

    /// New data was acknowledged: `acked` segments. Without SACK, the first filled the hole and the others
    /// had each caused a duplicate acknowledgment (Linux' `tcp_remove_reno_sacks`). Returns how many were
    /// delivered newly.
    #[inline]
    pub fn advanced(&mut self, state: &mut State, tally: &Tally) -> u32 {
        self.timeouts = 0;
        if self.uses_sack() || state.sacked_out == 0 {
            return tally.acked - tally.sacked_before;
        }
        let delivered = tally.acked.saturating_sub(state.sacked_out).max(1);
        state.sacked_out = state.sacked_out.saturating_sub(tally.acked.saturating_sub(1));
        limit_reno_sacked(state);
        delivered
    }

    /// Takes what an acknowledgment says of the times of segments and of a probe, whatever the state.
    #[inline]
    pub fn note(&mut self, parts: &mut Parts, facts: &Facts, position: u64) {
        self.overdue = None;
        if self.method == Method::Rack {
            if let Some(newest) = &facts.tally.newest {
                self.rack.update(parts.now, newest, facts.echo, parts.state);
            }
            if facts.tally.reordered {
                self.rack.saw_reordering();
            }
        }
        if let Some(dsack) = &facts.dsack {
            let segments = (dsack.end - dsack.start).div_ceil(u64::from(parts.state.mss_cache.max(1)));
            self.undo.explained(dsack, segments as u32);
            self.rack.saw_duplicate(parts.una, parts.nxt);
        }
        if self.probe.is_outstanding() {
            let pure = facts.duplicate && facts.tally.sacked == 0;
            if self.probe.answered(position, facts.dsack.is_some(), pure) == Answer::Repaired {
                self.begin_reduction(parts);
                change(parts, CA_CWR);
                self.end_reduction(parts);
                self.open_or_disorder(parts);
            }
        }
    }

    /// Whether an acknowledgment needs [`Recovery::alert`] (Linux' `tcp_ack_is_dubious`).
    #[inline]
    pub fn is_dubious(&self, state: &State, facts: &Facts) -> bool {
        facts.duplicate
            || facts.tally.sacked > 0
            || state.ca_state != CA_OPEN
            || facts.dsack.is_some()
            || facts.ece
    }

    /// An acknowledgment that is duplicate, carries news of SACK, or comes in a state other than Open.
    /// Returns segments that it told to be delivered and that were not counted yet.
    pub fn alert(&mut self, parts: &mut Parts, facts: &Facts) -> u32 {
        match parts.state.ca_state {
            CA_CWR if parts.una > self.high => {
                self.end_reduction(parts);
                change(parts, CA_OPEN);
            }
            CA_RECOVERY if parts.una >= self.high || (self.method == Method::Reno && facts.advanced) => {
                self.leave_recovery(parts, facts);
            }
            _ => {}
        }
        match parts.state.ca_state {
            CA_RECOVERY => self.in_recovery(parts, facts),
            CA_LOSS => self.in_loss(parts, facts),
            _ => self.before_recovery(parts, facts),
        }
    }

    fn before_recovery(&mut self, parts: &mut Parts, facts: &Facts) -> u32 {
        let mut delivered = 0;
        if !self.uses_sack() {
            if facts.advanced {
                self.reset_reno_sacks(parts.state);
            }
            if facts.duplicate && (parts.una > self.recover || self.method == Method::Reno) {
                delivered += self.add_reno_sack(parts);
            }
        }
        if parts.state.ca_state <= CA_DISORDER && self.undoes && self.undo.all_were_duplicates() {
            self.take_back(parts, false);
        }
        self.find_losses(parts);
        if self.is_time_to_recover(parts.state) {
            self.enter_recovery(parts, facts.ece);
        } else {
            if facts.ece {
                self.enter_cwr(parts);
            }
            if parts.state.ca_state != CA_CWR {
                self.open_or_disorder(parts);
            }
        }
        delivered
    }

    fn in_recovery(&mut self, parts: &mut Parts, facts: &Facts) -> u32 {
        let mut delivered = 0;
        if !facts.advanced {
            if !self.uses_sack() && facts.duplicate {
                delivered += self.add_reno_sack(parts);
            }
        } else if self.undoes && self.undo.answers_original(facts.echo) {
            // The hole was filled by what had been late. Wait until no retransmission is out.
            if parts.state.retrans_out == 0 {
                self.take_back(parts, true);
                self.open_or_disorder(parts);
            }
            return delivered;
        }
        if self.undoes && self.undo.all_were_duplicates() {
            self.take_back(parts, false);
            self.open_or_disorder(parts);
            return delivered;
        }
        if !self.uses_sack() && facts.advanced {
            parts.scoreboard.mark_first_lost(parts.state);
            self.forced = !self.proportional;
        }
        self.find_losses(parts);
        delivered
    }

    fn in_loss(&mut self, parts: &mut Parts, facts: &Facts) -> u32 {
        let mut delivered = 0;
        let recovered = parts.una >= self.high;
        if facts.advanced && self.undoes && self.undo.was_spurious(facts.echo) {
            return self.leave_loss_unhurt(parts, facts);
        }
        if self.doubtful {
            // RFC 5682, section 3.1: something that was not sent again has arrived (3b); what was sent after the
            // time-out has passed a hole (3a); only retransmissions so far (2b).
            if facts.tally.original_end.is_some_and(|end| end <= self.high) {
                return self.leave_loss_unhurt(parts, facts);
            }
            if parts.nxt > self.high {
                if facts.tally.sacked > 0 || facts.duplicate {
                    self.doubtful = false;
                }
            } else if facts.advanced && !recovered {
                self.high = parts.nxt;
                return delivered;
            }
        }
        if recovered {
            self.reset_reno_sacks(parts.state);
            self.doubtful = false;
            change(parts, CA_OPEN);
            return delivered + self.before_recovery(parts, facts);
        }
        if !self.uses_sack() {
            if facts.advanced {
                self.reset_reno_sacks(parts.state);
            } else if facts.duplicate && parts.nxt > self.high {
                delivered += self.add_reno_sack(parts);
            }
        } else if self.method == Method::Rack {
            let resent = parts.state.retrans_out;
            self.find_losses(parts);
            if parts.state.retrans_out < resent {
                // A retransmission was lost.
                self.enter_recovery(parts, false);
            }
        }
        delivered
    }

    /// Segments may have become lost by their time alone.
    pub fn look_again(&mut self, parts: &mut Parts) {
        let resent = parts.state.retrans_out;
        self.find_losses(parts);
        let fresh = parts.state.ca_state < CA_RECOVERY && parts.state.lost_out > 0;
        if fresh || (parts.state.ca_state == CA_LOSS && parts.state.retrans_out < resent) {
            self.enter_recovery(parts, false);
            if !parts.congestion.has_cong_control() {
                self.follow(parts.state, 1, false, true);
            }
        }
    }

    /// The retransmission timer expired (Linux' `tcp_enter_loss`). The caller backs the timer off.
    pub fn enter_loss(&mut self, parts: &mut Parts) {
        let fresh = parts.state.ca_state < CA_RECOVERY;
        self.doubtful = self.detects_spurious && (fresh || self.timeouts > 0);
        self.start_over(parts);
        self.timeouts += 1;
    }

    /// Everything is lost; begin again with one segment.
    fn start_over(&mut self, parts: &mut Parts) {
        self.reset_reno_sacks(parts.state);
        let border = if self.method == Method::Rack { self.rack.border(parts.state) } else { None };
        let recent =
            border.map(|border| Time::ZERO + parts.now.since(Time::ZERO).saturating_sub(border.patience));
        parts.scoreboard.mark_all_lost(recent, parts.state);
        let ca_state = parts.state.ca_state;
        // Once per window: not for time-outs of what was sent before the last reduction.
        if ca_state <= CA_DISORDER || parts.una >= self.high || (ca_state == CA_LOSS && self.timeouts == 0) {
            reduce(parts);
            parts.congestion.cwnd_event(parts.state, Event::Loss);
            self.undo.begin(parts.una, 0);
        }
        parts.state.snd_cwnd = in_flight(parts.state) + 1;
        parts.state.snd_cwnd_cnt = 0;
        change(parts, CA_LOSS);
        self.high = parts.nxt;
        self.recover = parts.nxt;
        self.forced = false;
        self.overdue = None;
        self.probe.forget();
    }

    /// An acknowledgment in recovery or CWR delivered so many segments: the window follows (Linux'
    /// `tcp_cwnd_reduction`). `losses`: it told of new ones.
    #[inline]
    pub fn follow(&mut self, state: &mut State, delivered: u32, advanced: bool, losses: bool) {
        if self.proportional {
            self.prr.acknowledge(delivered, advanced && !losses, state);
        }
    }

    #[inline]
    fn find_losses(&mut self, parts: &mut Parts) {
        match self.method {
            Method::Rack => {
                self.overdue = None;
                if let Some(border) = self.rack.border(parts.state) {
                    self.overdue = parts.scoreboard.mark_overdue(parts.now, &border, parts.state);
                }
            }
            Method::Sack => parts.scoreboard.mark_lost(parts.state),
            Method::Newreno | Method::Reno | Method::Tahoe => {}
        }
    }

    fn is_time_to_recover(&self, state: &State) -> bool {
        state.lost_out > 0 || (!self.uses_sack() && state.sacked_out >= DUP_THRESH)
    }

    fn enter_recovery(&mut self, parts: &mut Parts, ece: bool) {
        if self.method == Method::Tahoe {
            self.start_over(parts);
            self.timeouts = self.timeouts.max(1);
            return;
        }
        self.recover = parts.nxt;
        self.undo.begin(parts.una, parts.state.retrans_out);
        if matches!(parts.state.ca_state, CA_CWR) {
            self.high = parts.nxt;
        } else {
            self.begin_reduction(parts);
            if ece {
                parts.state.prior_ssthresh = 0;
            }
        }
        change(parts, CA_RECOVERY);
        if !self.proportional && !parts.congestion.has_cong_control() {
            parts.state.snd_cwnd = parts.state.snd_ssthresh;
        }
        if !self.uses_sack() {
            parts.scoreboard.mark_first_lost(parts.state);
            limit_reno_sacked(parts.state);
        }
        self.forced = !self.proportional;
        self.doubtful = false;
    }

    fn enter_cwr(&mut self, parts: &mut Parts) {
        if parts.state.ca_state < CA_CWR {
            self.undo.end();
            self.begin_reduction(parts);
            parts.state.prior_ssthresh = 0;
            change(parts, CA_CWR);
            if !self.proportional && !parts.congestion.has_cong_control() {
                parts.state.snd_cwnd = parts.state.snd_ssthresh;
            }
        }
    }

    /// Linux' `tcp_init_cwnd_reduction`.
    fn begin_reduction(&mut self, parts: &mut Parts) {
        self.high = parts.nxt;
        self.probe.forget();
        self.prr = Prr::default();
        parts.state.snd_cwnd_cnt = 0;
        reduce(parts);
    }

    fn leave_recovery(&mut self, parts: &mut Parts, facts: &Facts) {
        self.reset_reno_sacks(parts.state);
        self.forced = false;
        if self.undoes && self.undo.was_spurious(facts.echo) {
            self.take_back(parts, false);
        } else {
            self.rack.recovered();
        }
        change(parts, CA_OPEN);
        self.end_reduction(parts);
    }

    /// Linux' `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self, parts: &mut Parts) {
        if parts.congestion.has_cong_control() {
            return;
        }
        let state = &mut *parts.state;
        if state.snd_ssthresh < INFINITE_SSTHRESH && (state.ca_state == CA_CWR || self.undo.is_open()) {
            let burst = !self.proportional && !self.uses_sack();
            let limit = if burst { in_flight(state).max(1) + 1 } else { u32::MAX };
            state.snd_cwnd = state.snd_ssthresh.min(limit);
        }
        parts.congestion.cwnd_event(parts.state, Event::CompleteCwr);
    }

    /// The reduction was for nothing (Linux' `tcp_undo_cwnd_reduction`).
    fn take_back(&mut self, parts: &mut Parts, unmark: bool) {
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

    /// The time-out was for nothing.
    fn leave_loss_unhurt(&mut self, parts: &mut Parts, facts: &Facts) -> u32 {
        self.take_back(parts, true);
        self.doubtful = false;
        self.timeouts = 0;
        self.reset_reno_sacks(parts.state);
        change(parts, CA_OPEN);
        self.before_recovery(parts, facts)
    }

    fn open_or_disorder(&mut self, parts: &mut Parts) {
        let state = &*parts.state;
        let resent = state.retrans_out > 0 || parts.scoreboard.first_was_resent();
        if !resent {
            self.undo.forget_retransmissions();
        }
        let disorder = state.sacked_out + state.lost_out > 0 || resent;
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
        if !self.uses_sack() {
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
    state.prior_ssthresh = current_ssthresh(state);
    state.prior_cwnd = state.snd_cwnd;
    let ssthresh = parts.congestion.ssthresh(parts.state);
    parts.state.snd_ssthresh = ssthresh;
}

/// The threshold that a window of this size stands for (Linux' `tcp_current_ssthresh`).
pub fn current_ssthresh(state: &State) -> u32 {
    match state.ca_state {
        CA_CWR | CA_RECOVERY => state.snd_ssthresh,
        _ => state.snd_ssthresh.max((state.snd_cwnd >> 1) + (state.snd_cwnd >> 2)),
    }
}

fn change(parts: &mut Parts, ca_state: u32) {
    parts.congestion.set_state(parts.state, ca_state);
    parts.state.ca_state = ca_state;
}
