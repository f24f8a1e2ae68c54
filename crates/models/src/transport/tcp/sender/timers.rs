//! The one timer of a sender and what it is for.

use super::{Sender, TooManyRetries};
use crate::transport::tcp::probe::Probe;
use crate::transport::tcp::recovery::Recovery;
use crate::transport::tcp::scoreboard::Tally;
use bentpipe_core::{Span, Time};

/// What the timer is for, when something is out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// The retransmission time-out.
    Retransmit,
    /// A tail loss probe.
    Probe,
    /// A segment that will be lost by its time (RFC 8985, section 6.2, step 5).
    Reorder,
}

/// Shortest wait of a timer that should have expired already (a tick of Linux' clock at 1000 Hz).
const SHORTEST: Span = Span::from_millis(1);
/// Grace of the reordering timer, as Linux has it.
const GRACE: Span = Span::from_millis(2);

impl Sender {
    /// The timer may have expired. Returns whether it was a retransmission time-out.
    ///
    /// # Errors
    /// When the connection is to be given up.
    pub fn wake(&mut self, now: Time) -> Result<bool, TooManyRetries> {
        self.pacing.wake(now);
        if !self.timer.expired(now) {
            return Ok(false);
        }
        self.stamp(now);
        self.check_application_limited();
        if self.scoreboard.is_empty() {
            if self.probes >= self.retries {
                return Err(TooManyRetries);
            }
            self.probes += 1;
            self.estimator.back_off();
            if self.edge > self.nxt {
                self.overriding = true;
            } else {
                self.probe_due = true;
                self.timer.start(self.estimator.deadline(now));
            }
            return Ok(false);
        }
        if self.frozen {
            self.probe_frozen(now);
            return Ok(false);
        }
        match self.purpose {
            Purpose::Retransmit => {}
            Purpose::Probe => {
                self.loss_probe_due = !self.recovery.probe_mut().is_outstanding();
                let from =
                    if self.loss_probe_due { now } else { self.scoreboard.first_sent_at().unwrap_or(now) };
                self.start_retransmission_timer(now, from);
                return Ok(false);
            }
            Purpose::Reorder => {
                self.with_parts(now, Recovery::look_again);
                self.restart_timer(now, true, &Tally::default());
                return Ok(false);
            }
        }
        if self.recovery.timeouts() == 0 {
            self.stuck_since = self.scoreboard.first_sent_at().unwrap_or(now);
        }
        let given_up = match self.patience {
            Some(patience) => now.since(self.stuck_since) >= patience,
            None => self.recovery.timeouts() >= self.retries,
        };
        if given_up {
            return Err(TooManyRetries);
        }
        self.counters.timeouts += 1;
        self.last_rtt = None;
        self.estimator.back_off();
        self.with_parts(now, Recovery::enter_loss);
        self.start_retransmission_timer(now, now);
        Ok(true)
    }

    /// After an acknowledgment, as Linux sets its one timer: for a segment whose time is running, or anew for what is
    /// acknowledged.
    #[inline]
    pub(super) fn restart_timer(&mut self, now: Time, advanced: bool, tally: &Tally) {
        if self.scoreboard.is_empty() {
            if advanced {
                self.timer.stop();
                self.purpose = Purpose::Retransmit;
            }
            return;
        }
        if let Some(overdue) = self.recovery.overdue() {
            self.timer.start((overdue + GRACE).min(self.estimator.deadline(now)));
            self.purpose = Purpose::Reorder;
            return;
        }
        // Also for what was sent before the first segment was sent again, but not later, or a time-out would be put
        // off for as long as SACKs come.
        let first = self.scoreboard.first_sent_at().unwrap_or(now);
        let earlier = tally.sacked_sent.is_some_and(|(sent, _)| sent < first);
        if !advanced && !earlier && self.purpose != Purpose::Reorder {
            return;
        }
        if self.recovery.may_probe(&self.state) {
            self.start_probe_timer(now, now);
        } else {
            let from = if self.purpose == Purpose::Retransmit { now } else { first };
            self.start_retransmission_timer(now, from);
        }
    }

    /// `from`: when the time of the time-out begins.
    #[inline]
    pub(super) fn start_retransmission_timer(&mut self, now: Time, from: Time) {
        self.timer.start(self.estimator.deadline(from).max(now + SHORTEST));
        self.purpose = Purpose::Retransmit;
    }

    #[inline]
    pub(super) fn start_probe_timer(&mut self, now: Time, from: Time) {
        let time_out = self.estimator.deadline(from).max(now + SHORTEST);
        self.timer.start((now + Probe::patience(&self.state)).min(time_out));
        self.purpose = Purpose::Probe;
    }
}
