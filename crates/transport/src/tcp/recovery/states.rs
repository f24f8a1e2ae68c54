//! The reaction to an acknowledgment in each state, and the transitions between states.

use super::reduction::{change, limit_reno_sacked, Reduction};
use super::{AckInfo, Method, Parts, Recovery};
use crate::sending::{in_flight, reduce};
use crate::tcp::scoreboard::DUP_THRESH;
use bentpipe_congestion::interface::{Event, State, CA_CWR, CA_DISORDER, CA_LOSS, CA_OPEN, CA_RECOVERY};
use bentpipe_core::{Span, Time};

impl Recovery {
    /// Handles an acknowledgment that is a duplicate, carries new SACK information, or arrives in a
    /// state other than Open. Returns the number of newly reported deliveries that were not counted
    /// yet.
    pub fn alert(&mut self, parts: &mut Parts, info: &AckInfo) -> u32 {
        if self.method != Method::Snack {
            return self.react(parts, info);
        }
        let before = self.revert_unreported(parts.state);
        let delivered = self.react(parts, info);
        if matches!(parts.state.ca_state, CA_RECOVERY | CA_LOSS) {
            let more = u32::from(info.duplicate && info.tally.sacked == 0);
            self.count_unreported(parts.state, (before + more).saturating_sub(info.tally.sacked));
        }
        delivered
    }

    /// Counts `count` segments as arrived that no SNACK has identified, limited to the number that
    /// may have arrived.
    pub(super) fn count_unreported(&mut self, state: &mut State, count: u32) {
        let outstanding = state.packets_out.saturating_sub(state.sacked_out + state.lost_out);
        self.unreported = count.min(outstanding);
        state.sacked_out += self.unreported;
    }

    /// Reverts the count of unidentified segments and returns it.
    pub(super) fn revert_unreported(&mut self, state: &mut State) -> u32 {
        state.sacked_out -= self.unreported;
        std::mem::take(&mut self.unreported)
    }

    fn react(&mut self, parts: &mut Parts, info: &AckInfo) -> u32 {
        self.holds_lost = false;
        match parts.state.ca_state {
            // Retransmissions of an earlier recovery do not count for the next one.
            CA_OPEN => self.undo.discard_retransmissions(),
            CA_CWR if parts.una > self.high => {
                self.end_reduction(parts);
                change(parts, CA_OPEN);
            }
            CA_RECOVERY if parts.una >= self.high || (self.method == Method::Reno && info.advanced) => {
                self.leave_recovery(parts, info);
            }
            _ => {}
        }
        match parts.state.ca_state {
            CA_RECOVERY => self.in_recovery(parts, info),
            CA_LOSS => self.in_loss(parts, info),
            _ => self.before_recovery(parts, info),
        }
    }

    pub(super) fn before_recovery(&mut self, parts: &mut Parts, info: &AckInfo) -> u32 {
        let mut delivered = 0;
        if !self.uses_sack() {
            if info.advanced {
                self.reset_reno_sacks(parts.state);
            }
            if info.duplicate && (parts.una > self.recover || self.method == Method::Reno) {
                delivered += self.add_reno_sack(parts);
            }
        }
        if parts.state.ca_state <= CA_DISORDER && self.undoes && self.undo.all_were_duplicates() {
            self.undo_reduction(parts, false);
        }
        self.find_losses(parts);
        if self.is_time_to_recover(parts.state) {
            self.enter_recovery(parts, info.ece);
        } else {
            if info.ece {
                self.enter_cwr(parts);
            }
            if parts.state.ca_state != CA_CWR {
                self.open_or_disorder(parts);
            }
        }
        delivered
    }

    pub(super) fn in_recovery(&mut self, parts: &mut Parts, info: &AckInfo) -> u32 {
        let mut delivered = 0;
        if !info.advanced {
            if !self.uses_sack() && info.duplicate {
                delivered += self.add_reno_sack(parts);
            }
        } else if self.undoes && self.undo.answers_original(info.echo) {
            // A late segment filled the hole: reordering. While a retransmission is outstanding,
            // nothing more is marked lost or retransmitted (Linux's tcp_try_undo_partial), so that
            // the next acknowledgment can undo the reduction.
            self.rack.record_reordering(parts.scoreboard.forward().saturating_sub(info.from), parts.state);
            if parts.state.retrans_out > 0 {
                self.holds_lost = true;
                return delivered;
            }
            self.undo_reduction(parts, true);
            self.open_or_disorder(parts);
        }
        if self.undoes && self.undo.all_were_duplicates() {
            self.undo_reduction(parts, false);
            self.open_or_disorder(parts);
        }
        let in_recovery = parts.state.ca_state == CA_RECOVERY;
        if !self.uses_sack() && info.advanced && in_recovery {
            parts.scoreboard.mark_first_lost(parts.state);
            self.forced = self.reduction == Reduction::AtOnce;
        }
        self.find_losses(parts);
        // An undone reduction may be followed by a genuine loss.
        if !in_recovery && self.is_time_to_recover(parts.state) {
            self.enter_recovery(parts, info.ece);
        }
        delivered
    }

    pub(super) fn in_loss(&mut self, parts: &mut Parts, info: &AckInfo) -> u32 {
        let mut delivered = 0;
        let recovered = parts.una >= self.high;
        if info.advanced && self.undoes && self.undo.was_spurious(info.echo) {
            return self.leave_spurious_loss(parts, info);
        }
        if self.doubtful {
            // RFC 5682, section 3.1: a segment that was not retransmitted has arrived (3b); a
            // segment sent after the time-out has arrived above a hole (3a); only retransmissions
            // have arrived so far (2b). With RACK the first acknowledgment already counts for 3b,
            // as in Linux since 3.10. Earlier versions and the RFC require new data first.
            let counts = self.method == Method::Rack || parts.nxt > self.high;
            if counts && info.tally.original_end.is_some_and(|end| end <= self.high) {
                let delivered = self.leave_spurious_loss(parts, info);
                if self.reduction == Reduction::RateHalving {
                    // Linux's response to a spurious time-out (ip-sysctl.txt, tcp_frto_response 0).
                    self.enter_cwr(parts);
                }
                return delivered;
            }
            if parts.nxt > self.high {
                if info.tally.sacked > 0 || info.duplicate {
                    self.doubtful = false;
                }
            } else if info.advanced && !recovered {
                self.high = parts.nxt;
                return delivered;
            }
        }
        if recovered {
            self.reset_reno_sacks(parts.state);
            self.doubtful = false;
            change(parts, CA_OPEN);
            return delivered + self.before_recovery(parts, info);
        }
        if !self.uses_sack() {
            if info.advanced {
                self.reset_reno_sacks(parts.state);
            } else if info.duplicate && parts.nxt > self.high {
                delivered += self.add_reno_sack(parts);
            }
        } else if matches!(self.method, Method::Rack | Method::Snack) {
            let resent = parts.state.retrans_out;
            self.find_losses(parts);
            if parts.state.retrans_out < resent {
                // A retransmission was lost.
                self.enter_recovery(parts, false);
            }
        }
        delivered
    }

    /// Leaves the state after a spurious time-out.
    pub(super) fn leave_spurious_loss(&mut self, parts: &mut Parts, info: &AckInfo) -> u32 {
        self.undo_reduction(parts, true);
        self.doubtful = false;
        self.timeouts = 0;
        self.reset_reno_sacks(parts.state);
        change(parts, CA_OPEN);
        self.before_recovery(parts, info)
    }

    /// Examines segments that may have become lost by their age.
    pub fn recheck_losses(&mut self, parts: &mut Parts) {
        self.holds_lost = false;
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

    /// Handles the expiry of the retransmission timer (Linux's `tcp_enter_loss`). The caller backs
    /// the timer off.
    pub fn enter_loss(&mut self, parts: &mut Parts) {
        self.holds_lost = false;
        let fresh = parts.state.ca_state < CA_RECOVERY;
        self.doubtful = self.detects_spurious && (fresh || self.timeouts > 0);
        self.restart_with_one_segment(parts);
        self.timeouts += 1;
    }

    /// Marks everything as lost and restarts with one segment.
    pub(super) fn restart_with_one_segment(&mut self, parts: &mut Parts) {
        self.revert_unreported(parts.state);
        self.reset_reno_sacks(parts.state);
        // Before the first delivery, RACK's round-trip time is that of the handshake.
        let handshake = || Span::from_micros(u64::from(parts.state.srtt_us >> 3));
        let loss_delay = || self.rack.border(parts.state).map_or_else(handshake, |border| border.loss_delay);
        let recent = (self.method == Method::Rack)
            .then(|| Time::ZERO + parts.now.since(Time::ZERO).saturating_sub(loss_delay()));
        parts.scoreboard.mark_all_lost(recent, parts.state);
        let ca_state = parts.state.ca_state;
        if ca_state <= CA_DISORDER {
            self.rack.timed_out(parts.state.sacked_out);
        }
        // Once per window, so not for time-outs of segments sent before the last reduction.
        if ca_state <= CA_DISORDER || parts.una >= self.high || (ca_state == CA_LOSS && self.timeouts == 0) {
            reduce(parts.state, parts.congestion);
            parts.congestion.cwnd_event(parts.state, Event::Loss);
            self.undo.begin(parts.una, 0);
            self.reduced = true;
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

    #[inline]
    pub(super) fn find_losses(&mut self, parts: &mut Parts) {
        match self.method {
            Method::Rack => {
                self.overdue = None;
                if let Some(border) = self.rack.border(parts.state) {
                    self.overdue = parts.scoreboard.mark_overdue(parts.now, &border, parts.state);
                    if self.overdue.is_some() {
                        self.border = border;
                    }
                }
            }
            Method::Sack => parts.scoreboard.mark_lost(parts.state),
            Method::Snack => {
                let srtt = Span::from_micros(u64::from(parts.state.srtt_us >> 3));
                parts.scoreboard.mark_missing(parts.now, srtt + srtt / 4, parts.state);
            }
            Method::Newreno | Method::Reno | Method::Tahoe => {}
        }
    }

    pub(super) fn is_time_to_recover(&self, state: &State) -> bool {
        state.lost_out > 0 || (!self.uses_sack() && state.sacked_out >= DUP_THRESH)
    }

    pub(super) fn enter_recovery(&mut self, parts: &mut Parts, ece: bool) {
        if self.method == Method::Tahoe {
            self.restart_with_one_segment(parts);
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
        if self.reduction == Reduction::AtOnce && !parts.congestion.has_cong_control() {
            parts.state.snd_cwnd = parts.state.snd_ssthresh;
        }
        if !self.uses_sack() {
            parts.scoreboard.mark_first_lost(parts.state);
            limit_reno_sacked(parts.state);
        }
        self.forced = self.reduction == Reduction::AtOnce;
        self.doubtful = false;
    }

    pub(super) fn enter_cwr(&mut self, parts: &mut Parts) {
        if parts.state.ca_state < CA_CWR {
            self.undo.end();
            self.begin_reduction(parts);
            parts.state.prior_ssthresh = 0;
            change(parts, CA_CWR);
            if self.reduction == Reduction::AtOnce && !parts.congestion.has_cong_control() {
                parts.state.snd_cwnd = parts.state.snd_ssthresh;
            }
        }
    }

    pub(super) fn leave_recovery(&mut self, parts: &mut Parts, info: &AckInfo) {
        self.reset_reno_sacks(parts.state);
        self.forced = false;
        if self.undoes && self.undo.was_spurious(info.echo) {
            self.undo_reduction(parts, false);
        } else {
            self.rack.recovered();
        }
        change(parts, CA_OPEN);
        self.end_reduction(parts);
    }

    pub(super) fn open_or_disorder(&mut self, parts: &mut Parts) {
        let state = &*parts.state;
        let resent = state.retrans_out > 0 || parts.scoreboard.first_was_resent();
        if !resent {
            self.undo.discard_retransmissions();
        }
        let disorder = state.sacked_out + state.lost_out > 0 || resent;
        let target = if disorder { CA_DISORDER } else { CA_OPEN };
        if state.ca_state != target {
            change(parts, target);
            self.high = parts.nxt;
        }
    }

    /// Counts a duplicate acknowledgment. Returns the segment that it reports as delivered.
    pub(super) fn add_reno_sack(&self, parts: &mut Parts) -> u32 {
        let before = parts.state.sacked_out;
        parts.state.sacked_out += 1;
        limit_reno_sacked(parts.state);
        parts.state.sacked_out - before
    }

    pub(super) fn reset_reno_sacks(&self, state: &mut State) {
        if !self.uses_sack() {
            state.sacked_out = 0;
        }
    }
}
