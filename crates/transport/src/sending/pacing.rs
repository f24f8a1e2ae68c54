//! Pacing: segments leave one by one at a rate, instead of in bursts.
//!
//! A connection is paced if its congestion control requests it (`sk_pacing_status`), or always with
//! the option `pacing`, as with Linux's fq queue discipline. The rate is `sk_pacing_rate`, in bytes
//! of payload per second. A congestion control with `cong_control` sets the rate itself. For others
//! the rate follows from the window after each acknowledgment, as in Linux (sysctls
//! tcp_pacing_ss_ratio and tcp_pacing_ca_ratio, Documentation/networking/ip-sysctl.rst):
//!
//! rate = ratio max(cwnd, packets_out) MSS / SRTT
//!
//! The rate stays constant until the next acknowledgment, even if the window changes, as after a
//! pause. The ratio is 200 % while cwnd < ssthresh / 2, which lets the window double in a round
//! trip, and 120 % above (the limit ssthresh / 2 is that of Linux's commit "tcp: refine pacing rate
//! determination", 2015).
//!
//! Times of departure follow Linux's internal pacing (commit "tcp: optimize tcp internal pacing"
//! and its successors, 2018): a segment sent at t permits the next one at t + payload / rate.
//! Bursts that end before the tenth segment of a connection are not paced, except with a scalable
//! congestion control, which has no unpaced segments
//! (draft-briscoe-iccrg-prague-congestion-control-04, section 2.5). A sender may be later
//! than permitted, because acknowledgments were late. It is credited with that time for the next
//! segment, up to half of the segment's transmission time, so that small delays do not reduce a
//! rate near the bottleneck's.
//!
//! Segments of a burst ([`crate::tcp::bursts`]) leave together. The next burst waits for the
//! transmission time of all their bytes.

use bentpipe_congestion::interface::{State, PACING_NONE, PACING_PACED};
use bentpipe_core::{Span, Time};

/// Number of the first paced segment of a connection.
const UNPACED: u32 = 10;

/// Segments that have left together, as a burst.
#[derive(Clone, Debug, Default)]
struct Burst {
    from: Time,
    /// Nanoseconds by which the burst left later than permitted.
    late: u64,
    /// Nanoseconds that the burst's bytes take at the rate.
    cost: u64,
}

/// The pacing state of a connection.
#[derive(Clone, Debug)]
pub struct Pacing {
    next: Time,
    /// The last burst that left.
    burst: Burst,
    /// Time of the requested wake.
    wake: Time,
    /// Number of segments sent, up to [`UNPACED`].
    sent: u32,
    slow_start_percent: u64,
    avoidance_percent: u64,
    /// Numerator and denominator of the rate that follows from the window at the last
    /// acknowledgment, in segments.
    by_window: (u64, u32),
    /// Payload, rate and time of the last segment: most segments equal the previous one, and
    /// division is slow.
    last: (u32, u64, u64),
}

impl Pacing {
    /// Creates the state before anything is sent. The ratios are percentages of cwnd / SRTT.
    pub fn new(slow_start_percent: u64, avoidance_percent: u64) -> Pacing {
        Pacing {
            next: Time::ZERO,
            burst: Burst::default(),
            wake: Time::MAX,
            sent: 0,
            slow_start_percent,
            avoidance_percent,
            by_window: (0, 0),
            last: (0, 1, 0),
        }
    }

    /// Returns true if the next segment must wait for the pacing rate. If so, requests a wake.
    #[inline]
    pub fn holds(&mut self, now: Time, state: &State) -> bool {
        let holds = now < self.next && state.sk_pacing_status != PACING_NONE;
        self.wake = if holds { self.next } else { Time::MAX };
        holds
    }

    /// Records that a segment with this payload leaves; `continues` if it is in a burst with the
    /// previous one.
    #[inline]
    pub fn sent(&mut self, now: Time, payload: u32, continues: bool, state: &mut State) {
        if state.sk_pacing_status == PACING_NONE {
            return;
        }
        if !continues {
            self.burst =
                Burst { from: self.next.max(now), late: now.since(self.next.min(now)).as_nanos(), cost: 0 };
            self.next = self.burst.from;
        }
        if self.sent < UNPACED {
            self.sent += 1;
        }
        if state.sk_pacing_rate != u64::MAX {
            let rate = state.sk_pacing_rate.max(1);
            if (payload, rate) != (self.last.0, self.last.1) {
                self.last = (payload, rate, u64::from(payload) * 1_000_000_000 / rate);
            }
            let burst = &mut self.burst;
            burst.cost += self.last.2;
            if self.sent == UNPACED {
                self.next = burst.from + Span::from_nanos(burst.cost - burst.late.min(burst.cost / 2));
            }
        }
        state.tcp_wstamp_ns = self.next.as_nanos();
    }

    /// Sets the rate after an acknowledgment, for a congestion control that sets none.
    #[inline]
    pub fn follow_window(&mut self, state: &mut State) {
        self.by_window = (self.window_in_eighths(state), state.srtt_us);
        if state.sk_pacing_status != PACING_NONE && state.srtt_us != 0 {
            state.sk_pacing_rate = self.window_rate(state).min(state.sk_max_pacing_rate);
        }
    }

    /// Returns the rate at which the connection is paced, or would be; `u64::MAX` if it is unknown.
    #[inline]
    pub fn rate(&self, state: &State) -> u64 {
        if state.sk_pacing_status != PACING_NONE {
            state.sk_pacing_rate
        } else if self.by_window.1 == 0 {
            u64::MAX
        } else {
            self.window_rate(state)
        }
    }

    /// Returns true if that rate carries fewer than `segments` in 1/1024 s.
    #[inline]
    pub fn carries_less(&self, segments: u32, state: &State) -> bool {
        if state.sk_pacing_status != PACING_NONE {
            state.sk_pacing_rate < u64::from(segments) * u64::from(state.mss_cache) * 1024
        } else {
            self.by_window.0 < u64::from(segments) * 1024 * u64::from(self.by_window.1)
        }
    }

    fn window_rate(&self, state: &State) -> u64 {
        let window = u64::from(state.mss_cache).saturating_mul(self.by_window.0);
        window / u64::from(self.by_window.1)
    }

    /// Returns the segments that the ratio permits per round-trip time, times the unit of `srtt_us`
    /// in a second.
    #[inline]
    fn window_in_eighths(&self, state: &State) -> u64 {
        let percent = if state.snd_cwnd < state.snd_ssthresh / 2 {
            self.slow_start_percent
        } else {
            self.avoidance_percent
        };
        u64::from(state.snd_cwnd.max(state.packets_out)) * percent * (8_000_000 / 100)
    }

    /// Paces all further segments, also if they are among the first of the connection.
    pub fn without_unpaced_start(&mut self, now: Time) {
        self.sent = UNPACED;
        self.next = now;
    }

    /// Returns the time at which the next segment may leave; a past time if it may leave now.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Returns the time of the next check; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.wake
    }

    /// Handles the requested wake.
    #[inline]
    pub fn wake(&mut self, now: Time) -> bool {
        let due = self.wake <= now;
        if due {
            self.wake = Time::MAX;
        }
        due
    }

    /// Cancels the requested wake.
    pub fn stop(&mut self) {
        self.wake = Time::MAX;
    }
}

/// Enables pacing independent of the congestion control (Linux's SK_PACING_FQ).
pub fn pace_always(state: &mut State) {
    state.sk_pacing_status = PACING_PACED;
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_congestion::interface::{INFINITE_SSTHRESH, PACING_NEEDED};

    fn paced(rate: u64) -> (Pacing, State) {
        let state = State {
            sk_pacing_status: PACING_NEEDED,
            sk_pacing_rate: rate,
            sk_max_pacing_rate: u64::MAX,
            ..State::default()
        };
        (Pacing { sent: UNPACED, ..Pacing::new(200, 120) }, state)
    }

    #[test]
    fn the_next_segment_waits_for_the_transmission_time_of_the_previous_one() {
        let (mut pacing, mut state) = paced(1_000_000);
        let at = |microseconds| Time::ZERO + Span::from_micros(microseconds);
        pacing.next = at(5000);
        assert!(pacing.holds(at(4999), &state));
        assert_eq!(pacing.next_wake(), at(5000));
        assert!(!pacing.holds(at(5000), &state));
        assert_eq!(pacing.next_wake(), Time::MAX);
        pacing.sent(at(5000), 1000, false, &mut state);
        assert_eq!(pacing.next, at(6000));
        // 200 us late: credited to the next segment. 3 ms late: the credit is half of a segment's
        // time.
        pacing.sent(at(6200), 1000, false, &mut state);
        assert_eq!(pacing.next, at(7000));
        pacing.sent(at(10_000), 1000, false, &mut state);
        assert_eq!(pacing.next, at(10_500));
        // A burst is credited with half of its own time.
        pacing.sent(at(20_000), 1000, false, &mut state);
        pacing.sent(at(20_000), 1000, true, &mut state);
        assert_eq!(pacing.next, at(21_000));
    }

    /// draft-briscoe-iccrg-prague-congestion-control-04, section 2.5.
    #[test]
    fn a_scalable_control_paces_the_first_segment() {
        let (_, mut state) = paced(1_000_000);
        let mut pacing = Pacing::new(200, 120);
        pacing.without_unpaced_start(Time::ZERO);
        pacing.sent(Time::ZERO, 1000, false, &mut state);
        assert!(pacing.holds(Time::ZERO, &state));
        assert_eq!(pacing.next_wake(), Time::ZERO + Span::from_millis(1));
    }

    #[test]
    fn the_first_ten_segments_and_unpaced_connections_are_not_delayed() {
        let (_, mut state) = paced(1000);
        let mut pacing = Pacing::new(200, 120);
        for _ in 0..10 {
            assert!(!pacing.holds(Time::ZERO, &state));
            pacing.sent(Time::ZERO, 1000, false, &mut state);
        }
        assert!(pacing.holds(Time::ZERO, &state));
        state.sk_pacing_status = PACING_NONE;
        assert!(!pacing.holds(Time::ZERO, &state));
    }

    /// From captures of Linux 6.12: after five segments of a response, three pairs leave without
    /// pacing (the sixth to the eleventh segment), and the next pair leaves after the time of two
    /// segments.
    #[test]
    fn the_burst_with_the_tenth_segment_is_paced_as_a_whole() {
        for before in [4, 5] {
            let (_, mut state) = paced(1_000_000);
            let mut pacing = Pacing::new(200, 120);
            for segment in 0..before + 6 {
                let continues = segment > before && (segment - before) % 2 == 1;
                assert!(continues || !pacing.holds(Time::ZERO, &state), "{segment}");
                pacing.sent(Time::ZERO, 1000, continues, &mut state);
            }
            assert_eq!(pacing.next, Time::ZERO + Span::from_millis(2));
        }
    }

    #[test]
    fn the_rate_is_2_or_1_2_times_the_window_per_round_trip_time() {
        let (mut pacing, mut state) = paced(0);
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
}
