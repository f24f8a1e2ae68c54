//! Proportional rate reduction (RFC 9937): during a recovery the window follows the delivered data.
//! It reaches ssthresh at the end of the recovery, without a preceding pause or burst.
//!
//! For each acknowledgment in recovery (section 5, with its names): with pipe > ssthresh, SndCnt =
//! ceil(prr_delivered ssthresh / RecoverFS) - prr_out. Otherwise the window grows back to ssthresh
//! by the delivered data, and by one segment more if the acknowledgment advanced and reported no
//! further loss (SafeACK). The first retransmission is always sent. cwnd = pipe + SndCnt.
//!
//! As in Linux, segments are counted, and RecoverFS is the window before the reduction
//! (`prior_cwnd`).

use super::in_flight;
use bentpipe_congestion::interface::State;

/// The state of one reduction.
#[derive(Clone, Debug, Default)]
pub struct Prr {
    delivered: u32,
    out: u32,
}

impl Prr {
    /// Records that a segment was sent.
    #[inline]
    pub fn sent(&mut self) {
        self.out += 1;
    }

    /// Handles an acknowledgment that delivered this many segments; `safe` if it advanced and
    /// reported no further loss. `state` contains the new ssthresh and, in `prior_cwnd`, the window
    /// before the reduction.
    pub fn acknowledge(&mut self, delivered: u32, safe: bool, state: &mut State) {
        if delivered == 0 || state.prior_cwnd == 0 {
            return;
        }
        let pipe = in_flight(state);
        self.delivered += delivered;
        let room = i64::from(state.snd_ssthresh) - i64::from(pipe);
        let (done, out) = (u64::from(self.delivered), i64::from(self.out));
        let count = if room < 0 {
            let part = (done * u64::from(state.snd_ssthresh)).div_ceil(u64::from(state.prior_cwnd));
            part as i64 - out
        } else {
            let count = (done as i64 - out).max(i64::from(delivered)) + i64::from(safe);
            count.min(room)
        };
        let count = count.max(i64::from(self.out == 0)).max(0);
        state.snd_cwnd = pipe + count as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The RFC's example (RFC 6937, section 3.1, first figure): 20 segments are outstanding, the
    /// first is lost, two new ones are sent by limited transmit, and the third duplicate starts
    /// recovery. From then on one segment leaves for every two that arrive.
    #[test]
    fn one_loss_halves_the_sending_rate_and_ends_at_ssthresh() {
        let mut state = State { prior_cwnd: 20, snd_ssthresh: 10, packets_out: 22, ..State::default() };
        state.lost_out = 1;
        state.sacked_out = 2;
        let mut prr = Prr::default();
        let mut sent = Vec::new();
        for _ in 3..=19 {
            state.sacked_out += 1;
            prr.acknowledge(1, false, &mut state);
            let mut count = 0;
            while in_flight(&state) < state.snd_cwnd {
                // The first is the retransmission.
                if state.retrans_out == 0 {
                    state.retrans_out = 1;
                } else {
                    state.packets_out += 1;
                }
                prr.sent();
                count += 1;
            }
            sent.push(count);
        }
        assert_eq!(sent.iter().sum::<i32>(), 8);
        assert_eq!(&sent[..6], [1, 0, 1, 0, 1, 0]);
        assert_eq!(in_flight(&state), state.snd_ssthresh);
    }
}
