//! Minstrel-HT: rates are judged by the acknowledged frames, and few frames, at most one in 20 ms,
//! try a rate that could be better.
//!
//! This is the rate control of Linux (`minstrel_ht`, since 5.12), which serves all standards of
//! 802.11.
//!
//! **Judging.** Every 50 ms the share p of each rate's transmissions that were acknowledged passes
//! a low-pass filter with two poles, P = c1 p + c2 P' + c3 P'', with c3 = -a^2, c2 = 2 a cos(2
//! sqrt(2) pi / 16), c1 = 1 - c2 - c3 and a = exp(-sqrt(2) pi / 16); P' and P'' are the last two
//! results, P lies in 0 to 1, and a rate without transmissions keeps its own. The throughput of a
//! rate is P / t, with t the time of a frame of 1200 bytes and of an acknowledgment at the lowest
//! rate. Frames of an aggregate share its preamble and its acknowledgment, and aggregates are
//! assumed to have their mean length (each period has a weight of a quarter). Below P = 0.1 it
//! counts as 0, and above 0.9 as 0.9. The *surest* rate is the one with the highest throughput
//! among those with P above 0.75, or, if there is none, the one with the highest P.
//!
//! **A frame's rates.** A frame is tried at the three rates with the highest throughput and at the
//! surest one in turn, at each as often as fits into 6 ms with the mean back-off of every attempt
//! (at least 2, at most 7 times; twice if P is below 0.2). For aggregates of the mean length this
//! means two or three times. A frame that samples a rate tries that one once in place of the first.
//!
//! **Sampling.** At most every 20 ms a frame samples. Of six such frames, three test the next
//! faster rate than the best, two test a random faster one, and one tests a rate between the
//! fastest and the slowest of the best, second best and surest. These rates are chosen at each
//! judging, up to four of each kind, and each is tested once in a period.
//!
//! Source: F. Fietkau's descriptions of the changes to Linux, "significantly redesign the rate
//! probing strategy" (80d55154b2f8) and "replace rate stats ewma with a better moving average"
//! (b1103d256704); the rates of frames that a kernel 6.12 gave to our medium
//! (docs/notes/linux-wifi.md). Periods: `tests/authorities/wifi/rate_adaptation_defaults.csv`.
//!
//! Deviations: rates of HT form one list by their speed, where Linux has a group for each number of
//! streams, width and guard interval and searches group after group; it also leaves the rates of
//! more streams sooner if they suddenly fail.
//!
//! ```toml
//! adaptation = "minstrel-ht"
//! ```

use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{math, Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, SQRT_2};

/// Minstrel-HT: the present rate control of Linux, which chooses rates by the observed throughput
/// and tests few others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Length of the periods after which rates are judged; 50 ms by default (Linux).
    pub interval: Span,
    /// Time between two frames that test another rate; 20 ms by default (Linux).
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

/// Time in which a rate may be tried for a frame, and the fewest and most tries.
const SEGMENT: Span = Span::from_millis(6);
const MIN_ATTEMPTS: u32 = 2;
const MAX_ATTEMPTS: u32 = 7;
/// Back-off that is assumed for attempts in every standard: the slot and the windows of OFDM.
const BACKOFF_SLOT: Span = Span::from_micros(9);
const CONTENTION_WINDOWS: (u64, u64) = (15, 1023);
/// Period of the filter, in number of judgings.
const FILTER_PERIOD: f64 = 16.0;
/// Weight of earlier periods in the mean length of aggregates (Linux).
const AGGREGATE_WEIGHT: f64 = 0.75;
/// Number of rates of a kind that can wait to be tested.
const CANDIDATES: usize = 4;

/// The reason for which a rate is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SampleKind {
    /// The rate is the next faster one.
    Next,
    /// The rate is faster, drawn at random.
    Jump,
    /// The rate lies between the rates in use.
    Between,
}

/// The kinds of samples in their order.
const ORDER: [SampleKind; 6] = [
    SampleKind::Next,
    SampleKind::Jump,
    SampleKind::Next,
    SampleKind::Jump,
    SampleKind::Next,
    SampleKind::Between,
];

/// Returns the number of tries of a transmission that takes `airtime` in a segment, with the mean
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

/// The low-pass filter of probabilities.
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

    /// Returns the results after `now`, the latest first; the first value is its own history.
    fn next(self, known: Option<[f64; 2]>, now: f64) -> [f64; 2] {
        let [last, before] = known.unwrap_or([now; 2]);
        [(self.present * now + self.last * last + self.before * before).clamp(0.0, 1.0), last]
    }
}

struct RateStatistics {
    speed: Speed,
    /// Time of a frame of 1200 bytes with its share of the acknowledgment.
    seconds: f64,
    /// Transmissions of a frame at this rate before the next one is tried.
    attempts: u32,
    /// The last two results of the filter, the latest first; `None` before the first judging.
    probability: Option<[f64; 2]>,
    /// Transmissions in the present period.
    sent: u32,
    acknowledged: u32,
}

impl RateStatistics {
    /// Sets the values that depend on the mean number of `frames` in a transmission.
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
    /// Time of the next judging, and time from which on a frame may sample.
    next_update: Time,
    sampling: Time,
    /// Number of frames that had a turn to sample.
    samples: usize,
    /// Mean number of frames in a transmission.
    frames: f64,
    /// Transmissions in the present period, and the frames in them.
    sent: (u32, u32),
    /// Rates that wait to be tested, by kind.
    candidates: [Vec<usize>; 3],
    /// Rates with the best, second and third best throughput, and the surest rate.
    best: [usize; 4],
    /// Rates of the frame being sent.
    chain: [usize; 4],
    /// The rate that the frame samples, if it does.
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
        // The sort is stable: of equal rates the slower one comes first.
        order.sort_by(|one, other| value(other).partial_cmp(&value(one)).expect("they are numbers"));
        let sure = order.iter().find(|index| self.rates[**index].probability() > 0.75);
        let by_probability = |one: &&usize, other: &&usize| value(one).1.total_cmp(&value(other).1);
        let most_reliable = sure.or_else(|| order.iter().rev().max_by(by_probability));
        let most_reliable = *most_reliable.expect("a physical layer has rates");
        let place = |place: usize| order[place.min(order.len() - 1)];
        self.best = [place(0), place(1), place(2), most_reliable];
        self.find_candidates(stream);
    }

    /// Chooses the rates to test in the period that begins.
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

    /// Returns the rate that a frame tests now, if it does.
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

    /// Reports ten frames, each sent alone, of which so many were acknowledged.
    fn learn_ten(adapter: &mut dyn Adapter, now: Time, rate: usize, acknowledged: u32) {
        (0..10).for_each(|frame| {
            adapter.record_outcome(now, rate, 0, answered(1, u32::from(frame < acknowledged)))
        });
    }

    /// Returns the rates of a frame's attempts.
    fn chain(adapter: &mut dyn Adapter, now: Time, stream: &mut Stream) -> Vec<usize> {
        (0..16).map(|attempt| adapter.choose(now, attempt, stream).rate).collect()
    }

    #[test]
    fn the_filter_has_the_coefficients_of_linux_and_no_gain() {
        let filter = Filter::new();
        // Linux has 5273 and -2350 of 4096 parts.
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
        // A frame of 1200 bytes at 54 Mbit/s takes 200 us, SIFS and an ACK at 6 Mbit/s 60 us.
        // Before the attempts are 67.5, 139.5, 283.5, 571.5, 1147.5 and 2299.5 us of back-off, so
        // that the fifth ends after 3.5 ms and the sixth after 6.07 ms.
        assert_eq!(attempts(Span::from_micros(260)), 5);
        // At 6 Mbit/s: three attempts take 5.4 ms.
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
            // Periods of single frames, then of six together.
            let count = if period < 20 { 1 } else { 6 };
            (0..10).for_each(|_| adapter.record_outcome(now, 3, 0, answered(count, count)));
        }
        // A frame takes 1.38 ms with its acknowledgment and is tried three times; six of them take
        // 5.7 ms.
        assert_eq!((attempts[19], attempts[39]), (3, 2));
    }

    #[test]
    fn a_frame_falls_back_to_the_most_reliable_rate_and_a_sample_is_tried_once() {
        let mut adapter = Config::default().build(&rates());
        let mut stream = Streams::new(3, 0).stream("adaptation");
        for rate in 0..4 {
            learn_ten(&mut *adapter, Time::ZERO, rate, [10, 10, 8, 3][rate]);
        }
        // Throughputs 0.9/9.79, 0.9/4.99, 0.8/1.94, 0.3/1.06 per ms: best 5.5, then 11, then 2
        // Mbit/s; the surest is 5.5.
        let frame = chain(&mut *adapter, Time::ZERO, &mut stream);
        // The first frame tests the next faster rate than the best once; then come the second best,
        // up to three times, the third, twice, and the surest, twice.
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
            // The first frame looked for the next faster rate, so these begin with a jump. The
            // fifth wants a rate between 5.5 and 2 Mbit/s, the best ones, and there is none.
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
