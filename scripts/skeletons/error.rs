//! {Title}: the transmissions that the channel corrupts, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! error = { kind = "{kebab}", probability = 0.01 }
//! ```

use super::{Channel, Process};
use bentpipe_core::{Fraction, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the transmissions that the channel corrupts, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Probability that a unit is corrupted.
    pub probability: Fraction,
}

struct {Camel} {
    probability: f64,
}

impl Sample for Config {
    const SAMPLE: &'static str = "probability = 0.02";
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new({Camel} { probability: self.probability.value() }))
    }

    fn expected_loss(&self, _packets: u64, _bytes: f64) -> f64 {
        self.probability.value()
    }
}

impl Process for {Camel} {
    fn corrupts(&mut self, _now: Time, _bytes: u32, stream: &mut Stream) -> bool {
        stream.chance(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn units_are_corrupted_with_the_probability() {
        let config: Config = serde_json::from_str(r#"{"probability": 0.1}"#).unwrap();
        let mut process = config.build().unwrap();
        let mut stream = Streams::new(1, 0).stream("test");
        let corrupted = (0..100_000).filter(|_| process.corrupts(Time::ZERO, 1500, &mut stream)).count();
        assert!((9_500..10_500).contains(&corrupted), "{corrupted}");
    }
}
