//! Pacing (RFC 9002, section 7.7): packets leave at a rate, with bursts up to the initial window.
//!
//! The rate is that of the congestion control if it sets one, else `pacing_gain` times the window
//! per smoothed round-trip time. Before the first sample, packets leave at once. The pacer is a
//! leaky bucket whose depth is the initial window, so a sender that has been idle may send as much
//! at once.

use bentpipe_congestion::interface::State;
use bentpipe_core::{Span, Time};

/// The pacing state of a connection.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// Time at which the packets sent so far would have left at the rate.
    next: Time,
    /// Time of the requested wake.
    wake: Time,
    depth: u64,
    gain_percent: u64,
    is_on: bool,
}

impl Pacer {
    /// Creates a pacer with bursts of up to `depth` packets.
    pub fn new(is_on: bool, depth: u64, gain_percent: u64) -> Pacer {
        Pacer { next: Time::ZERO, wake: Time::MAX, depth, gain_percent, is_on }
    }

    /// Returns the rate in bytes per second; `None` if packets are not paced.
    fn rate(&self, state: &State) -> Option<u64> {
        if !self.is_on || state.srtt_us == 0 {
            return None;
        }
        if state.sk_pacing_rate != u64::MAX {
            return Some(state.sk_pacing_rate.max(1));
        }
        let window = u64::from(state.snd_cwnd) * u64::from(state.mss_cache);
        Some((window * self.gain_percent * 80_000 / u64::from(state.srtt_us)).max(1))
    }

    /// Returns true if the next packet must wait, and then requests a wake.
    pub fn holds(&mut self, now: Time, state: &State) -> bool {
        self.wake = Time::MAX;
        if self.next <= now {
            return false;
        }
        let Some(rate) = self.rate(state) else { return false };
        let credit = Span::from_nanos(self.depth.saturating_sub(1) * nanoseconds(state.mss_cache, rate));
        if now + credit >= self.next {
            return false;
        }
        self.wake = Time::ZERO + self.next.since(Time::ZERO).saturating_sub(credit);
        true
    }

    /// Records that a packet with this many bytes leaves.
    pub fn sent(&mut self, now: Time, bytes: u32, state: &State) {
        if let Some(rate) = self.rate(state) {
            self.next = self.next.max(now) + Span::from_nanos(nanoseconds(bytes, rate));
        }
    }

    /// Returns the time of the requested wake; `Time::MAX` for never.
    pub fn next_wake(&self) -> Time {
        self.wake
    }

    /// Handles the requested wake.
    pub fn wake(&mut self, now: Time) {
        if self.wake <= now {
            self.wake = Time::MAX;
        }
    }
}

fn nanoseconds(bytes: u32, rate: u64) -> u64 {
    u64::from(bytes) * 1_000_000_000 / rate
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 packets of 1000 bytes per 100 ms, times 1.25: one each 4 ms, after a burst of ten.
    #[test]
    fn packets_leave_at_the_rate_after_a_burst() {
        let state = State {
            snd_cwnd: 20,
            mss_cache: 1000,
            srtt_us: 800_000,
            sk_pacing_rate: u64::MAX,
            ..State::default()
        };
        let mut pacer = Pacer::new(true, 10, 125);
        let at = |milliseconds| Time::ZERO + Span::from_millis(milliseconds);
        for _ in 0..10 {
            assert!(!pacer.holds(at(50), &state));
            pacer.sent(at(50), 1000, &state);
        }
        assert!(pacer.holds(at(50), &state));
        assert_eq!(pacer.next_wake(), at(54));
        assert!(!pacer.holds(at(54), &state));
        pacer.sent(at(54), 1000, &state);
        assert!(pacer.holds(at(57), &state));
        assert_eq!(pacer.next_wake(), at(58));
        // A rate set by the congestion control.
        let state = State { sk_pacing_rate: 1_000_000, ..state };
        let mut pacer = Pacer::new(true, 1, 125);
        pacer.sent(at(100), 1000, &state);
        assert!(pacer.holds(at(100), &state));
        assert_eq!(pacer.next_wake(), at(101));
    }
}
