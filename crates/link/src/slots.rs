//! Slots of a scheduled access, as over low orbits: at each point of a grid of times the access is
//! reconfigured. It then delivers nothing for a while (the hole), and continues with another level
//! of its rate.
//!
//! Within a slot, the rate at each step of time is
//!
//! ```text
//! rate x (1 + level + wander + noise)
//! ```
//!
//! with `rate` of the link, the level of the slot, a stationary Gauss-Markov process and white
//! noise, all of them normal with mean 0. Below a twentieth of the link's rate, the rate is
//! truncated. The autocorrelation of the rate is therefore that of three processes: noise within
//! a step, `wander` over its correlation time, and levels over slots.
//!
//! Each step, and each end of a hole, is a change as described for [links](crate). The delay of
//! such an access is a [jitter](crate::jitter) of kind `sum`: `levels`, `wander`, `spikes` and
//! `bursts`.

use crate::series::Sample;
use bentpipe_core::{GaussMarkov, Problems, Rate, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slots of a scheduled access over low orbits. Each slot starts with a hole, and has a rate that
/// varies. Source of the defaults and of the structure: Z. Lai et al., "LeoCC: Making Internet
/// Congestion Control Robust to LEO Satellite Dynamics", 2025, and its traces of Starlink.
///
/// ```toml
/// slots = { offset = "12 s", hole = "70 ms", level = 0.2, wander = 0.1, noise = 0.1 }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { hole = \"70 ms\", level = 0.2 }")]
#[schemars(rename = "Slots")]
pub struct Config {
    /// Duration of a slot. Default 15 s, as measured on Starlink.
    #[serde(default = "slot")]
    pub every: Span,
    /// Start of the first slot; before, the rate has a level of its own. Default 0 s: a slot starts
    /// with the run.
    #[serde(default)]
    pub offset: Span,
    /// Mean duration of the hole at the start of each slot, in which the link delivers nothing; 59
    /// to 82 ms in a trace of Starlink. Default 0 s: there are no holes.
    #[serde(default)]
    pub hole: Span,
    /// Standard deviation of the duration of a hole, whose draws are truncated at four deviations.
    /// Default 0 s: all holes have the mean duration.
    #[serde(default)]
    pub hole_deviation: Span,
    /// Standard deviation of the level of a slot, as a fraction of the link's rate from 0 to 1;
    /// 0.19 in a trace of Starlink. Default 0: all slots have the same level.
    #[serde(default)]
    pub level: f64,
    /// Standard deviation of the Gauss-Markov process within a slot, as a fraction of the link's
    /// rate from 0 to 1. Default 0: there is no such process.
    #[serde(default)]
    pub wander: f64,
    /// Time in which the autocorrelation of `wander` falls to 1/e. Default 1 s.
    #[serde(default = "second")]
    pub correlation: Span,
    /// Standard deviation of the noise, drawn for each step, as a fraction of the link's rate from
    /// 0 to 1. Default 0: there is no noise.
    #[serde(default)]
    pub noise: f64,
    /// Time from one value of the rate to the next. Default 100 ms.
    #[serde(default = "step")]
    pub step: Span,
}

/// Returns the duration of a slot of Starlink, 15 s.
pub(crate) fn slot() -> Span {
    Span::from_secs(15)
}

fn second() -> Span {
    Span::from_secs(1)
}

fn step() -> Span {
    Span::from_millis(100)
}

/// Lowest rate outside of holes, relative to the link's rate.
const LEAST: f64 = 0.05;

impl Config {
    /// Adds the problems of this configuration.
    pub fn check(&self, problems: &mut Problems) {
        for (key, value) in [("level", self.level), ("wander", self.wander), ("noise", self.noise)] {
            if !(0.0..=1.0).contains(&value) {
                problems.add(key, format!("{value} is out of range; allowed: 0 to 1"));
            }
        }
        for (key, value) in [("step", self.step), ("correlation", self.correlation)] {
            if value == Span::ZERO {
                problems.add(key, "0 s is out of range; allowed: above 0 s");
            }
        }
        let longest = self.longest_hole();
        if self.every <= longest {
            let message = format!("is {}; allowed: above {longest}, the longest hole", self.every);
            problems.add("every", message);
        }
    }

    /// The longest hole: draws are truncated at four deviations.
    fn longest_hole(&self) -> Span {
        self.hole + self.hole_deviation * 4
    }

    /// Returns the fraction of time outside of holes.
    pub fn open(&self) -> f64 {
        1.0 - self.hole.as_secs_f64() / self.every.as_secs_f64()
    }

    /// Creates the process for a link with this rate, with its own random numbers.
    pub fn build(&self, rate: Rate, delay: Span, mut stream: Stream) -> Process {
        Process {
            config: self.clone(),
            rate,
            delay,
            level: stream.normal(),
            wander: GaussMarkov::default(),
            stream,
            share: 1.0,
            slot: Time::ZERO + self.offset,
            step: Time::ZERO,
            hole: None,
        }
    }
}

/// The present state of an access with slots.
pub struct Process {
    config: Config,
    /// Mean rate outside of holes.
    rate: Rate,
    /// Delay of the link, which slots do not change.
    delay: Span,
    stream: Stream,
    /// Level of the slot in standard deviations.
    level: f64,
    wander: GaussMarkov,
    /// Present rate relative to the mean rate; 0 in a hole.
    share: f64,
    /// Starts of the next slot and of the next step.
    slot: Time,
    step: Time,
    /// End of the present hole; `None` outside of holes.
    hole: Option<Time>,
}

impl Process {
    /// Returns the time of the next change of the rate.
    #[inline]
    pub fn next(&self) -> Time {
        self.hole.unwrap_or(self.step).min(self.slot)
    }

    /// Sets the mean rate and the delay, and returns the present rate, at which nothing passes in a
    /// hole.
    pub fn set(&mut self, rate: Rate, delay: Span) -> Rate {
        (self.rate, self.delay) = (rate, delay);
        self.present()
    }

    fn present(&self) -> Rate {
        let rate = self.rate.bits_per_second() as f64 * self.share;
        Rate::from_bits_per_second(rate.round().max(1.0) as u64)
    }

    /// Returns the values from `now` on, if a change is due.
    pub fn take(&mut self, now: Time) -> Option<Sample> {
        if self.next() > now {
            return None;
        }
        while self.next() <= now {
            self.advance();
        }
        self.share = match self.hole {
            Some(_) => 0.0,
            None => {
                let Config { level, wander, noise, .. } = self.config;
                let wandered = self.wander.advance(0.0, &mut self.stream);
                (1.0 + level * self.level + wander * wandered + noise * self.stream.normal()).max(LEAST)
            }
        };
        Some(Sample { rate: self.present(), delay: self.delay, error: None })
    }

    /// Advances to the next change.
    fn advance(&mut self) {
        let at = self.next();
        if at == self.slot {
            self.level = self.stream.normal();
            let length = self.config.hole.as_secs_f64()
                + self.config.hole_deviation.as_secs_f64() * self.stream.normal().clamp(-4.0, 4.0);
            self.hole = (length > 0.0).then(|| at + Span::from_secs_f64(length));
            self.slot = at + self.config.every;
            self.step = self.step.max(at);
        } else {
            // The end of a hole starts a step.
            self.hole = None;
            let by = self.config.step.as_secs_f64() / self.config.correlation.as_secs_f64();
            self.wander.advance(by, &mut self.stream);
            self.step = at + self.config.step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    /// Returns the rate at each millisecond of `seconds`, in Mbit/s.
    fn played(text: &str, seconds: u64) -> Vec<f64> {
        let config: Config = serde_json::from_str(text).unwrap();
        let mut problems = Problems::default();
        config.check(&mut problems);
        assert_eq!(problems.into_vec(), []);
        let stream = Streams::new(1, 0).stream("slots");
        let mut process = config.build(Rate::from_bits_per_second(50_000_000), Span::ZERO, stream);
        let mut rate = 0.0;
        (0..seconds * 1000)
            .map(|at| {
                if let Some(sample) = process.take(Time::ZERO + Span::from_millis(at)) {
                    rate = sample.rate.bits_per_second() as f64 / 1e6;
                }
                rate
            })
            .collect()
    }

    #[test]
    fn a_hole_begins_at_each_point_of_the_grid() {
        let rates = played(r#"{"offset": "12 s", "hole": "70 ms", "level": 0.2}"#, 60);
        let closed: Vec<usize> = (1..rates.len()).filter(|at| rates[*at] < 1.0).collect();
        let expected: Vec<usize> = [12, 27, 42, 57].iter().flat_map(|at| at * 1000..at * 1000 + 70).collect();
        assert_eq!(closed, expected);
        // Levels are constant within a slot and differ between slots.
        let levels: Vec<f64> = [13_000, 28_000, 43_000].map(|at: usize| rates[at]).to_vec();
        assert!(levels.windows(2).all(|two| two[0] != two[1]));
        assert!(rates[12_071..27_000].iter().all(|rate| *rate == levels[0]));
    }

    #[test]
    fn another_mean_rate_does_not_end_a_hole() {
        let config: Config = serde_json::from_str(r#"{"hole": "70 ms"}"#).unwrap();
        let stream = Streams::new(1, 0).stream("slots");
        let mut process = config.build(Rate::from_bits_per_second(50_000_000), Span::ZERO, stream);
        process.take(Time::ZERO);
        let doubled = Rate::from_bits_per_second(100_000_000);
        assert_eq!(process.set(doubled, Span::ZERO), Rate::from_bits_per_second(1));
        let after = process.take(Time::ZERO + Span::from_millis(70)).expect("the hole ends");
        assert_eq!(after.rate, doubled);
    }

    /// The variance and the autocorrelation are those of the sum of the three processes.
    #[test]
    fn mean_deviation_and_autocorrelation_are_those_of_the_keys() {
        let text = r#"{"level": 0.12, "wander": 0.1, "correlation": "1 s", "noise": 0.08}"#;
        let rates: Vec<f64> = played(text, 60_000).into_iter().step_by(100).collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let covariance = |lag: usize| {
            rates.iter().zip(&rates[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
                / (rates.len() - lag) as f64
        };
        let (level, wander, noise) = (36.0, 25.0, 16.0);
        assert!((mean - 50.0).abs() < 0.5, "mean {mean}");
        assert!((covariance(0) / (level + wander + noise) - 1.0).abs() < 0.05, "{}", covariance(0));
        for lag in [1usize, 5, 10, 20] {
            let seconds = lag as f64 / 10.0;
            let expected = level * (1.0 - seconds / 15.0) + wander * bentpipe_core::math::exp(-seconds);
            assert!((covariance(lag) - expected).abs() < 2.5, "{lag}: {}, not {expected}", covariance(lag));
        }
    }
}
