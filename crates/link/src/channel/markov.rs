//! Errors by a Markov chain with any number of states, each with its own corruption probability.
//!
//! The chain takes a step with each packet. `transitions[i][j]` is the probability that state j
//! follows state i, and `loss[i]` the probability that a packet in state i is corrupted. With the
//! stationary distribution pi, the mean loss is the sum of pi_i loss_i. The initial state is drawn
//! from pi.
//!
//! With losses of 0 and 1, the chain is the model of published loss fits, such as "good, lost,
//! second good": a packet is lost exactly when the chain is in a lost state. With other losses the
//! states are hidden (L. R. Rabiner, "A Tutorial on Hidden Markov Models", Proceedings of the IEEE
//! 77(2), 1989). Two states are the processes `gilbert` (losses 0 and 1) and `gilbert-elliott`.
//!
//! ```toml
//! error = { kind = "markov", loss = [0, 1, 0],
//!           transitions = [[0.9363, 0.0637, 0], [0.3631, 0.4072, 0.2297], [0, 0.4338, 0.5662]] }
//! ```

use super::chain::{check, distribution, Walk};
use super::{Channel, Effect, Process};
use bentpipe_core::{Fraction, Problems, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Errors by a Markov chain: the chain takes a step with each packet, and each state corrupts
/// packets with its own probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Corruption probability of each state, 0 to 1. The number of elements, 1 to 64, is the number
    /// of states.
    pub loss: Vec<Fraction>,
    /// Transition probabilities: one row per state, with the probability of each next state. Each
    /// row adds to 1; a difference of up to 0.001 from rounding is removed by scaling.
    pub transitions: Vec<Vec<Fraction>>,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

struct Markov {
    walk: Walk,
    loss: Vec<f64>,
}

impl Sample for Config {
    const SAMPLE: &'static str =
        "loss = [0, 0.02, 0.7], transitions = [[0.95, 0.05, 0], [0.1, 0.8, 0.1], [0, 0.4, 0.6]]";
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        let loss = self.loss.iter().map(|one| one.value()).collect();
        Some(Box::new(Markov { walk: Walk::new(&self.transitions), loss }))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn expected_loss(&self, _packets: u64, _bytes: f64) -> f64 {
        distribution(&self.transitions).iter().zip(&self.loss).map(|(part, loss)| part * loss.value()).sum()
    }

    fn check(&self, problems: &mut Problems) {
        check(&self.transitions, self.loss.len(), "loss", problems);
    }
}

impl Process for Markov {
    fn corrupts(&mut self, _now: Time, _bytes: u32, stream: &mut Stream) -> bool {
        let loss = self.loss[self.walk.step(stream)];
        stream.chance(loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    fn config(loss: &[f64], transitions: &[&[f64]]) -> Config {
        serde_json::from_value(serde_json::json!({"loss": loss, "transitions": transitions})).unwrap()
    }

    #[test]
    fn published_chains_have_the_loss_and_bursts_of_their_papers() {
        // Loss and mean burst of EP4 and EP6 in `markov_loss_fits.csv`.
        let ep4 =
            config(&[0., 1., 0.], &[&[0.9363, 0.0637, 0.], &[0.3631, 0.4072, 0.2297], &[0., 0.4338, 0.5662]]);
        let ep6 = config(&[0., 1., 0.], &[&[0.8507, 0.1493, 0.], &[0.2982, 0.6305, 0.0713], &[0., 0.8, 0.2]]);
        for (config, loss, burst) in [(ep4, 0.138_319, 1.6869), (ep6, 0.323_997, 2.7064)] {
            assert!((config.expected_loss(1, 1.0) - loss).abs() < 2e-5);
            let (mut process, mut stream) = (config.build().unwrap(), Streams::new(9, 0).stream("markov"));
            let corrupted: Vec<bool> =
                (0..1_000_000).map(|_| process.corrupts(Time::ZERO, 1000, &mut stream)).collect();
            let lost = corrupted.iter().filter(|lost| **lost).count() as f64;
            let bursts = corrupted.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            // Some 80 000 bursts: 0.4 % is the standard error of their mean length.
            assert!((lost / 1e6 / loss - 1.0).abs() < 0.02, "{lost}");
            assert!((lost / bursts / burst - 1.0).abs() < 0.02, "{}", lost / bursts);
        }
    }

    #[test]
    fn invalid_chains_are_refused() {
        let cases: [(Config, &str); 4] = [
            (
                config(&[0., 1.], &[&[0.9, 0.1]]),
                "transitions: has 1 rows; allowed: 2, one per state in `loss`",
            ),
            (
                config(&[0., 1.], &[&[0.9, 0.1], &[1.0]]),
                "transitions: row 2 has 1 probabilities; allowed: 2, one per state in `loss`",
            ),
            // EP2 of `markov_loss_fits.csv` as printed: two numbers of its second row add to more
            // than 1.
            (
                config(&[0., 1.], &[&[0.9798, 0.0202], &[0.6304, 0.372]]),
                "transitions: row 2 adds to 1.002400; allowed: a sum of 1, to 0.001",
            ),
            (config(&[], &[]), "loss: has 0 states; allowed: 1 to 64"),
        ];
        for (config, expected) in cases {
            let mut problems = Problems::default();
            config.check(&mut problems);
            let texts: Vec<String> = problems
                .into_vec()
                .iter()
                .map(|problem| format!("{}: {}", problem.path.join("."), problem.message))
                .collect();
            assert_eq!(texts, [expected]);
        }
    }
}
