//! Rate halving, Linux's method before proportional rate reduction: during a recovery the window
//! falls by one segment for every second acknowledgment until it reaches ssthresh. In the round
//! trip of the reduction, one segment therefore leaves for every two that arrive.
//!
//! For each acknowledgment that reports a delivery: cwnd is reduced by one if it is the second
//! since the last reduction and cwnd > ssthresh; then cwnd = min(cwnd, pipe + 1), which prevents
//! bursts. If less than ssthresh remains in flight after the losses, the window ends below
//! ssthresh, and slow start follows.
//!
//! Source: M. Mathis, J. Semke, J. Mahdavi, K. Lahey, "The Rate-Halving Algorithm for TCP
//! Congestion Control", Internet draft, 1999; P. Sarolahti and A. Kuznetsov, "Congestion Control in
//! Linux TCP", USENIX 2002; the bound pipe + 1 and its consequence: message of the commit
//! "Proportional Rate Reduction for TCP" (Linux 3.2, 2011), which replaced it.

use crate::sending::in_flight;
use bentpipe_congestion::interface::State;

/// The state of one reduction.
#[derive(Clone, Debug, Default)]
pub struct RateHalving {
    /// True if the last counted acknowledgment has not reduced the window.
    odd: bool,
}

impl RateHalving {
    /// Handles an acknowledgment that delivered this many segments.
    pub fn acknowledge(&mut self, delivered: u32, state: &mut State) {
        if delivered == 0 {
            return;
        }
        if self.odd && state.snd_cwnd > state.snd_ssthresh {
            state.snd_cwnd -= 1;
        }
        self.odd = !self.odd;
        state.snd_cwnd = state.snd_cwnd.min(in_flight(state) + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state with a window of 20 after 22 segments were sent, `lost` of them were lost
    /// and three others SACKed.
    fn recovering(lost: u32) -> State {
        State {
            snd_cwnd: 20,
            snd_ssthresh: 10,
            packets_out: 22,
            lost_out: lost,
            sacked_out: 3,
            ..State::default()
        }
    }

    /// Delivers all segments that are not lost. Returns the number of segments that each
    /// acknowledgment permitted.
    fn repair(state: &mut State) -> Vec<u32> {
        let mut halving = RateHalving::default();
        let mut sent = Vec::new();
        for _ in 0..22 - 3 - state.lost_out {
            state.sacked_out += 1;
            halving.acknowledge(1, state);
            let mut count = 0;
            while in_flight(state) < state.snd_cwnd {
                if state.retrans_out < state.lost_out {
                    state.retrans_out += 1;
                } else {
                    state.packets_out += 1;
                }
                count += 1;
            }
            sent.push(count);
        }
        sent
    }

    #[test]
    fn one_segment_leaves_for_every_two_that_arrive() {
        let mut state = recovering(1);
        let sent = repair(&mut state);
        assert_eq!(sent[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!((state.snd_cwnd, in_flight(&state)), (10, 10));
    }

    /// Sixteen of 22 segments were lost. Three are in flight when recovery begins, and each
    /// delivery permits one segment.
    #[test]
    fn after_heavy_losses_the_window_equals_the_data_in_flight() {
        let mut state = recovering(16);
        let sent = repair(&mut state);
        assert!(sent.iter().all(|&count| count <= 1), "{sent:?}");
        assert!(state.snd_cwnd < state.snd_ssthresh, "{}", state.snd_cwnd);
    }

    #[test]
    fn acknowledgments_without_a_delivery_do_not_count() {
        let (mut halving, mut state) = (RateHalving::default(), recovering(1));
        for _ in 0..4 {
            halving.acknowledge(0, &mut state);
        }
        assert_eq!(state.snd_cwnd, 20);
    }
}
