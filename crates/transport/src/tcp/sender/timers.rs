//! The single timer of a sender, and its purposes.

use super::{Sender, TooManyRetries};
use crate::tcp::probe::Probe;
use crate::tcp::recovery::Recovery;
use crate::tcp::scoreboard::Tally;
use bentpipe_core::{Span, Time};

/// The purpose of the timer while data is outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// The retransmission time-out.
    Retransmit,
    /// A tail loss probe (RFC 8985, section 7).
    Probe,
    /// The time at which a segment counts as lost (RFC 8985, section 6.2, step 5).
    Reorder,
}

/// Minimum wait of a timer that should already have expired.
const SHORTEST: Span = Span::from_millis(1);
/// Time added to the reordering timer, as in Linux.
const GRACE: Span = Span::from_millis(2);

impl Sender {
    /// Checks the timer. Returns true if a retransmission time-out occurred.
    ///
    /// # Errors
    /// Returns an error if the connection must be given up.
    pub fn wake(&mut self, now: Time) -> Result<bool, TooManyRetries> {
        let paced = self.pacing.wake(now);
        if !self.timer.expired(now) {
            self.woken_early = !paced;
            return Ok(false);
        }
        self.stamp(now);
        self.check_limit_at_event();
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
                self.timer.start(now, self.estimator.rto());
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
                if let Some(later) = self.last_reordering(now) {
                    self.timer.start_exactly(later);
                    self.woken_early = !paced;
                    return Ok(false);
                }
                let threshold = self.state.snd_ssthresh;
                self.with_parts(now, Recovery::recheck_losses);
                if self.resume.is_some() {
                    self.adjust_resume(threshold);
                }
                self.restart_timer(now, true, &Tally::default());
                return Ok(false);
            }
        }
        if self.recovery.timeouts() == 0 {
            self.retransmitting_since = self.scoreboard.first_sent_at().unwrap_or(now);
        }
        let given_up = match self.retry_time {
            Some(retry_time) => now.since(self.retransmitting_since) >= retry_time,
            None => self.recovery.timeouts() >= self.retries,
        };
        if given_up {
            return Err(TooManyRetries);
        }
        self.counters.timeouts += 1;
        self.last_rtt = None;
        self.estimator.back_off();
        let threshold = self.state.snd_ssthresh;
        self.with_parts(now, Recovery::enter_loss);
        if self.resume.is_some() {
            self.adjust_resume(threshold);
        }
        self.start_retransmission_timer(now, now);
        Ok(true)
    }

    /// Sets the timer after an acknowledgment, as in Linux: for the reordering time of a segment,
    /// or, if data was acknowledged, for the time-out.
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
            self.timer.start(now, self.reordering(now, overdue));
            self.reordering_since = now;
            self.purpose = Purpose::Reorder;
            return;
        }
        // This includes data sent before the first retransmission, but not later data: otherwise
        // arriving SACKs would postpone the time-out again and again.
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

    /// Returns the duration of the reordering timer from `now` on, for a segment that is lost at
    /// `overdue`.
    #[inline]
    fn reordering(&self, now: Time, overdue: Time) -> Span {
        (overdue + GRACE).since(now).min(self.estimator.rto())
    }

    /// Called at `now`, the expiry of the reordering timer for the first segment. Returns its
    /// expiry for the last segment, if later. The last segment is searched for only then, because
    /// most acknowledgments restart the timer.
    fn last_reordering(&self, now: Time) -> Option<Time> {
        let overdue = self.recovery.last_overdue(&self.scoreboard)?;
        let since = self.reordering_since;
        let end = self.timer.clock().expiry(since, self.reordering(since, overdue));
        (end > now).then_some(end)
    }

    /// Starts the retransmission timer; the time-out counts from `from`.
    #[inline]
    pub(super) fn start_retransmission_timer(&mut self, now: Time, from: Time) {
        self.timer.start(now, self.time_out(now, from));
        self.purpose = Purpose::Retransmit;
    }

    #[inline]
    pub(super) fn start_probe_timer(&mut self, now: Time, from: Time) {
        let mut wait = Probe::wait(&self.state);
        // A time-out that is already overdue does not limit the probe, as in Linux 6.12.
        if from + self.estimator.rto() > now {
            wait = wait.min(self.time_out(now, from));
        }
        self.timer.start(now, wait);
        self.purpose = Purpose::Probe;
    }

    /// Returns the remainder of a time-out that starts at `from`.
    #[inline]
    fn time_out(&self, now: Time, from: Time) -> Span {
        (from + self.estimator.rto()).max(now + SHORTEST).since(now)
    }
}
