//! The sender's reaction to handovers ([`crate::tcp::handover`]).

use super::{Ack, Sender};
use crate::tcp::handover::Path;
use crate::tcp::header;
use bentpipe_core::Time;

impl Sender {
    /// Handles the window of an acknowledgment, which may be closed although data is outstanding.
    #[cold]
    pub(super) fn follow_freeze(&mut self, now: Time, ack: &Ack) {
        let frozen = self.window == 0 && !self.scoreboard.is_empty();
        if frozen {
            // Bytes that the previous window permitted may no longer be sent.
            self.edge = ack.position;
            self.loss_probe_due = false;
        }
        if frozen != self.frozen {
            self.frozen = frozen;
            self.estimator.reset_back_off();
            self.start_retransmission_timer(now, now);
        }
    }

    /// Handles the expiry of the persist timer while the window is closed and data is outstanding.
    pub(super) fn probe_frozen(&mut self, now: Time) {
        self.estimator.back_off();
        self.probe_due = true;
        self.start_retransmission_timer(now, now);
    }

    /// Restarts with the window and the time-out of a new path, if data has been sent.
    pub fn adapt(&mut self, now: Time, path: &Path) {
        if self.nxt == 1 {
            return;
        }
        self.stamp(now);
        let packet = u128::from(self.segment_size + header::HEADER);
        let rate = u128::from(path.rate.bits_per_second() / 8);
        let bytes = rate * u128::from(path.round_trip.as_nanos()) / 1_000_000_000;
        let window = (bytes / packet).clamp(2, u128::from(self.state.snd_cwnd_clamp.max(2))) as u32;
        self.estimator.restart(path.round_trip, &mut self.state);
        self.state.snd_cwnd = window;
        self.state.snd_ssthresh = window;
        self.state.snd_cwnd_cnt = 0;
        self.congestion.init(&mut self.state);
        if !self.scoreboard.is_empty() {
            self.start_retransmission_timer(now, now);
        }
    }
}
