//! Errors by states of the received signal: a Markov chain in time with a loss per state and data
//! rate.
//!
//! The chain takes a step every `step`, independent of the traffic. In state i, a frame at the rate
//! of column j is lost with probability `loss[i][j]`. The rate makes no difference with a single
//! column. On a link without modulations, a frame uses the column of `rate`, by default the last
//! one.
//!
//! The WICHMO part of the SatNEx platform describes an 802.11 channel by three states, above -30
//! dBm, from -60 to -30 dBm and below -60 dBm, with a packet loss per state. A memoryless chain
//! moves between them.
//!
//! ```toml
//! error = { kind = "snr-states", step = "5 ms", rates = ["1 Mbit/s", "11 Mbit/s"],
//!           loss = [[0, 0.001], [0.002, 0.05], [0.1, 0.7]],
//!           transitions = [[0.99, 0.01, 0], [0.02, 0.97, 0.01], [0, 0.05, 0.95]] }
//! ```

use super::chain::{check, distribution, Walk};
use super::{Channel, Effect, Frame, Process};
use bentpipe_core::{Fraction, Problems, Rate, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Errors by states of the received signal: a Markov chain in time with a loss probability per
/// state and data rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Corruption probabilities, 0 to 1: one row per state (1 to 64), with one column for each of
    /// the `rates`.
    pub loss: Vec<Vec<Fraction>>,
    /// Data rates of the columns of `loss`, in ascending order. A frame uses the column of the
    /// highest rate that does not exceed its own, or the first column. If unset, `loss` has one
    /// column for all rates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<Rate>,
    /// Data rate of packets on a link without its own modulations. Default the highest of `rates`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Transition probabilities: one row per state, with the probability of each next state. Each
    /// row adds to 1; a difference of up to 0.001 from rounding is removed by scaling.
    pub transitions: Vec<Vec<Fraction>>,
    /// Time between two steps of the chain.
    pub step: Span,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

impl Config {
    /// Returns the column of a frame at this rate.
    fn column(&self, rate: Option<Rate>) -> usize {
        let below = |rate| self.rates.partition_point(|one| *one <= rate).saturating_sub(1);
        rate.map_or(self.rates.len().saturating_sub(1), below)
    }

    /// Returns the probability that a frame at this rate is corrupted.
    fn loss_at(&self, rate: Option<Rate>) -> f64 {
        let column = self.column(rate);
        let states = distribution(&self.transitions);
        states.iter().zip(&self.loss).map(|(part, row)| part * row[column].value()).sum()
    }
}

/// Number of steps that are simulated one by one. After a longer pause the state is drawn from the
/// stationary distribution.
const MAX_STEPS: u64 = 1 << 16;

struct States {
    config: Config,
    /// Column of a packet without a modulation.
    column: usize,
    walk: Walk,
    state: usize,
    /// Number of the present step; `None` before the first frame.
    step: Option<u64>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "step = \"5 ms\", rates = [\"1 Mbit/s\", \"11 Mbit/s\"], loss = [[0, 0.01], [0.05, 0.6]], transitions = [[0.95, 0.05], [0.2, 0.8]]";
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(States {
            config: self.clone(),
            column: self.column(self.rate),
            walk: Walk::new(&self.transitions),
            state: 0,
            step: None,
        }))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn expected_loss(&self, _packets: u64, _bytes: f64) -> f64 {
        self.loss_at(self.rate)
    }

    fn expected_frame_loss(&self, frame: Frame) -> f64 {
        self.loss_at(Some(frame.mode.rate()))
    }

    fn check(&self, problems: &mut Problems) {
        let columns = self.rates.len().max(1);
        if let Some((place, row)) = self.loss.iter().enumerate().find(|(_, row)| row.len() != columns) {
            let (number, found) = (place + 1, row.len());
            let allowed = format!("allowed: {columns}, one per element of `rates`, or one without `rates`");
            return problems.add("loss", format!("row {number} has {found} probabilities; {allowed}"));
        }
        if self.rates.windows(2).any(|pair| pair[0] >= pair[1]) {
            problems.add("rates", "are not in order; allowed: ascending, each once".to_owned());
        }
        if self.step == Span::ZERO {
            problems.add("step", "must be longer than 0 s".to_owned());
        }
        check(&self.transitions, self.loss.len(), "loss", problems);
    }
}

impl States {
    fn advance(&mut self, now: Time, stream: &mut Stream) {
        let step = now.since(Time::ZERO).as_nanos() / self.config.step.as_nanos();
        let due = match self.step {
            None => 1,
            Some(last) if step - last > MAX_STEPS => {
                self.walk = Walk::new(&self.config.transitions);
                1
            }
            Some(last) => step - last,
        };
        for _ in 0..due {
            self.state = self.walk.step(stream);
        }
        self.step = Some(step);
    }
}

impl Process for States {
    fn corrupts(&mut self, now: Time, _bytes: u32, stream: &mut Stream) -> bool {
        self.advance(now, stream);
        stream.chance(self.config.loss[self.state][self.column].value())
    }

    fn corrupts_frame(&mut self, now: Time, frame: Frame, stream: &mut Stream) -> bool {
        self.advance(now, stream);
        let column = self.config.column(Some(frame.mode.rate()));
        stream.chance(self.config.loss[self.state][column].value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{Mode, Modulation};
    use bentpipe_core::Streams;

    fn config(more: &serde_json::Value) -> Config {
        let mut keys = serde_json::json!({
            "loss": [[0, 0.1], [0.2, 1]], "rates": ["1 Mbit/s", "11 Mbit/s"], "step": "5 ms",
            "transitions": [[0.9, 0.1], [0.3, 0.7]],
        });
        keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(keys).unwrap()
    }

    #[test]
    fn loss_follows_the_states_at_the_rate_of_the_frame() {
        let config = config(&serde_json::json!({}));
        // pi = (0.75, 0.25)
        for (kbit_s, expected) in [(1000, 0.05), (5500, 0.05), (11_000, 0.325)] {
            let (mut process, mut stream) = (config.build().unwrap(), Streams::new(8, 0).stream("states"));
            let frame = Frame { bytes: 1000, mode: Mode { kbit_s, modulation: Modulation::Cck8 } };
            let at = |number: u64| Time::ZERO + Span::from_millis(5 * number);
            let lost = (0..400_000).filter(|n| process.corrupts_frame(at(*n), frame, &mut stream)).count();
            assert!((lost as f64 / 4e5 - expected).abs() < 0.005, "{kbit_s}: {lost}");
        }
        assert!((config.expected_loss(1, 1.0) - 0.325).abs() < 1e-9);
        assert!(
            (self::config(&serde_json::json!({"rate": "2 Mbit/s"})).expected_loss(1, 1.0) - 0.05).abs()
                < 1e-9
        );
    }

    #[test]
    fn the_state_is_constant_within_a_step_and_depends_only_on_time() {
        let certain = serde_json::json!({"loss": [[0], [1]], "rates": [], "transitions": [[0, 1], [1, 0]]});
        let (mut process, mut stream) =
            (config(&certain).build().unwrap(), Streams::new(8, 0).stream("states"));
        let mut lost = |ms: u64| process.corrupts(Time::ZERO + Span::from_millis(ms), 1000, &mut stream);
        let first = lost(0);
        let seen = [1, 4, 5, 9, 10, 20, 25].map(&mut lost);
        assert_eq!(seen, [first, first, !first, !first, first, first, !first]);
    }

    #[test]
    fn inconsistent_rows_and_rates_are_refused() {
        for (more, expected) in [
            (serde_json::json!({"rates": ["1 Mbit/s"]}), "loss: row 1 has 2 probabilities; allowed: 1"),
            (serde_json::json!({"rates": ["11 Mbit/s", "1 Mbit/s"]}), "rates: are not in order"),
            (serde_json::json!({"step": "0 s"}), "step: must be longer than 0 s"),
            (serde_json::json!({"transitions": [[1, 0]]}), "transitions: has 1 rows; allowed: 2"),
        ] {
            let mut problems = Problems::default();
            config(&more).check(&mut problems);
            let problem = problems.into_vec().remove(0);
            let text = format!("{}: {}", problem.path.join("."), problem.message);
            assert!(text.starts_with(expected), "{text}");
        }
    }
}
