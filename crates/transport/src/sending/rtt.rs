//! Round-trip time and retransmission time-out (RFC 6298).
//!
//! With the first sample R: SRTT = R, RTTVAR = R/2 (2.2). With each later one (2.3): RTTVAR = 3/4
//! RTTVAR + 1/4 |SRTT - R|, then SRTT = 7/8 SRTT + 1/8 R. RTO = SRTT + max(G, 4 RTTVAR), at least
//! `rto_min` (2.4), at most `rto_max` (2.5), and doubled by each time-out (5.5). The sender selects
//! the segments that give samples (Karn's algorithm, section 3). A back-off lasts until the next
//! sample, as in Linux (`tcp_ack_update_rtt`).
//!
//! With `rto_estimator = "linux"` the term 4 RTTVAR is replaced (Sarolahti and Kuznetsov,
//! "Congestion Control in Linux TCP", USENIX 2002, section 3) by the maximum mean deviation of the
//! last round trip, at least `rto_variance_min`. It follows a rise at once, and falls by a quarter
//! of the difference per round trip. A sample below SRTT - RTTVAR, which indicates a faster path,
//! raises the deviation by only an eighth of the usual step.
//!
//! A round-trip time from an echoed timestamp is a number of whole ticks of its clock, at least one
//! (RFC 7323, section 4.1).
//!
//! With a coarse clock (`timer_tick`) a round trip is counted in ticks. Linux rounds the time-out
//! up to whole jiffies (`jiffy`). [`super::clock`] determines its expiry.
//!
//! Values are integers as in Linux: SRTT in eighths and RTTVAR in quarters of a microsecond, so the
//! stored value is 4 RTTVAR in microseconds. Deviation from Linux: the minimum round-trip time is
//! that of the whole connection, not of the last five minutes.

use super::clock::Clock;
use bentpipe_congestion::interface::State;
use bentpipe_core::Span;

/// Time-out for data after a handshake without a sample (5.7).
const FALLBACK: Span = Span::from_secs(3);

/// The constants of an estimator.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// True for Linux's replacement of the term 4 RTTVAR.
    pub is_linux: bool,
    /// Period of a coarse clock in which round trips are counted; zero for an exact one.
    pub tick: Span,
    /// The clock whose steps round the time-out up.
    pub clock: Clock,
    /// Time-out before the first sample.
    pub initial: Span,
    /// Minimum of the time-out (RTO).
    pub min: Span,
    /// Maximum of the time-out (RTO).
    pub max: Span,
    /// Minimum of the term 4 RTTVAR (G of RFC 6298).
    pub variance_min: Span,
}

/// The estimates of one connection: SRTT, RTTVAR and RTO.
#[derive(Clone, Debug)]
pub struct Estimator {
    /// SRTT in eighths of a microsecond; 0 before the first sample. It has 64 bits, unlike in
    /// [`State`], whose 32 bits cannot represent round trips to other planets.
    srtt: u64,
    /// RTTVAR in quarters of a microsecond.
    rttvar: u64,
    /// State of Linux's estimator.
    max_deviation: Option<MaxDeviation>,
    rto: Span,
    backoff: u32,
    rules: Rules,
}

/// Mean deviations in quarters of a microsecond (Linux's `rttvar_us` and `mdev_max_us`).
#[derive(Clone, Copy, Debug, Default)]
struct MaxDeviation {
    /// The deviation used for the time-out.
    used: u64,
    /// The maximum deviation of the present round trip.
    now: u64,
    /// Sequence number at which the round trip ends.
    end: u32,
}

impl Estimator {
    /// Creates the estimates before the first sample.
    pub fn new(rules: Rules) -> Estimator {
        Estimator {
            srtt: 0,
            rttvar: 0,
            max_deviation: rules.is_linux.then(MaxDeviation::default),
            rto: rules.initial,
            backoff: 0,
            rules,
        }
    }

    /// Adds a sample, ends any back-off, and writes the estimates to `state`.
    #[inline]
    pub fn sample(&mut self, rtt: Span, state: &mut State) {
        let mut sample = rtt.as_micros().max(1);
        if self.rules.tick > Span::ZERO {
            let tick = self.rules.tick.as_micros().max(1);
            sample = sample.div_ceil(tick) * tick;
        }
        let first = self.srtt == 0;
        if first {
            self.srtt = sample * 8;
            self.rttvar = sample * 2;
        } else {
            let smoothed = self.srtt / 8;
            let deviation = sample.abs_diff(smoothed);
            let mean = self.rttvar / 4;
            // Only Linux's estimator gives less weight to a falling round-trip time.
            let falls = sample < smoothed && deviation > mean && self.max_deviation.is_some();
            self.rttvar =
                if falls { self.rttvar + (deviation - mean) / 8 } else { self.rttvar - mean + deviation };
            self.srtt = self.srtt - smoothed + sample;
        }
        self.backoff = 0;
        let variance = self.follow_max_deviation(first, state);
        let rto = self.rules.clock.round_up(Span::from_micros(self.srtt / 8) + variance);
        self.rto = rto.max(self.rules.min).min(self.rules.max);
        let fit = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        state.srtt_us = fit(self.srtt);
        state.mdev_us = fit(self.rttvar);
        state.rtt_min_us = state.rtt_min_us.min(fit(sample));
    }

    /// Returns the term 4 RTTVAR of the time-out.
    #[inline]
    fn follow_max_deviation(&mut self, first: bool, state: &State) -> Span {
        let min = self.rules.variance_min.as_micros();
        let Some(max_deviation) = &mut self.max_deviation else {
            return Span::from_micros(self.rttvar.max(min));
        };
        if first {
            let value = self.rttvar.max(min);
            *max_deviation = MaxDeviation { used: value, now: value, end: state.snd_nxt };
        } else {
            max_deviation.now = max_deviation.now.max(self.rttvar);
            max_deviation.used = max_deviation.used.max(max_deviation.now);
            if state.snd_una.wrapping_sub(max_deviation.end) as i32 > 0 {
                max_deviation.used -= (max_deviation.used - max_deviation.now) / 4;
                max_deviation.now = min;
                max_deviation.end = state.snd_nxt;
            }
        }
        Span::from_micros(max_deviation.used)
    }

    /// Restarts the estimates for another path. Its round-trip time counts as the first sample.
    pub fn restart(&mut self, rtt: Span, state: &mut State) {
        self.srtt = 0;
        state.rtt_min_us = u32::MAX;
        self.sample(rtt, state);
    }

    /// Sets the initial time-out for data to 3 s, because the handshake gave no sample: its SYN was
    /// sent more than once (5.7).
    pub fn fall_back(&mut self) {
        self.rto = self.rto.max(FALLBACK).min(self.rules.max);
    }

    /// Doubles the retransmission time-out after it has expired (RFC 6298, section 5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Undoes all doubling of the retransmission time-out.
    pub fn reset_back_off(&mut self) {
        self.backoff = 0;
    }

    /// Returns the time-out, back-off included.
    #[inline]
    pub fn rto(&self) -> Span {
        if self.backoff == 0 {
            self.rto
        } else {
            self.backed_off()
        }
    }

    #[cold]
    fn backed_off(&self) -> Span {
        (self.rto * (1 << self.backoff.min(32))).min(self.rules.max)
    }

    /// Returns SRTT; `None` before the first sample.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        (self.srtt > 0).then(|| Span::from_micros(self.srtt / 8))
    }

    /// Returns SRTT in seconds; NaN before the first sample.
    pub fn srtt_seconds(&self) -> f64 {
        if self.srtt == 0 {
            f64::NAN
        } else {
            self.srtt as f64 / 8e6
        }
    }

    /// Returns RTTVAR in seconds; NaN before the first sample.
    pub fn rttvar_seconds(&self) -> f64 {
        if self.srtt == 0 {
            f64::NAN
        } else {
            self.rttvar as f64 / 4e6
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::{Config, Profile};

    /// Columns: case, number, R, SRTT, RTTVAR, RTO with G = 0.1 s and at least 1 s, RTO with G =
    /// 0.2 s and no minimum (tests/authorities/tcp/PROVENANCE.md).
    const CASES: &str = include_str!("../../../../tests/authorities/tcp/rfc6298_rto_cases.csv");

    #[test]
    fn estimates_follow_the_reference_rows_of_rfc_6298() {
        let rfc = Config {
            rto_variance_min: Span::from_millis(100),
            rto_min: Span::from_secs(1),
            ..Profile::Classic.config()
        };
        let linux =
            Config { rto_variance_min: Span::from_millis(200), rto_min: Span::from_millis(1), ..rfc.clone() };
        let mut estimators = [Estimator::new((&rfc).into()), Estimator::new((&linux).into())];
        let mut state = State { rtt_min_us: u32::MAX, ..State::default() };
        let mut rows = 0;
        for line in CASES.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let value = |index: usize| fields[index].parse::<f64>().unwrap();
            if fields[1] == "0" {
                estimators = [Estimator::new((&rfc).into()), Estimator::new((&linux).into())];
            }
            for estimator in &mut estimators {
                estimator.sample(Span::from_secs_f64(value(2)), &mut state);
            }
            // Differences are rounded to microseconds, which adds errors of at most 8 us to SRTT
            // and 16 us to 4 RTTVAR.
            let near = |ours: f64, column: usize, tolerance: f64| {
                assert!((ours - value(column)).abs() <= tolerance, "{line}: column {column} is {ours}");
            };
            near(estimators[0].srtt_seconds(), 3, 2e-6);
            near(estimators[0].rttvar_seconds(), 4, 4e-6);
            near(estimators[0].rto().as_secs_f64(), 5, 16e-6);
            near(estimators[1].rto().as_secs_f64(), 6, 16e-6);
            rows += 1;
        }
        assert!(rows > 30, "{rows} rows");
    }

    /// Computed by hand from the paper's rules: SRTT and 4 RTTVAR after each sample, then the
    /// time-out, milliseconds.
    #[test]
    fn linux_follows_a_rising_deviation_at_once_and_a_falling_one_slowly() {
        let mut estimator = Estimator::new((&Config { jiffy: Span::ZERO, ..Config::default() }).into());
        let mut state = State { rtt_min_us: u32::MAX, ..State::default() };
        let mut seen = |sample: u64, una: u32, nxt: u32| {
            (state.snd_una, state.snd_nxt) = (una, nxt);
            estimator.sample(Span::from_millis(sample), &mut state);
            (state.srtt_us / 8, state.mdev_us, estimator.rto().as_micros())
        };
        assert_eq!(seen(100, 1, 10), (100_000, 200_000, 300_000));
        // 200 - 50 + 300.
        assert_eq!(seen(400, 2, 11), (137_500, 450_000, 587_500));
        // Below SRTT by more than RTTVAR: an eighth of the excess, where RFC 6298 has 465 ms.
        assert_eq!(seen(10, 3, 12), (121_562, 451_875, 573_437));
        // The round trip ends with a maximum of 452 ms; the next one begins.
        assert_eq!(seen(122, 11, 20), (121_617, 339_345, 573_492));
        for una in 12..20 {
            seen(122, una, 20);
        }
        // The round trip ends with 255 ms: the term falls by a quarter of the difference, 452 -
        // (452 - 255) / 4.
        let (srtt, deviation, rto) = seen(122, 21, 30);
        assert!((121_000..123_000).contains(&srtt) && deviation < 30_000, "{srtt} {deviation}");
        assert!((523_000..526_000).contains(&rto), "{rto}");
    }

    /// `usecs_to_jiffies` never shortens a time.
    #[test]
    fn linux_rounds_the_time_out_up_to_whole_jiffies() {
        let mut estimator = Estimator::new((&Config::default()).into());
        let mut state = State { rtt_min_us: u32::MAX, ..State::default() };
        for (sample, rto) in [(100, 300), (101, 304), (103, 312)] {
            estimator.restart(Span::from_millis(sample), &mut state);
            assert_eq!(estimator.rto(), Span::from_millis(rto), "after a sample of {sample} ms");
        }
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_ends_with_a_sample() {
        let mut estimator = Estimator::new((&Profile::Classic.config()).into());
        let mut state = State::default();
        let mut seen = Vec::new();
        for _ in 0..9 {
            seen.push(estimator.rto().as_nanos() / 1_000_000_000);
            estimator.back_off();
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
        estimator.sample(Span::from_millis(600), &mut state);
        assert_eq!(estimator.rto(), Span::from_millis(1800));
    }
}
