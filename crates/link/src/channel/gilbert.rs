//! Errors in bursts: a two-state Markov chain that takes a step with each packet and corrupts every
//! packet in its bad state.
//!
//! With p the probability of a transition from good to bad and r that of the transition back,
//! bursts have 1 / r packets on average, and a fraction p / (p + r) of all packets is corrupted.
//! Hence, from the fraction `probability` and the length `burst`:
//!
//! ```text
//! r = 1 / burst        p = r probability / (1 - probability)
//! ```
//!
//! Source: E. N. Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39(5),
//! pages 1253-1265, 1960, with h = 0 (nothing survives the bad state); as a model of wireless LAN
//! errors also known as bistable. The initial state is drawn from the stationary distribution. With
//! `burst = 1 / (1 - probability)` the errors are independent.
//!
//! ```toml
//! error = { kind = "gilbert", probability = 0.002, burst = 8.0 }
//! ```

use super::{Channel, Effect, Process};
use bentpipe_core::{Fraction, Problems, Real, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Errors in bursts (Gilbert 1960): a two-state Markov chain that corrupts every packet in its bad
/// state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Fraction of corrupted packets, from 0 to less than 1.
    pub probability: Fraction,
    /// Mean number of consecutive corrupted packets; at least 1 and at least `probability` / (1 -
    /// `probability`).
    pub burst: Real<1000, 1_000_000_000>,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

impl Config {
    /// Returns the probabilities of the transitions from good to bad, and back.
    fn steps(&self) -> (f64, f64) {
        let (part, back) = (self.probability.value(), 1.0 / self.burst.value());
        (back * part / (1.0 - part), back)
    }
}

struct Bistable {
    /// Fraction of packets in the bad state.
    part: f64,
    /// Probabilities of the transitions from good to bad, and back.
    steps: (f64, f64),
    /// The present state, true for bad; `None` before the first packet.
    bad: Option<bool>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "probability = 0.02, burst = 5.0";
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Bistable { part: self.probability.value(), steps: self.steps(), bad: None }))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn expected_loss(&self, _packets: u64, _bytes: f64) -> f64 {
        self.probability.value()
    }

    fn check(&self, problems: &mut Problems) {
        let (leaves, _) = self.steps();
        // A probability of 1 would divide by zero.
        if leaves.is_nan() || leaves > 1.0 {
            let min = self.probability.value() / (1.0 - self.probability.value());
            problems.add(
                "burst",
                format!(
                    "bursts of {} packets leave no gap between them when a fraction {} of all packets is corrupted; \
                     allowed: at least probability / (1 - probability), here {min:.3}, and a probability below 1",
                    self.burst.value(),
                    self.probability.value()
                ),
            );
        }
    }
}

impl Process for Bistable {
    fn corrupts(&mut self, _now: Time, _bytes: u32, stream: &mut Stream) -> bool {
        let bad = match self.bad {
            None => stream.chance(self.part),
            Some(true) => !stream.chance(self.steps.1),
            Some(false) => stream.chance(self.steps.0),
        };
        self.bad = Some(bad);
        bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    fn corrupted(probability: f64, burst: f64, count: usize) -> Vec<bool> {
        let config: Config =
            serde_json::from_value(serde_json::json!({"probability": probability, "burst": burst})).unwrap();
        let (mut stream, mut process) = (Streams::new(5, 0).stream("channel"), config.build().unwrap());
        (0..count).map(|_| process.corrupts(Time::ZERO, 1500, &mut stream)).collect()
    }

    #[test]
    fn loss_and_burst_length_equal_the_configured_values() {
        let corrupted = corrupted(0.05, 8.0, 2_000_000);
        let lost = corrupted.iter().filter(|bad| **bad).count() as f64;
        let bursts = corrupted.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // Of 12 500 bursts of geometric length, whose deviation is about their mean: 1 % is the
        // standard error.
        assert!((lost / 2e6 - 0.05).abs() < 0.002, "{lost}");
        assert!((lost / bursts - 8.0).abs() < 0.25, "{}", lost / bursts);
    }

    #[test]
    fn the_burst_length_of_independent_errors_gives_independent_errors() {
        let corrupted = corrupted(0.2, 1.25, 1_000_000);
        let after = |first: bool| {
            let of: Vec<_> = corrupted.windows(2).filter(|pair| pair[0] == first).collect();
            of.iter().filter(|pair| pair[1]).count() as f64 / of.len() as f64
        };
        assert!((after(true) - 0.2).abs() < 0.004 && (after(false) - 0.2).abs() < 0.002);
    }

    #[test]
    fn bursts_without_gaps_are_refused_with_the_minimum_length() {
        for (probability, burst, refused) in [(0.9, 5.0, true), (0.9, 10.0, false), (1.0, 3.0, true)] {
            let config: Config =
                serde_json::from_value(serde_json::json!({"probability": probability, "burst": burst}))
                    .unwrap();
            let mut problems = Problems::default();
            config.check(&mut problems);
            assert_eq!(problems.count() > 0, refused, "{probability} {burst}");
        }
    }
}
