//! A reference Reno for tests: RFC 5681 in segments, as Linux's `tcp_reno_cong_avoid` counts them.

use bentpipe_congestion::interface::{AckSample, Congestion, Event, RateSample, State};

#[derive(Default)]
pub struct Reno {
    /// The operations in the order in which they were called, except `cong_avoid` and `pkts_acked`.
    pub calls: Option<std::sync::Arc<std::sync::Mutex<Vec<String>>>>,
}

impl Reno {
    fn note(&self, call: impl FnOnce() -> String) {
        if let Some(calls) = &self.calls {
            calls.lock().unwrap().push(call());
        }
    }
}

impl Congestion for Reno {
    fn name(&self) -> &str {
        "reference-reno"
    }

    fn init(&mut self, _state: &mut State) {
        self.note(|| "init".to_owned());
    }

    fn ssthresh(&mut self, state: &mut State) -> u32 {
        self.note(|| "ssthresh".to_owned());
        (state.snd_cwnd / 2).max(2)
    }

    fn cong_avoid(&mut self, state: &mut State, _ack: u32, mut acked: u32) {
        let slow_start = state.snd_cwnd < state.snd_ssthresh;
        if state.is_cwnd_limited == 0 && !(slow_start && state.snd_cwnd < 2 * state.max_packets_out) {
            return;
        }
        if slow_start {
            let grown = (state.snd_cwnd + acked).min(state.snd_ssthresh);
            acked -= grown - state.snd_cwnd;
            state.snd_cwnd = grown;
            if acked == 0 {
                return;
            }
        }
        state.snd_cwnd_cnt += acked;
        if state.snd_cwnd_cnt >= state.snd_cwnd {
            state.snd_cwnd_cnt -= state.snd_cwnd;
            state.snd_cwnd += 1;
        }
    }

    fn has_cong_control(&self) -> bool {
        false
    }

    fn cong_control(&mut self, _state: &mut State, _sample: &RateSample) {
        unreachable!("there is no cong_control")
    }

    fn set_state(&mut self, _state: &mut State, new_state: u32) {
        self.note(|| format!("set_state {new_state}"));
    }

    fn cwnd_event(&mut self, _state: &mut State, event: Event) {
        self.note(|| format!("cwnd_event {event:?}"));
    }

    fn has_pkts_acked(&self) -> bool {
        false
    }

    fn pkts_acked(&mut self, _state: &mut State, _sample: &AckSample) {
        unreachable!("there is no pkts_acked")
    }

    fn undo_cwnd(&mut self, state: &mut State) -> u32 {
        state.snd_cwnd.max(state.prior_cwnd)
    }
}
