//! Jitter with a normally distributed extra delay, truncated at 0 s.
//!
//! A draw below 0 s is repeated, so the mean exceeds that of the normal distribution. With m and s
//! the mean and deviation of the distribution, the mean is m + s phi(m / s) / Phi(m / s), where phi
//! and Phi are density and distribution of the standard normal.

use super::{Jitter, Process};
use bentpipe_core::{math, Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Normally distributed extra delay; draws below 0 s are repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean of the normal distribution, before truncation at 0 s.
    pub mean: Span,
    /// Standard deviation of the normal distribution, before truncation at 0 s.
    pub deviation: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"mean = "5 ms", deviation = "2 ms""#;
}

struct Normal {
    mean: f64,
    deviation: f64,
}

impl Process for Normal {
    fn extra(&mut self, _now: Time, stream: &mut Stream) -> f64 {
        loop {
            let extra = self.mean + self.deviation * stream.normal();
            // For a mean of 0 or more, at least every second draw is one of these.
            if extra >= 0.0 {
                return extra;
            }
        }
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Normal { mean: self.mean.as_secs_f64(), deviation: self.deviation.as_secs_f64() }))
    }

    fn mean(&self) -> f64 {
        let (mean, deviation) = (self.mean.as_secs_f64(), self.deviation.as_secs_f64());
        if deviation == 0.0 {
            return mean;
        }
        // Computed numerically, because there is no error function here: the distribution up to 8
        // deviations.
        let density = |x: f64| math::exp(-x * x / 2.0);
        let (from, steps) = ((-mean / deviation).max(-8.0), 4000);
        let width = (8.0 - from) / f64::from(steps);
        let points = (0..steps).map(|step| from + width * (f64::from(step) + 0.5));
        let (weighted, whole) =
            points.fold((0.0, 0.0), |(weighted, whole), x| (weighted + x * density(x), whole + density(x)));
        mean + deviation * weighted / whole
    }

    fn check(&self, problems: &mut Problems) {
        if self.deviation == Span::ZERO && self.mean == Span::ZERO {
            problems.add("", "never delays a packet; allowed: a mean or a deviation above 0 s, or kind none");
        }
    }
}
