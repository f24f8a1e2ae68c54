//! Extra delay that wanders around a mean: a stationary Gauss-Markov process, truncated at 0 s.

use super::{Jitter, Process};
use bentpipe_core::{math, GaussMarkov, Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Normally distributed extra delay whose autocorrelation falls exponentially with time. Values
/// below 0 s count as 0 s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean, before truncation at 0 s.
    pub mean: Span,
    /// Standard deviation, before truncation at 0 s.
    pub deviation: Span,
    /// Time in which the autocorrelation falls to 1/e.
    pub correlation: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"mean = "2 ms", deviation = "1 ms", correlation = "20 ms""#;
}

struct Wander {
    config: Config,
    /// The present value in standard deviations, and its time.
    value: GaussMarkov,
    at: Time,
}

impl Process for Wander {
    fn extra(&mut self, now: Time, stream: &mut Stream) -> f64 {
        let by = now.since(self.at).as_secs_f64() / self.config.correlation.as_secs_f64();
        self.at = now;
        let x = self.value.advance(by, stream);
        (self.config.mean.as_secs_f64() + self.config.deviation.as_secs_f64() * x).max(0.0)
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Wander { config: self.clone(), value: GaussMarkov::default(), at: Time::ZERO }))
    }

    fn mean(&self) -> f64 {
        let (mean, deviation) = (self.mean.as_secs_f64(), self.deviation.as_secs_f64());
        // Integrates the density of the standard normal up to 8 deviations.
        let (steps, width) = (4000, 16.0 / 4000.0);
        (0..steps)
            .map(|step| -8.0 + width * (f64::from(step) + 0.5))
            .map(|x| (mean + deviation * x).max(0.0) * math::exp(-x * x / 2.0))
            .sum::<f64>()
            * width
            / std::f64::consts::TAU.sqrt()
    }

    fn check(&self, problems: &mut Problems) {
        if self.correlation == Span::ZERO {
            problems.add("correlation", "0 s is out of range; allowed: above 0 s");
        }
        if self.deviation == Span::ZERO && self.mean == Span::ZERO {
            problems.add("", "never delays a packet; allowed: a mean or a deviation above 0 s, or kind none");
        }
    }
}
