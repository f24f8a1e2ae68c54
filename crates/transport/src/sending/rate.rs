//! Delivery rate of the network, sampled with each acknowledgment
//! (draft-cheng-iccrg-delivery-rate-estimation-02, with its names).
//!
//! Each segment stores C.delivered, C.delivered_time and C.first_sent_time of its last transmission
//! (section 3.2, SendPacket). An acknowledgment uses the newly delivered segment that was sent last
//! (section 3.3, UpdateRateSample and GenerateRateSample):
//!
//! - send_elapsed = P.sent_time - P.first_sent_time, ack_elapsed = now - P.delivered_time;
//! - interval = max(send_elapsed, ack_elapsed), so that neither a burst nor compressed
//!   acknowledgments on the return path yield a rate above the path's;
//! - delivered = C.delivered - P.delivered, in segments; the rate is delivered / interval;
//! - an interval shorter than the smallest round-trip time is not possible and makes the sample
//!   invalid (-1).
//!
//! A sample is application-limited if its segment was sent while the application supplied too
//! little data to fill the window (section 3.4, [`check_application_limited`]). This is checked
//! when the application writes. In profiles other than those of Linux it is also checked when an
//! acknowledgment arrives or a timer expires; in Linux 6.12, data retransmitted after the first
//! acknowledgment of a response is not limited.
//!
//! Deviations: as in Linux, segments are counted instead of bytes, and the SYN is one (so the first
//! acknowledgment of data ends the time before the application's first write). C.first_sent_time
//! and C.delivered_time are also reset when nothing is outstanding rather than when nothing is in
//! flight. No state is kept for congestion controls that take no samples.

use super::{in_flight, Newest};
use bentpipe_congestion::interface::{RateSample, State};
use bentpipe_core::Time;
use std::collections::VecDeque;

/// The state stored with a segment.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    delivered_time: Time,
    first_sent_time: Time,
    delivered: u32,
    is_app_limited: bool,
}

/// The delivery rate of one connection.
#[derive(Debug, Default)]
pub struct Estimator {
    /// Stamps of the outstanding segments, in order.
    stamps: VecDeque<Stamp>,
    /// Number of the first outstanding segment.
    first: u64,
    delivered_time: Time,
    first_sent_time: Time,
}

impl Estimator {
    /// Creates an estimator whose first segment has this number.
    pub fn starting_at(first: u64) -> Estimator {
        Estimator { first, ..Estimator::default() }
    }

    /// Records the first transmission of a segment; `nothing_out` if nothing else is outstanding.
    #[inline]
    pub fn sent(&mut self, now: Time, nothing_out: bool, state: &State) {
        if nothing_out {
            self.first_sent_time = now;
            self.delivered_time = now;
        }
        let stamp = self.stamp(state);
        self.stamps.push_back(stamp);
    }

    /// Records the retransmission of segment `number`.
    #[inline]
    pub fn resent(&mut self, number: u64, state: &State) {
        let stamp = self.stamp(state);
        self.stamps[(number - self.first) as usize] = stamp;
    }

    /// Takes a sample after an acknowledgment that `state.delivered` and `state.rtt_min_us` already
    /// include. `newest` is the newly delivered segment that was sent last; segments before `first`
    /// are no longer outstanding.
    #[inline]
    pub fn sample(
        &mut self,
        now: Time,
        newest: Option<Newest>,
        delivered: u32,
        first: u64,
        state: &mut State,
    ) -> RateSample {
        if state.app_limited != 0 && state.delivered.wrapping_sub(state.app_limited) as i32 > 0 {
            state.app_limited = 0;
        }
        let mut sample = RateSample {
            delivered: -1,
            interval_us: -1,
            rtt_us: -1,
            acked_sacked: delivered,
            ..RateSample::default()
        };
        if delivered > 0 {
            if let Some(newest) = newest {
                let stamp = self.stamps[(newest.number - self.first) as usize];
                let send_elapsed = newest.sent.since(stamp.first_sent_time);
                let ack_elapsed = now.since(stamp.delivered_time);
                self.first_sent_time = newest.sent;
                let interval = send_elapsed.max(ack_elapsed).as_micros();
                sample.prior_mstamp = stamp.delivered_time.as_nanos() / 1000;
                sample.prior_delivered = stamp.delivered;
                sample.delivered = state.delivered.wrapping_sub(stamp.delivered) as i32;
                sample.is_app_limited = stamp.is_app_limited.into();
                sample.is_retrans = newest.resent.into();
                if interval >= u64::from(state.rtt_min_us) {
                    sample.interval_us = interval as i64;
                }
            }
            self.delivered_time = now;
        }
        while self.first < first {
            self.stamps.pop_front();
            self.first += 1;
        }
        sample
    }

    fn stamp(&self, state: &State) -> Stamp {
        Stamp {
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            delivered: state.delivered,
            is_app_limited: state.app_limited != 0,
        }
    }
}

/// Marks the connection application-limited (section 3.4) if less than a segment waits to be sent,
/// the window would permit more, and no lost segment waits. The mark lasts until the data now in
/// flight has been delivered.
#[inline]
pub fn check_application_limited(unsent: u64, state: &mut State) {
    let flight = in_flight(state);
    if unsent < u64::from(state.mss_cache) && flight < state.snd_cwnd && state.lost_out <= state.retrans_out {
        state.app_limited = state.delivered.wrapping_add(flight).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Span;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    fn newest(number: u64, sent: Time) -> Option<Newest> {
        Some(Newest { number, sent, resent: false, end: 0 })
    }

    /// Acknowledges segment `number` at `now`.
    fn deliver(rate: &mut Estimator, state: &mut State, now: Time, number: u64, sent: Time) -> RateSample {
        state.delivered += 1;
        rate.sample(now, newest(number, sent), 1, number + 1, state)
    }

    #[test]
    fn the_rate_equals_that_of_the_bottleneck_for_any_spacing_of_the_window() {
        // Ten segments leave at once. The bottleneck forwards one every 10 ms, with a round-trip
        // time of 100 ms.
        let (mut rate, mut state) = (Estimator::default(), State { rtt_min_us: 1, ..State::default() });
        for number in 0..10 {
            rate.sent(at(0), number == 0, &state);
        }
        let mut sent = vec![at(0); 10];
        let mut samples = Vec::new();
        for number in 0..30 {
            let now = at(100 + 10 * number);
            let sample = deliver(&mut rate, &mut state, now, number, sent[number as usize]);
            assert_eq!(sample.prior_mstamp, if number < 10 { 0 } else { 10_000 * number });
            samples.push((sample.delivered, sample.interval_us));
            rate.sent(now, false, &state);
            sent.push(now);
        }
        // When the first window was sent, nothing had been delivered.
        assert_eq!([samples[0], samples[9]], [(1, 100_000), (10, 190_000)]);
        // The second window was sent at the rate of the first one's acknowledgments, and the first
        // window was sent at once.
        assert_eq!([samples[10], samples[19]], [(10, 100_000), (10, 190_000)]);
        // From then on: ten segments in 100 ms.
        assert!(samples[20..].iter().all(|sample| *sample == (10, 100_000)), "{samples:?}");
    }

    #[test]
    fn compressed_acknowledgments_do_not_raise_the_rate() {
        let (mut rate, mut state) = (Estimator::default(), State { rtt_min_us: 1, ..State::default() });
        for number in 0..10 {
            rate.sent(at(10 * number), number == 0, &state);
        }
        // Sent within 90 ms, acknowledged within 9 ms.
        for number in 0..10 {
            let sample = deliver(&mut rate, &mut state, at(200 + number), number, at(10 * number));
            assert!(sample.interval_us >= 10_000 * number as i64, "{sample:?}");
        }
        let last = deliver_again(&mut rate, &mut state);
        assert_eq!(last, (1, 100_000));
    }

    /// Delivers one more segment, sent at 300 ms while nothing is outstanding and acknowledged at
    /// 400 ms.
    fn deliver_again(rate: &mut Estimator, state: &mut State) -> (i32, i64) {
        rate.sent(at(300), true, state);
        let sample = deliver(rate, state, at(400), 10, at(300));
        (sample.delivered, sample.interval_us)
    }

    #[test]
    fn an_interval_below_the_smallest_round_trip_time_is_no_sample() {
        let (mut rate, mut state) = (Estimator::default(), State { rtt_min_us: 100_000, ..State::default() });
        rate.sent(at(0), true, &state);
        let sample = deliver(&mut rate, &mut state, at(50), 0, at(0));
        assert_eq!((sample.delivered, sample.interval_us), (1, -1));
        let nothing = rate.sample(at(60), None, 0, 1, &mut state);
        assert_eq!((nothing.delivered, nothing.interval_us, nothing.prior_mstamp), (-1, -1, 0));
    }

    #[test]
    fn samples_are_application_limited_until_the_data_in_flight_is_delivered() {
        let (mut rate, mut state) = (
            Estimator::default(),
            State { rtt_min_us: 1, snd_cwnd: 10, mss_cache: 1000, ..State::default() },
        );
        let send = |rate: &mut Estimator, state: &mut State, number: u64| {
            rate.sent(at(number), number == 0, state);
            state.packets_out += 1;
        };
        send(&mut rate, &mut state, 0);
        check_application_limited(5000, &mut state);
        assert_eq!(state.app_limited, 0, "there is something to send");
        send(&mut rate, &mut state, 1);
        check_application_limited(999, &mut state);
        assert_eq!(state.app_limited, 2);
        send(&mut rate, &mut state, 2);
        let limited: Vec<u32> = (0..3)
            .map(|number| {
                state.packets_out -= 1;
                deliver(&mut rate, &mut state, at(100 + number), number, at(number)).is_app_limited
            })
            .collect();
        assert_eq!(limited, [0, 0, 1]);
        assert_eq!(state.app_limited, 0);
        state.packets_out = 10;
        check_application_limited(0, &mut state);
        assert_eq!(state.app_limited, 0, "the window is full");
    }
}
