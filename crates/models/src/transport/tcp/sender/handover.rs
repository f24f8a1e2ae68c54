//! A sender around handovers: [`crate::transport::tcp::handover`].

use super::{Ack, Sender};
use crate::transport::tcp::handover::Path;
use crate::transport::tcp::header;
use bentpipe_core::Time;

impl Sender {
    /// An acknowledgment has told of the window: whether it is closed although something is out.
    #[cold]
    pub(super) fn follow_freeze(&mut self, now: Time, ack: &Ack) {
        let frozen = self.window == 0 && !self.scoreboard.is_empty();
        if frozen {
            // Bytes that the window allowed before may not go any more.
            self.edge = ack.position;
            self.loss_probe_due = false;
        }
        if frozen != self.frozen {
            self.frozen = frozen;
            self.estimator.reset_back_off();
            self.start_retransmission_timer(now, now);
        }
    }

    /// The persist timer has expired while the window is closed with something out.
    pub(super) fn probe_frozen(&mut self, now: Time) {
        self.estimator.back_off();
        self.probe_due = true;
        self.start_retransmission_timer(now, now);
    }

    /// Begins anew with the window and the time-out that fit a path; nothing where no data has been sent.
    pub fn adapt(&mut self, now: Time, path: &Path) {
        if self.nxt == 1 {
            return;
        }
        self.stamp(now);
        let packet = u128::from(self.segment_size + header::HEADER);
        let rate = u128::from(path.rate.bits_per_second() / 8);
        let bytes = rate * u128::from(path.round_trip.as_nanos()) / 1_000_000_000;
        let window = (bytes / packet).clamp(2, u128::from(self.state.snd_cwnd_clamp.max(2))) as u32;
        self.estimator.begin_anew(path.round_trip, &mut self.state);
        self.state.snd_cwnd = window;
        self.state.snd_ssthresh = window;
        self.state.snd_cwnd_cnt = 0;
        self.congestion.init(&mut self.state);
        if !self.scoreboard.is_empty() {
            self.start_retransmission_timer(now, now);
        }
    }
}
