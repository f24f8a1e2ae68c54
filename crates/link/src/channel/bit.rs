//! Independent bit errors: a packet of n bytes survives with probability (1 - BER)^(8 n), because a
//! single bit error corrupts it.
//!
//! ```toml
//! error = { kind = "bit", rate = 1e-7 }
//! ```

use super::{Channel, Effect, Process};
use bentpipe_core::{math, Fraction, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent bit errors: each bit is wrong with the same probability. A packet or unit with a bit
/// error is corrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bit error rate (BER): the probability that a bit is wrong, 0 to 1.
    pub rate: Fraction,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

struct Independent {
    /// Logarithm of the survival probability of a bit, ln(1 - BER).
    log_survival: f64,
}

impl Sample for Config {
    const SAMPLE: &'static str = "rate = 1e-6";
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Independent { log_survival: math::ln_1p(-self.rate.value()) }))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn expected_loss(&self, _packets: u64, bytes: f64) -> f64 {
        1.0 - math::powf(1.0 - self.rate.value(), bytes * 8.0)
    }
}

impl Process for Independent {
    fn corrupts(&mut self, _now: Time, bytes: u32, stream: &mut Stream) -> bool {
        let survival = math::exp(self.log_survival * 8.0 * f64::from(bytes));
        stream.uniform() >= survival
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn packets_arrive_with_the_probability_that_all_bits_are_correct() {
        let mut stream = Streams::new(3, 0).stream("channel");
        let config: Config = serde_json::from_str(r#"{"rate": 1e-5}"#).unwrap();
        let mut process = config.build().unwrap();
        let trials = 200_000;
        let corrupted =
            (0..trials).filter(|_| process.corrupts(Time::ZERO, 1500, &mut stream)).count() as f64;
        // 1 - (1 - 1e-5)^12000 = 0.11308; the standard error over 200 000 trials is 0.0007.
        assert!((corrupted / trials as f64 - 0.11308).abs() < 0.003, "{corrupted}");
    }

    #[test]
    fn a_bit_error_rate_of_one_corrupts_everything_and_zero_nothing() {
        let mut stream = Streams::new(3, 0).stream("channel");
        for (rate, expected) in [(1.0, true), (0.0, false)] {
            let rate = Fraction::new(rate).unwrap();
            let mut process = Config { rate, effect: Effect::Drop }.build().unwrap();
            assert!((0..100).all(|_| process.corrupts(Time::ZERO, 40, &mut stream) == expected));
        }
    }
}
