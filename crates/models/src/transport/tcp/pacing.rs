//! Pacing: segments leave one after the other at a rate, instead of in bursts.
//!
//! A connection is paced if its congestion control asks for it (`sk_pacing_status`), or always with the
//! option `pacing`, as with Linux' fq queue discipline. The rate is `sk_pacing_rate`, in bytes of payload per
//! second. A congestion control with `cong_control` sets it itself; for others it follows from the window
//! after each acknowledgment, as in Linux (sysctls tcp_pacing_ss_ratio and tcp_pacing_ca_ratio,
//! Documentation/networking/ip-sysctl.rst):
//!
//! rate = ratio max(cwnd, packets_out) MSS / SRTT
//!
//! with a ratio of 200 % while cwnd < ssthresh / 2, which lets the window double in a round trip, and 120 %
//! above (the border is that of Linux' commit "tcp: refine pacing rate determination", 2015).
//!
//! When segments leave (Linux' internal pacing, commit "tcp: optimize tcp internal pacing" and its
//! successors, 2018): a segment sent at t lets the next one leave at t + payload / rate. The first ten are
//! not paced, as with fq. A sender that is later than permitted, because acknowledgments were late, is
//! credited with that time for the next segment, up to half of its cost, so that a rate near the bottleneck's
//! is not lost by small delays.
//!
//! With segmentation offload, the segments of a millisecond at the pacing rate, at least two and at most 64
//! KB, leave as one packet (Linux' TSO autosizing, commit "tcp: TSO packets automatic sizing", 2013, and
//! ip-sysctl's tcp_min_tso_segs). Less than that waits for the next acknowledgment, unless that is far off or
//! the window is small (commit "tcp: tso: restore IW10 after TSO autosizing", 2015, and ip-sysctl's
//! tcp_tso_win_divisor, 3).

use super::congestion::{State, CA_RECOVERY, PACING_NONE, PACING_PACED};
use bentpipe_core::{Span, Time};

/// Number of segments at the start of a connection that are not paced.
const UNPACED: u32 = 10;

/// A third of the window leaves without waiting for more.
const WINDOW_DIVISOR: u32 = 3;

/// Minimum number of segments and maximum number of bytes of a packet.
const LEAST_BURST: u64 = 2;
const MOST_BURST: u64 = 65_000;

/// When the next segment may leave.
#[derive(Clone, Debug)]
pub struct Pacing {
    offload: bool,
    /// Whether segments are being added to a packet that leaves.
    adding: bool,
    next: Time,
    /// The requested wake.
    wake: Time,
    /// Number of segments sent, up to [`UNPACED`].
    sent: u32,
    slow_start_percent: u64,
    avoidance_percent: u64,
    /// Payload, rate and time of the last segment: most segments equal the previous one, and division is
    /// slow.
    last: (u32, u64, u64),
}

impl Pacing {
    /// Creates the state before anything is sent. The ratios are percentages of cwnd / SRTT.
    pub fn new(slow_start_percent: u64, avoidance_percent: u64, offload: bool) -> Pacing {
        Pacing {
            offload,
            adding: false,
            next: Time::ZERO,
            wake: Time::MAX,
            sent: 0,
            slow_start_percent,
            avoidance_percent,
            last: (0, 1, 0),
        }
    }

    /// Number of segments that leave as one packet.
    #[inline]
    pub fn burst(&self, state: &State) -> u32 {
        if !self.offload {
            return 1;
        }
        let size = u64::from(state.mss_cache.max(1));
        (state.sk_pacing_rate / 1024).min(MOST_BURST).div_euclid(size).max(LEAST_BURST).min(MOST_BURST / size)
            as u32
    }

    /// Whether `room` segments, which the window permits, should wait for the next acknowledgment. `age`:
    /// time since the first outstanding one was sent.
    #[inline]
    pub fn defers(&self, room: u32, age: Span, state: &State) -> bool {
        self.offload
            && !self.adding
            && state.ca_state < CA_RECOVERY
            && room < self.burst(state).min(state.snd_cwnd)
            && room < state.snd_cwnd / WINDOW_DIVISOR
            && age.as_micros() >= u64::from(state.srtt_us >> 4)
    }

    /// Between calls with `true` and `false`, segments are added to a packet and need not wait.
    #[inline]
    pub fn add(&mut self, adding: bool) {
        self.adding = adding;
    }

    /// Whether a segment that could leave now must wait. If so, requests a wake.
    #[inline]
    pub fn holds(&mut self, now: Time, state: &State) -> bool {
        let holds = now < self.next && !self.adding && state.sk_pacing_status != PACING_NONE;
        self.wake = if holds { self.next } else { Time::MAX };
        holds
    }

    /// Records that a segment with this payload leaves.
    #[inline]
    pub fn sent(&mut self, now: Time, payload: u32, state: &State) {
        if state.sk_pacing_status == PACING_NONE {
            return;
        }
        let late = now.since(self.next.min(now));
        self.next = self.next.max(now);
        if self.sent < UNPACED {
            self.sent += 1;
        } else if state.sk_pacing_rate != u64::MAX {
            let rate = state.sk_pacing_rate.max(1);
            if (payload, rate) != (self.last.0, self.last.1) {
                self.last = (payload, rate, u64::from(payload) * 1_000_000_000 / rate);
            }
            let nanoseconds = self.last.2;
            self.next += Span::from_nanos(nanoseconds - late.as_nanos().min(nanoseconds / 2));
        }
    }

    /// Sets the rate after an acknowledgment, for a congestion control that sets none.
    #[inline]
    pub fn follow_window(&self, state: &mut State) {
        if (state.sk_pacing_status == PACING_NONE && !self.offload) || state.srtt_us == 0 {
            return;
        }
        let percent = if state.snd_cwnd < state.snd_ssthresh / 2 {
            self.slow_start_percent
        } else {
            self.avoidance_percent
        };
        let window = u64::from(state.mss_cache) * u64::from(state.snd_cwnd.max(state.packets_out));
        // SRTT is in eighths of a microsecond.
        let rate = window.saturating_mul(percent * (8_000_000 / 100)) / u64::from(state.srtt_us);
        state.sk_pacing_rate = rate.min(state.sk_max_pacing_rate);
    }

    /// Paces the first segments of a connection too, from now on.
    pub fn without_allowance(&mut self, now: Time) {
        self.sent = UNPACED;
        self.next = now;
    }

    /// When to check again; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.wake
    }

    /// Handles the requested wake.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        if self.wake <= now {
            self.wake = Time::MAX;
        }
    }

    /// Cancels the requested wake.
    pub fn stop(&mut self) {
        self.wake = Time::MAX;
    }
}

/// Paces regardless of the congestion control (Linux' SK_PACING_FQ).
pub fn pace_always(state: &mut State) {
    state.sk_pacing_status = PACING_PACED;
}

#[cfg(test)]
mod tests {
    use super::super::congestion::{INFINITE_SSTHRESH, PACING_NEEDED};
    use super::*;

    fn paced(rate: u64) -> (Pacing, State) {
        let state = State {
            sk_pacing_status: PACING_NEEDED,
            sk_pacing_rate: rate,
            sk_max_pacing_rate: u64::MAX,
            ..State::default()
        };
        (Pacing { sent: UNPACED, ..Pacing::new(200, 120, false) }, state)
    }

    #[test]
    fn a_segment_keeps_the_next_waiting_for_its_bytes_over_the_rate() {
        let (mut pacing, state) = paced(1_000_000);
        let at = |microseconds| Time::ZERO + Span::from_micros(microseconds);
        pacing.next = at(5000);
        assert!(pacing.holds(at(4999), &state));
        assert_eq!(pacing.next_wake(), at(5000));
        assert!(!pacing.holds(at(5000), &state));
        assert_eq!(pacing.next_wake(), Time::MAX);
        pacing.sent(at(5000), 1000, &state);
        assert_eq!(pacing.next, at(6000));
        // 200 us late: given for the next; 3 ms late: half of a segment's time.
        pacing.sent(at(6200), 1000, &state);
        assert_eq!(pacing.next, at(7000));
        pacing.sent(at(10_000), 1000, &state);
        assert_eq!(pacing.next, at(10_500));
    }

    #[test]
    fn ten_segments_go_at_once_and_none_wait_when_nobody_asked() {
        let (_, mut state) = paced(1000);
        let mut pacing = Pacing::new(200, 120, false);
        for _ in 0..10 {
            assert!(!pacing.holds(Time::ZERO, &state));
            pacing.sent(Time::ZERO, 1000, &state);
        }
        assert!(!pacing.holds(Time::ZERO, &state));
        pacing.sent(Time::ZERO, 1000, &state);
        assert!(pacing.holds(Time::ZERO, &state));
        state.sk_pacing_status = PACING_NONE;
        assert!(!pacing.holds(Time::ZERO, &state));
    }

    #[test]
    fn the_rate_follows_the_window_at_twice_or_at_1_2_times_its_speed() {
        let (pacing, mut state) = paced(0);
        // 100 segments of 1000 bytes in 500 ms are 200 kB/s.
        (state.mss_cache, state.snd_cwnd, state.srtt_us) = (1000, 100, 500_000 * 8);
        for (ssthresh, packets_out, rate) in [
            (INFINITE_SSTHRESH, 100, 400_000),
            (202, 100, 400_000),
            (200, 100, 240_000),
            (50, 100, 240_000),
            (50, 200, 480_000),
        ] {
            (state.snd_ssthresh, state.packets_out) = (ssthresh, packets_out);
            pacing.follow_window(&mut state);
            assert_eq!(state.sk_pacing_rate, rate);
        }
        state.sk_max_pacing_rate = 1000;
        pacing.follow_window(&mut state);
        assert_eq!(state.sk_pacing_rate, 1000);
    }

    #[test]
    fn a_millisecond_of_the_rate_leaves_as_one_packet() {
        let (_, mut state) = paced(0);
        let pacing = Pacing::new(200, 120, true);
        (state.mss_cache, state.snd_cwnd, state.srtt_us) = (1448, 30, 100_000 * 8);
        for (rate, segments) in [(100_000, 2), (12_500_000, 8), (u64::MAX, 44)] {
            state.sk_pacing_rate = rate;
            assert_eq!(pacing.burst(&state), segments);
            assert_eq!(Pacing::new(200, 120, false).burst(&state), 1);
        }
        // One segment waits for a second when the next acknowledgment is near.
        state.sk_pacing_rate = 100_000;
        let age = Span::from_millis;
        assert!(pacing.defers(1, age(60), &state));
        assert!(!pacing.defers(2, age(60), &state), "that is a whole packet");
        assert!(!pacing.defers(1, age(40), &state), "the next acknowledgment is far away");
        state.snd_cwnd = 3;
        assert!(!pacing.defers(1, age(60), &state), "a third of the window");
    }
}
