//! Minstrel-HT: chooses the rates with the highest measured throughput. At most one frame in 20 ms
//! tries a rate that could be better.
//!
//! This is the rate control of Linux (`minstrel_ht`, since 5.12) for all standards of 802.11.
//!
//! **Measurement.** Every 50 ms, the fraction p of acknowledged transmissions of each rate passes a
//! low-pass filter with two poles: P = c1 p + c2 P' + c3 P''. Here, P' and P'' are the last two
//! results, c3 = -a^2, c2 = 2 a cos(2 sqrt(2) pi / 16), c1 = 1 - c2 - c3 and a = exp(-sqrt(2) pi /
//! 16). P is limited to the range from 0 to 1, and stays the same without transmissions.
//!
//! The throughput of a rate is P / t, where t is the time for a frame of 1200 bytes and an
//! acknowledgment at the lowest rate. In the throughput, values of P below 0.1 count as 0, and
//! values above 0.9 count as 0.9. Frames of an aggregate share its preamble and its acknowledgment.
//! Each aggregate is assumed to have the mean length, an average in which the latest period has the
//! weight 1/4. The *most reliable* rate has the highest throughput among the rates with P above
//! 0.75. If no rate has P above 0.75, the most reliable rate is the one with the highest P.
//!
//! **Rates of a frame.** A frame is sent at the three rates with the highest throughput and then at
//! the most reliable rate, until it is acknowledged. At each rate, it is sent as often as fits into
//! 6 ms with the mean back-off of every attempt, at least 2 and at most 7 times; twice if P is
//! below 0.2. For aggregates of the mean length, this means two or three times. A frame that
//! samples a rate is sent once at the sampled rate, in place of the first rate.
//!
//! **Sampling.** At most one frame in 20 ms samples a rate. Of six such frames, three test the next
//! faster rate after the best one, and two test a random faster rate. One tests a rate between the
//! fastest and the slowest of the best, the second best and the most reliable rate. The rates to
//! test are chosen after each measurement, up to four of each kind, and each is tested once per
//! period.
//!
//! Source: F. Fietkau's descriptions of the changes to Linux, "significantly redesign the rate
//! probing strategy" (80d55154b2f8) and "replace rate stats ewma with a better moving average"
//! (b1103d256704); the rates of frames that a kernel 6.12 sent over this medium
//! (docs/notes/linux-wifi.md). Periods: `tests/authorities/wifi/rate_adaptation_defaults.csv`.
//!
//! Deviations: HT rates form one list in order of speed. Linux has one group per number of streams,
//! width and guard interval, and searches the groups one after the other. Linux also abandons rates
//! with more streams sooner if they suddenly fail.
//!
//! ```toml
//! adaptation = "minstrel-ht"
//! ```

use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{math, Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, SQRT_2};

/// Minstrel-HT: the current rate control of Linux, which chooses the rates with the highest
/// measured throughput and tests few other rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Length of the periods in which rates are measured; 50 ms by default (Linux).
    pub interval: Span,
    /// Minimum time between two frames that test another rate; 20 ms by default (Linux).
    pub sampling: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { interval: Span::from_millis(50), sampling: Span::from_millis(20) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"interval = "100 ms", sampling = "10 ms""#;
}

impl Adaptation for Config {
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter> {
        let statistics = rates.iter().map(|speed| {
            let mut rate = RateStatistics {
                speed: *speed,
                seconds: 0.0,
                attempts: 0,
                probability: None,
                sent: 0,
                acknowledged: 0,
            };
            rate.record_aggregate(1.0);
            rate
        });
        Box::new(MinstrelHt {
            config: self.clone(),
            rates: statistics.collect(),
            filter: Filter::new(),
            next_update: Time::ZERO,
            sampling: Time::ZERO,
            samples: 0,
            frames: 1.0,
            sent: (0, 0),
            candidates: Default::default(),
            best: [0; 4],
            chain: [0; 4],
            sampled: None,
        })
    }

    fn check(&self, _rates: &[Speed], problems: &mut Problems) {
        if self.interval == Span::ZERO {
            problems.add("interval", "0 s is not a period; allowed: more than 0 s");
        }
    }
}

/// Maximum time for which a frame is sent at one rate before the next rate is tried.
const SEGMENT: Span = Span::from_millis(6);

/// Minimum number of transmissions of a frame at one rate.
const MIN_ATTEMPTS: u32 = 2;

/// Maximum number of transmissions of a frame at one rate.
const MAX_ATTEMPTS: u32 = 7;
/// Length of a slot in the assumed back-off: that of OFDM, in every standard.
const BACKOFF_SLOT: Span = Span::from_micros(9);

/// Smallest and largest contention window in the assumed back-off, in slots: those of OFDM.
const CONTENTION_WINDOWS: (u64, u64) = (15, 1023);
/// Period of the low-pass filter, as a number of measurement periods.
const FILTER_PERIOD: f64 = 16.0;
/// Weight of earlier periods in the mean length of aggregates (Linux).
const AGGREGATE_WEIGHT: f64 = 0.75;
/// Maximum number of rates of each kind that wait to be tested.
const CANDIDATES: usize = 4;

/// The reason for testing a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SampleKind {
    /// The rate is the next faster one after the best rate.
    Next,
    /// The rate is drawn at random from the faster rates.
    Jump,
    /// The rate lies between the rates in use.
    Between,
}

/// Kinds of samples in the order in which frames test them.
const ORDER: [SampleKind; 6] = [
    SampleKind::Next,
    SampleKind::Jump,
    SampleKind::Next,
    SampleKind::Jump,
    SampleKind::Next,
    SampleKind::Between,
];

/// Returns the number of transmissions of `airtime` each that fit into [`SEGMENT`] with the mean
/// back-off of each attempt.
fn attempts(airtime: Span) -> u32 {
    let (mut window, mut taken, mut count) = (CONTENTION_WINDOWS.0, Span::ZERO, 0);
    while count < MAX_ATTEMPTS {
        taken += BACKOFF_SLOT * window / 2 + airtime;
        if count >= MIN_ATTEMPTS && taken >= SEGMENT {
            break;
        }
        count += 1;
        window = (2 * window + 1).min(CONTENTION_WINDOWS.1);
    }
    count
}

/// Coefficients of the low-pass filter for the fraction of acknowledged frames.
#[derive(Clone, Copy, Debug)]
struct Filter {
    present: f64,
    last: f64,
    before: f64,
}

impl Filter {
    fn new() -> Filter {
        let angle = SQRT_2 * PI / FILTER_PERIOD;
        let a = math::exp(-angle);
        let (last, before) = (2.0 * a * math::cos(2.0 * angle), -a * a);
        Filter { present: 1.0 - last - before, last, before }
    }

    /// Returns the last two results of the filter after the input `now`, the latest first. `known`
    /// holds the last two results before; without them, `now` is used in their place.
    fn next(self, known: Option<[f64; 2]>, now: f64) -> [f64; 2] {
        let [last, before] = known.unwrap_or([now; 2]);
        [(self.present * now + self.last * last + self.before * before).clamp(0.0, 1.0), last]
    }
}

struct RateStatistics {
    speed: Speed,
    /// Time of a frame of 1200 bytes in seconds, with its share of the preamble and of the
    /// acknowledgment.
    seconds: f64,
    /// Number of transmissions of a frame at this rate before the next rate is tried.
    attempts: u32,
    /// The last two results of the filter, the latest first; `None` before the first measurement.
    probability: Option<[f64; 2]>,
    /// Number of frames sent in the current period.
    sent: u32,
    /// Number of frames acknowledged in the current period.
    acknowledged: u32,
}

impl RateStatistics {
    /// Updates the values that depend on `frames`, the mean number of frames in a transmission.
    fn record_aggregate(&mut self, frames: f64) {
        let Speed { airtime, further, answer, .. } = self.speed;
        let whole = airtime + answer + Span::from_nanos(((frames - 1.0) * further.as_nanos() as f64) as u64);
        self.seconds = whole.as_secs_f64() / frames;
        self.attempts = attempts(whole);
    }

    fn probability(&self) -> f64 {
        self.probability.map_or(0.0, |[last, _]| last)
    }

    fn throughput(&self) -> f64 {
        let probability = self.probability();
        if probability < 0.1 {
            return 0.0;
        }
        probability.min(0.9) / self.seconds
    }

    fn attempts(&self) -> u32 {
        if self.probability() < 0.2 {
            MIN_ATTEMPTS
        } else {
            self.attempts
        }
    }
}

struct MinstrelHt {
    config: Config,
    rates: Vec<RateStatistics>,
    filter: Filter,
    /// Time of the next measurement.
    next_update: Time,
    /// Time from which on a frame may sample a rate.
    sampling: Time,
    /// Number of frames so far that were allowed to sample a rate.
    samples: usize,
    /// Mean number of frames in a transmission.
    frames: f64,
    /// Number of transmissions in the current period, and number of frames in these transmissions.
    sent: (u32, u32),
    /// Rates that wait to be tested, by [`SampleKind`].
    candidates: [Vec<usize>; 3],
    /// Rates with the best, second best and third best throughput, and the most reliable rate.
    best: [usize; 4],
    /// Rates at which the current frame is sent in turn.
    chain: [usize; 4],
    /// The rate that the current frame samples, if any.
    sampled: Option<usize>,
}

impl MinstrelHt {
    fn update_statistics(&mut self, stream: &mut Stream) {
        if let (transmissions @ 1.., frames) = std::mem::take(&mut self.sent) {
            let now = f64::from(frames) / f64::from(transmissions);
            self.frames = AGGREGATE_WEIGHT * self.frames + (1.0 - AGGREGATE_WEIGHT) * now;
            self.rates.iter_mut().for_each(|rate| rate.record_aggregate(self.frames));
        }
        for rate in self.rates.iter_mut().filter(|rate| rate.sent > 0) {
            let now = f64::from(rate.acknowledged) / f64::from(rate.sent);
            rate.probability = Some(self.filter.next(rate.probability, now));
            (rate.sent, rate.acknowledged) = (0, 0);
        }
        let value = |index: &usize| (self.rates[*index].throughput(), self.rates[*index].probability());
        let mut order: Vec<usize> = (0..self.rates.len()).collect();
        // The sort is stable: among rates of equal throughput, the slower one comes first.
        order.sort_by(|one, other| value(other).partial_cmp(&value(one)).expect("throughputs are not NaN"));
        let sure = order.iter().find(|index| self.rates[**index].probability() > 0.75);
        let by_probability = |one: &&usize, other: &&usize| value(one).1.total_cmp(&value(other).1);
        let most_reliable = sure.or_else(|| order.iter().rev().max_by(by_probability));
        let most_reliable = *most_reliable.expect("a physical layer has rates");
        let place = |place: usize| order[place.min(order.len() - 1)];
        self.best = [place(0), place(1), place(2), most_reliable];
        self.find_candidates(stream);
    }

    /// Chooses the rates to test in the new period.
    fn find_candidates(&mut self, stream: &mut Stream) {
        let [first, second, _, most_reliable] = self.best;
        let used = [first, second, most_reliable].map(|index| self.rates[index].seconds);
        let least = used.iter().copied().fold(f64::INFINITY, f64::min);
        let most = used.iter().copied().fold(0.0, f64::max);
        let among = |wanted: &dyn Fn(f64) -> bool| -> Vec<usize> {
            (0..self.rates.len()).filter(|index| wanted(self.rates[*index].seconds)).collect()
        };
        let faster = among(&|seconds| seconds < used[0]);
        let between = among(&|seconds| seconds > least && seconds < most);
        let draw = |all: &[usize], stream: &mut Stream| {
            let mut drawn = Vec::new();
            for _ in 0..CANDIDATES.min(all.len()) {
                let one = all[(stream.uniform() * all.len() as f64) as usize];
                if !drawn.contains(&one) {
                    drawn.push(one);
                }
            }
            drawn
        };
        let next = faster.first().copied().into_iter().collect();
        self.candidates = [next, draw(&faster, stream), draw(&between, stream)];
    }

    /// Returns the rate that the next frame tests, if any.
    fn sample(&mut self, now: Time) -> Option<usize> {
        if now < self.sampling {
            return None;
        }
        self.sampling = now + self.config.sampling;
        let kind = ORDER[self.samples % ORDER.len()];
        self.samples += 1;
        let waiting = &mut self.candidates[kind as usize];
        (!waiting.is_empty()).then(|| waiting.remove(0))
    }
}

impl Adapter for MinstrelHt {
    fn choose(&mut self, now: Time, attempt: u32, stream: &mut Stream) -> Choice {
        if now >= self.next_update {
            self.update_statistics(stream);
            self.next_update = now + self.config.interval;
        }
        if attempt == 0 {
            self.chain = self.best;
            self.sampled = self.sample(now);
        }
        let mut left = attempt;
        for (place, rate) in self.chain.into_iter().enumerate() {
            let (rate, attempts) = match self.sampled {
                Some(sampled) if place == 0 => (sampled, 1),
                _ => (rate, self.rates[rate].attempts()),
            };
            if left < attempts {
                return Choice { rate, rts: false };
            }
            left -= attempts;
        }
        Choice { rate: self.chain[3], rts: false }
    }

    fn record_outcome(&mut self, _now: Time, rate: usize, _attempt: u32, outcome: Outcome) {
        let (sent, acknowledged) = outcome.frames();
        if sent > 0 {
            self.sent.0 += 1;
            self.sent.1 += sent;
        }
        self.rates[rate].sent += sent;
        self.rates[rate].acknowledged += acknowledged;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rates;
    use super::*;
    use bentpipe_core::Streams;

    fn answered(sent: u32, acknowledged: u32) -> Outcome {
        Outcome::Acknowledged { sent, acknowledged }
    }

    /// Reports ten frames, each sent on its own, `acknowledged` of which were acknowledged.
    fn learn_ten(adapter: &mut dyn Adapter, now: Time, rate: usize, acknowledged: u32) {
        (0..10).for_each(|frame| {
            adapter.record_outcome(now, rate, 0, answered(1, u32::from(frame < acknowledged)))
        });
    }

    /// Returns the rates of all attempts of one frame.
    fn chain(adapter: &mut dyn Adapter, now: Time, stream: &mut Stream) -> Vec<usize> {
        (0..16).map(|attempt| adapter.choose(now, attempt, stream).rate).collect()
    }

    #[test]
    fn the_filter_has_the_coefficients_of_linux_and_no_gain() {
        let filter = Filter::new();
        // The coefficients of Linux are 5273 / 4096 and -2350 / 4096.
        assert_eq!([filter.last, filter.before].map(|part| (4096.0 * part).trunc()), [5273.0, -2350.0]);
        let mut state = Some(filter.next(None, 0.4));
        assert_eq!(state, Some([0.4, 0.4]));
        for _ in 0..50 {
            state = Some(filter.next(state, 0.9));
        }
        assert!((state.unwrap()[0] - 0.9).abs() < 1e-4);
    }

    #[test]
    fn attempts_fit_into_six_milliseconds_with_their_back_off() {
        // A frame of 1200 bytes at 54 Mbit/s takes 200 us, SIFS and an ACK at 6 Mbit/s 60 us. The
        // mean back-offs before the attempts are 67.5, 139.5, 283.5, 571.5, 1147.5 and 2299.5 us.
        // The fifth attempt ends after 3.5 ms, and the sixth after 6.07 ms.
        assert_eq!(attempts(Span::from_micros(260)), 5);
        // At 6 Mbit/s, three attempts take 5.4 ms.
        assert_eq!(attempts(Span::from_micros(1640 + 60)), 3);
        assert_eq!(attempts(Span::from_millis(9)), 2);
        assert_eq!(attempts(Span::from_micros(1)), 6);
    }

    #[test]
    fn aggregates_have_fewer_attempts() {
        let mut adapter = Config::default().build(&rates());
        let mut stream = Streams::new(3, 0).stream("adaptation");
        let mut attempts = Vec::new();
        for period in 0..40 {
            let now = Time::ZERO + Span::from_millis(60) * period;
            let frame = chain(&mut *adapter, now, &mut stream);
            attempts.push(frame.iter().skip_while(|rate| **rate != 3).take_while(|rate| **rate == 3).count());
            // The first periods have single frames, the later ones aggregates of six frames.
            let count = if period < 20 { 1 } else { 6 };
            (0..10).for_each(|_| adapter.record_outcome(now, 3, 0, answered(count, count)));
        }
        // A single frame takes 1.38 ms with its acknowledgment and is sent three times. An
        // aggregate of six frames takes 5.7 ms.
        assert_eq!((attempts[19], attempts[39]), (3, 2));
    }

    #[test]
    fn a_frame_falls_back_to_the_most_reliable_rate_and_a_sample_is_tried_once() {
        let mut adapter = Config::default().build(&rates());
        let mut stream = Streams::new(3, 0).stream("adaptation");
        for rate in 0..4 {
            learn_ten(&mut *adapter, Time::ZERO, rate, [10, 10, 8, 3][rate]);
        }
        // The throughputs are 0.9/9.79, 0.9/4.99, 0.8/1.94 and 0.3/1.06 per ms. The best rate is
        // 5.5 Mbit/s, the second best 11 Mbit/s, and the third best 2 Mbit/s. The most reliable
        // rate is 5.5 Mbit/s.
        let frame = chain(&mut *adapter, Time::ZERO, &mut stream);
        // The first frame tests the next faster rate after the best once. It is then sent at the
        // second best rate up to three times, at the third best rate twice, and at the most
        // reliable rate twice.
        assert_eq!(frame[..8], [3, 3, 3, 3, 1, 1, 2, 2]);
        let frame = chain(&mut *adapter, Time::ZERO, &mut stream);
        assert_eq!(frame[..5], [2, 2, 3, 3, 3], "20 ms have not passed");
        // Now 11 Mbit/s fails.
        let later = Time::ZERO + Span::from_millis(50);
        for period in 0..20 {
            learn_ten(&mut *adapter, later, 3, 0);
            learn_ten(&mut *adapter, later, 2, 10);
            adapter.choose(later + Span::from_millis(50) * period, 1, &mut stream);
        }
        let now = later + Span::from_secs(2);
        let samples: Vec<Vec<usize>> = (0..6)
            .map(|turn| chain(&mut *adapter, now + Span::from_millis(100) * turn, &mut stream))
            .collect();
        for (turn, frame) in samples.iter().enumerate() {
            // The first frame tested the next faster rate, so the next sample is a random jump. The
            // fifth frame should test a rate between 5.5 and 2 Mbit/s, the best rates, but no such
            // rate exists.
            if turn == 4 {
                assert_eq!(frame[0], 2, "{frame:?}");
            } else {
                assert_eq!(frame[..2], [3, 1], "{frame:?}");
            }
        }
        let soon = now + Span::from_millis(501);
        assert_eq!(chain(&mut *adapter, soon, &mut stream)[0], 2, "20 ms have not passed");
    }

    #[test]
    fn the_rate_with_the_best_throughput_carries_nearly_all_frames() {
        for (success, best) in [
            ([1.0, 1.0, 1.0, 1.0], 3),
            ([1.0, 1.0, 1.0, 0.3], 2),
            ([1.0, 1.0, 0.9, 0.7], 3),
            ([1.0, 0.9, 0.0, 0.0], 1),
            ([0.9, 0.0, 0.0, 0.0], 0),
        ] {
            let mut adapter = Config::default().build(&rates());
            let mut stream = Streams::new(3, 0).stream("adaptation");
            let (mut first, mut frames, mut attempt) = (0, 0, 0);
            for step in 0..5000 {
                let now = Time::ZERO + Span::from_millis(2 * step);
                let rate = adapter.choose(now, attempt, &mut stream).rate;
                if attempt == 0 && step >= 2500 {
                    frames += 1;
                    first += u32::from(rate == best);
                }
                let arrived = stream.chance(success[rate]);
                adapter.record_outcome(now, rate, attempt, answered(1, u32::from(arrived)));
                attempt = if arrived || attempt == 6 { 0 } else { attempt + 1 };
            }
            let share = f64::from(first) / f64::from(frames);
            assert!(share > 0.8, "{success:?}: {share}");
        }
    }
}
