//! Jitter by the quantiles of a measured distribution, as in a table or figure of a paper.

use super::{Jitter, Process};
use bentpipe_core::{Problems, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Extra delay by the quantiles of a measured distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Quantiles in equal steps of probability, ascending: the first is the minimum extra delay,
    /// the last the maximum. Between two quantiles the distribution is uniform.
    pub values: Vec<Span>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"values = ["0 s", "1 ms", "2 ms", "10 ms"]"#;
}

struct Quantiles(Vec<f64>);

impl Process for Quantiles {
    fn extra(&mut self, _now: Time, stream: &mut Stream) -> f64 {
        let place = stream.uniform() * (self.0.len() - 1) as f64;
        let (low, high) = (self.0[place as usize], self.0[place as usize + 1]);
        low + (high - low) * place.fract()
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Quantiles(self.values.iter().map(|value| value.as_secs_f64()).collect())))
    }

    fn mean(&self) -> f64 {
        let pairs = self.values.windows(2).map(|pair| (pair[0].as_secs_f64() + pair[1].as_secs_f64()) / 2.0);
        pairs.sum::<f64>() / (self.values.len() - 1) as f64
    }

    fn check(&self, problems: &mut Problems) {
        if self.values.len() < 2 {
            problems.add("values", format!("has {} quantiles; allowed: at least 2", self.values.len()));
        }
        if let Some(place) = self.values.windows(2).position(|pair| pair[1] < pair[0]) {
            let message =
                format!("{} comes after {}; allowed: ascending", self.values[place + 1], self.values[place]);
            problems.add("values", message);
        }
    }
}
