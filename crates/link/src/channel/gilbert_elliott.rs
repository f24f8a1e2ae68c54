//! Errors by the model of Gilbert and Elliott: a two-state Markov chain that takes a step with each
//! packet, with a corruption probability in each state.
//!
//! With p = `good_to_bad` and r = `bad_to_good`, bad periods have 1 / r packets on average, and
//!
//! ```text
//! fraction of packets in the bad state = p / (p + r)
//! mean loss = (r loss_good + p loss_bad) / (p + r)
//! ```
//!
//! The process `gilbert` is the case `loss_good = 0` and `loss_bad = 1`, in which the states are
//! visible.
//!
//! Source: E. O. Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels", Bell System
//! Technical Journal 42(5), pages 1977-1997, 1963, where k = 1 - `loss_good` and h = 1 -
//! `loss_bad`. The initial state is drawn from the stationary distribution.
//!
//! ```toml
//! error = { kind = "gilbert-elliott", good_to_bad = 0.01, bad_to_good = 0.1, loss_bad = 0.4 }
//! ```

use super::{Channel, Effect, Process};
use bentpipe_core::{Fraction, Problems, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Errors in bursts (Gilbert and Elliott 1963): a two-state Markov chain with a loss probability in
/// each state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Transition probability per packet from the good to the bad state, 0 to 1.
    pub good_to_bad: Fraction,
    /// Transition probability per packet from the bad to the good state, 0 to 1; not 0 together
    /// with `good_to_bad`.
    pub bad_to_good: Fraction,
    /// Corruption probability of a packet in the good state, 0 to 1. Default 0.
    #[serde(default)]
    pub loss_good: Fraction,
    /// Corruption probability of a packet in the bad state, 0 to 1.
    pub loss_bad: Fraction,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

impl Config {
    /// Returns the fraction of packets in the bad state.
    fn bad(&self) -> f64 {
        let (leaves, returns) = (self.good_to_bad.value(), self.bad_to_good.value());
        leaves / (leaves + returns)
    }
}

struct States {
    part: f64,
    /// Probabilities of leaving the state, and of corruption, in the good and in the bad state.
    leaves: [f64; 2],
    loss: [f64; 2],
    /// The present state, true for bad; `None` before the first packet.
    bad: Option<bool>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "good_to_bad = 0.02, bad_to_good = 0.2, loss_good = 0.001, loss_bad = 0.5";
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(States {
            part: self.bad(),
            leaves: [self.good_to_bad.value(), self.bad_to_good.value()],
            loss: [self.loss_good.value(), self.loss_bad.value()],
            bad: None,
        }))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn expected_loss(&self, _packets: u64, _bytes: f64) -> f64 {
        let bad = self.bad();
        (1.0 - bad) * self.loss_good.value() + bad * self.loss_bad.value()
    }

    fn check(&self, problems: &mut Problems) {
        if self.good_to_bad.value() + self.bad_to_good.value() == 0.0 {
            problems.add(
                "bad_to_good",
                "is 0, as is good_to_bad; allowed: at least one of them above 0".to_owned(),
            );
        }
    }
}

impl Process for States {
    fn corrupts(&mut self, _now: Time, _bytes: u32, stream: &mut Stream) -> bool {
        let bad = match self.bad {
            None => stream.chance(self.part),
            Some(bad) => bad != stream.chance(self.leaves[usize::from(bad)]),
        };
        self.bad = Some(bad);
        stream.chance(self.loss[usize::from(bad)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn losses_have_the_correlation_of_the_chains_eigenvalue() {
        let (p, r, good, bad) = (0.01_f64, 0.04, 0.002, 0.6_f64);
        let config: Config = serde_json::from_value(serde_json::json!({
            "good_to_bad": p, "bad_to_good": r, "loss_good": good, "loss_bad": bad,
        }))
        .unwrap();
        let (mut process, mut stream) = (config.build().unwrap(), Streams::new(4, 0).stream("channel"));
        let count = 2_000_000;
        let lost: Vec<f64> =
            (0..count).map(|_| f64::from(process.corrupts(Time::ZERO, 1500, &mut stream))).collect();
        let mean = lost.iter().sum::<f64>() / count as f64;
        assert!((mean - config.expected_loss(1, 1.0)).abs() < 0.004, "{mean}");
        for lag in [1, 5, 20] {
            let covariance = lost.iter().zip(&lost[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
                / count as f64;
            // Covariance of the states, pi (1 - pi) (1 - p - r)^lag, times the squared difference
            // of their losses.
            let expected = p * r / (p + r).powi(2) * (1.0 - p - r).powi(lag as i32) * (bad - good).powi(2);
            assert!((covariance - expected).abs() < 0.002, "{lag}: {covariance} {expected}");
        }
    }
}
