//! Careful Resume (RFC 9959): a sender starts with half of a window that an earlier connection over
//! the same path reached, and falls back at the first sign of congestion.
//!
//! - *Reconnaissance*: slow start from the initial window. The path is confirmed once the initial
//!   data has been acknowledged, if the smallest round-trip time is above half of the saved one and
//!   at most ten times it.
//! - *Unvalidated*, when the window limits the sender: the window jumps to half of the saved one,
//!   paced over a round trip. `PipeSize` is the data in flight before the jump.
//! - *Validating*, once the jumped window is full, its first packet is acknowledged, or a round
//!   trip has passed: the window is the data in flight, until the last unvalidated packet is
//!   acknowledged. A sender that has sent no more than `PipeSize` or the initial window continues
//!   normally with that window.
//! - *Safe Retreat*, after a loss or a mark: the saved values are deleted, the window is half of
//!   `PipeSize`, at least the initial window, and does not grow until the last unvalidated packet
//!   is acknowledged. Then the slow-start threshold is beta times `PipeSize`.
//!
//! `PipeSize` grows by each acknowledged packet that was sent after the jump. Windows are in
//! packets, and packets are numbered in the order of transmission.

use super::in_flight;
use bentpipe_congestion::interface::State;
use bentpipe_core::{Count, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Values of an earlier connection over the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// Data acknowledged in a round trip, in packets (`saved_cwnd`), at least four times the
    /// initial window.
    pub cwnd: Count<40, 1_000_000>,
    /// Smallest round-trip time (`saved_rtt`).
    pub rtt: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Normal,
    Reconnaissance,
    /// Since this time; the number of the first packet.
    Unvalidated(Time, u64),
    /// The numbers of the first and the last unvalidated packet.
    Validating(u64, u64),
    /// The numbers of the first and the last unvalidated packet.
    SafeRetreat(u64, u64),
}

/// The state of Careful Resume of one connection.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    saved: Option<Saved>,
    phase: Phase,
    initial: u32,
    /// The RFC's `PipeSize`, in packets.
    pipe: u32,
    /// Factor of the threshold after Safe Retreat, in tenths: 5, and 7 for CUBIC.
    beta: u32,
}

impl CarefulResume {
    /// Creates the state with the saved values, if any; `initial` is the initial window.
    pub fn new(saved: Option<Saved>, initial: u32, is_cubic: bool) -> CarefulResume {
        let phase = if saved.is_some() { Phase::Reconnaissance } else { Phase::Normal };
        CarefulResume { saved, phase, initial, pipe: 0, beta: if is_cubic { 7 } else { 5 } }
    }

    /// Returns true if the window must not grow.
    pub fn holds(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated(..) | Phase::SafeRetreat(..))
    }

    /// Called when the window limits the sender; `next` is the number of the next packet. Returns
    /// true if the window has grown.
    pub fn filled(&mut self, now: Time, next: u64, state: &mut State) -> bool {
        match self.phase {
            Phase::Reconnaissance => self.jump(now, next, state),
            Phase::Unvalidated(_, first) => {
                self.validate(first, next, state);
                false
            }
            _ => false,
        }
    }

    fn jump(&mut self, now: Time, next: u64, state: &mut State) -> bool {
        let Some(saved) = self.saved else { return false };
        if state.delivered < self.initial {
            return false;
        }
        let rtt = u64::from(state.rtt_min_us);
        let before = saved.rtt.as_micros();
        let window = saved.cwnd.value() as u32 / 2;
        if 2 * rtt <= before || rtt > 10 * before || window <= state.snd_cwnd {
            self.phase = Phase::Normal;
            return false;
        }
        self.phase = Phase::Unvalidated(now, next);
        self.pipe = in_flight(state);
        state.snd_cwnd = window;
        // A packet each RTT x packet / jump window.
        let srtt = u64::from(state.srtt_us).max(1);
        state.sk_pacing_rate = u64::from(window) * u64::from(state.mss_cache) * 8_000_000 / srtt;
        true
    }

    fn validate(&mut self, first: u64, next: u64, state: &mut State) {
        let flight = in_flight(state);
        state.sk_pacing_rate = u64::MAX;
        if flight <= self.pipe || flight < self.initial {
            state.snd_cwnd = self.pipe.max(self.initial);
            self.phase = Phase::Normal;
        } else {
            state.snd_cwnd = flight;
            self.phase = Phase::Validating(first, next.saturating_sub(1));
        }
    }

    /// Handles newly acknowledged packets with these numbers, in order. `next` is the number of the
    /// next packet.
    pub fn acknowledged(
        &mut self,
        now: Time,
        packets: impl DoubleEndedIterator<Item = u64> + Clone,
        next: u64,
        state: &mut State,
    ) {
        let newest = packets.clone().next_back().unwrap_or(0);
        let since = |first: u64| packets.clone().filter(|number| *number >= first).count() as u32;
        match self.phase {
            Phase::Normal | Phase::Reconnaissance => {}
            Phase::Unvalidated(begin, first) => {
                let count = since(first);
                let round_trip = Span::from_micros(u64::from(state.srtt_us >> 3));
                if count > 0 || now.since(begin) > round_trip {
                    // The acknowledged packets still count as part of the flight.
                    state.packets_out += count;
                    self.validate(first, next, state);
                    state.packets_out -= count;
                    self.pipe += count;
                }
            }
            Phase::Validating(first, last) => {
                self.pipe += since(first);
                if newest >= last {
                    self.phase = Phase::Normal;
                }
            }
            Phase::SafeRetreat(first, last) => {
                self.pipe += since(first);
                if newest >= last {
                    state.snd_ssthresh = (self.pipe * self.beta / 10).max(self.initial);
                    self.phase = Phase::Normal;
                }
            }
        }
    }

    /// Handles a sign of congestion; `next` is the number of the next packet. Returns true if the
    /// window has been set, in place of the usual reduction.
    pub fn congested(&mut self, next: u64, state: &mut State) -> bool {
        let (first, last) = match self.phase {
            Phase::Normal => return false,
            Phase::Reconnaissance => {
                self.phase = Phase::Normal;
                return false;
            }
            Phase::Unvalidated(_, first) => (first, next.saturating_sub(1)),
            Phase::Validating(first, last) => (first, last),
            Phase::SafeRetreat(..) => return true,
        };
        self.saved = None;
        self.phase = Phase::SafeRetreat(first, last);
        state.sk_pacing_rate = u64::MAX;
        state.snd_cwnd = (self.pipe / 2).max(self.initial);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_congestion::interface::INFINITE_SSTHRESH;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    /// A sender that has confirmed the path, with 29 packets in flight, and a saved window of 300.
    fn confirmed() -> (CarefulResume, State) {
        let saved = Saved { cwnd: Count::new(300), rtt: Span::from_millis(600) };
        let state = State {
            snd_cwnd: 29,
            packets_out: 29,
            delivered: 10,
            mss_cache: 1000,
            rtt_min_us: 600_000,
            srtt_us: 4_800_000,
            sk_pacing_rate: u64::MAX,
            snd_ssthresh: INFINITE_SSTHRESH,
            ..State::default()
        };
        (CarefulResume::new(Some(saved), 10, false), state)
    }

    /// The RFC's first example: packets 30 to 150 are sent unvalidated, and all arrive.
    #[test]
    fn a_path_that_carries_the_jump_keeps_the_window() {
        let (mut resume, mut state) = confirmed();
        assert!(resume.filled(at(1200), 30, &mut state));
        assert_eq!((state.snd_cwnd, resume.pipe), (150, 29));
        // 150 packets of 1000 bytes in 0.6 s.
        assert_eq!(state.sk_pacing_rate, 250_000);
        state.packets_out = 150;
        assert!(!resume.filled(at(1700), 151, &mut state));
        assert_eq!(state.snd_cwnd, 150);
        assert_eq!(state.sk_pacing_rate, u64::MAX);
        for number in 1..=150 {
            state.packets_out -= 1;
            resume.acknowledged(at(1800), [number].into_iter(), 151, &mut state);
            assert_eq!(resume.phase == Phase::Normal, number == 150, "{number}");
        }
        assert_eq!(resume.pipe, 150);
    }

    /// The RFC's example of a loss: packet 64, the 35th unvalidated one, is lost. `PipeSize` is
    /// then 63 and the window 31.
    #[test]
    fn a_loss_ends_in_a_safe_retreat() {
        let (mut resume, mut state) = confirmed();
        resume.filled(at(1200), 30, &mut state);
        state.packets_out = 150;
        resume.filled(at(1700), 151, &mut state);
        for number in 1..=63 {
            state.packets_out -= 1;
            resume.acknowledged(at(1800), [number].into_iter(), 151, &mut state);
        }
        assert_eq!(resume.pipe, 63);
        assert!(resume.congested(151, &mut state));
        assert_eq!(state.snd_cwnd, 31);
        assert!(resume.holds());
        assert!(resume.congested(151, &mut state));
        assert_eq!(state.snd_cwnd, 31);
        for number in 65..=150 {
            resume.acknowledged(at(1900), [number].into_iter(), 151, &mut state);
        }
        assert!(!resume.holds());
        assert_eq!(state.snd_ssthresh, (63 + 86) / 2);
    }

    /// The RFC's example of a sender with little data: 50 packets are in flight when the first
    /// unvalidated one is acknowledged.
    #[test]
    fn a_sender_with_little_data_gets_the_window_that_it_used() {
        let (mut resume, mut state) = confirmed();
        resume.filled(at(1200), 30, &mut state);
        state.packets_out = 49;
        resume.acknowledged(at(1800), [30].into_iter(), 51, &mut state);
        assert_eq!(state.snd_cwnd, 50);
    }

    #[test]
    fn another_path_is_not_resumed() {
        for rtt in [299_000, 300_000, 6_001_000] {
            let (mut resume, mut state) = confirmed();
            state.rtt_min_us = rtt;
            assert!(!resume.filled(at(1200), 30, &mut state));
            assert_eq!((state.snd_cwnd, resume.phase), (29, Phase::Normal));
        }
        // The initial data is not acknowledged, and later the window has been reduced.
        let (mut resume, mut state) = confirmed();
        state.delivered = 9;
        assert!(!resume.filled(at(1200), 30, &mut state));
        assert!(!resume.congested(30, &mut state));
        state.delivered = 30;
        assert!(!resume.filled(at(1300), 30, &mut state));
    }
}
