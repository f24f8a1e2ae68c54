//! Careful Resume at a sender ([`crate::sending::careful_resume`]).
//!
//! - The jump begins when the window limits the sender, also if permitted data waits for a larger
//!   burst. An unpaced connection is paced for the jump.
//! - A sign of congestion is the start of a recovery, a mark, or a lost probe. In Safe Retreat the
//!   window has its value, instead of that of the recovery, which still determines the data to
//!   retransmit. The first lost segment is retransmitted at once.
//! - Safe Retreat ends when the unvalidated data is acknowledged completely and the recovery has
//!   ended. A retransmission time-out ends it at once, with the window of the time-out.
//! - A retransmitted SYN counts as a sign of congestion: the connection begins with slow start.

use super::Sender;
use crate::sending::careful_resume::CarefulResume;
use crate::sending::saved_path::SavedPath;
use crate::tcp::Config;
use bentpipe_congestion::interface::{Congestion, State, CA_CWR, CA_LOSS};
use bentpipe_core::Time;

/// Returns the state of a new connection, if it resumes.
pub(super) fn state(
    config: &Config,
    congestion: &dyn Congestion,
    state: &State,
) -> Option<Box<CarefulResume>> {
    let parameters = config.careful_resume.filter(|_| !congestion.has_cong_control());
    let is_cubic = congestion.name() == "cubic";
    parameters.map(|_| Box::new(CarefulResume::new(parameters, is_cubic, state)))
}

impl Sender {
    /// Resumes from the observations of earlier connections over this path, if configured.
    pub fn resume_from(&mut self, path: &SavedPath) {
        if let Some(resume) = &mut self.resume {
            resume.follow_path(path.clone());
        }
    }

    /// Called when the window limits the sender. Returns true if the window has grown.
    #[inline]
    pub(super) fn resumes(&mut self, now: Time) -> bool {
        self.resume.is_some() && self.jumps(now)
    }

    #[cold]
    fn jumps(&mut self, now: Time) -> bool {
        let Some(resume) = &mut self.resume else { return false };
        let jumps = resume.filled(now, self.nxt, &mut self.state);
        if jumps {
            self.pacing.without_unpaced_start(now);
        }
        jumps
    }

    /// Adjusts Careful Resume to the recovery's reaction, before which the slow-start threshold was
    /// `threshold`.
    #[cold]
    pub(super) fn adjust_resume(&mut self, threshold: u32) {
        let Some(resume) = &mut self.resume else { return };
        let state = &mut self.state;
        let retreated = resume.retreat().is_some();
        if state.ca_state == CA_LOSS {
            resume.timed_out(state);
        } else if state.ca_state >= CA_CWR || state.snd_ssthresh < threshold {
            resume.congested(self.nxt, state);
        }
        if let Some(window) = resume.retreat() {
            state.snd_cwnd = window;
            if !retreated {
                self.recovery.force();
            }
        }
    }

    /// Handles an acknowledgment that delivered this many segments, after
    /// [`adjust_resume`](Self::adjust_resume).
    #[cold]
    pub(super) fn resume_acknowledged(&mut self, now: Time, delivered: u32) {
        let Some(resume) = &mut self.resume else { return };
        let newest = if self.state.ca_state >= CA_CWR { 0 } else { self.una.saturating_sub(1) };
        resume.acknowledged(now, delivered, newest, self.nxt, &mut self.state);
    }

    /// Returns true if Careful Resume determines the window.
    #[inline]
    pub(super) fn resume_holds(&self) -> bool {
        self.resume.as_ref().is_some_and(|resume| resume.holds())
    }

    /// Returns true if Careful Resume determines the pacing rate.
    #[inline]
    pub(super) fn resume_paces(&self) -> bool {
        self.resume.as_ref().is_some_and(|resume| resume.paces())
    }
}
