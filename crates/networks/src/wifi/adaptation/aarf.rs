//! Adaptive ARF: ARF in which each lost probe doubles the number of successes required for the next
//! probe.
//!
//! On a constant channel, ARF tries the next higher rate every ten frames and loses this probe.
//! AARF doubles the required number of successes whenever a probe is lost, up to 60 (50 in the
//! paper). A step down after consecutive failures resets the number to 10.
//!
//! Source: M. Lacage, M. H. Manshaei, T. Turletti, "IEEE 802.11 rate adaptation: a practical
//! approach", MSWiM 2004.
//!
//! ```toml
//! adaptation = { kind = "aarf", most_successes = 50 }
//! ```

use super::arf::{Limits, Step, Steps};
use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{Count, Problems, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adaptive ARF (AARF, Lacage 2004): ARF that probes less often after each lost probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Initial number of consecutive acknowledged frames required for a step up; 10 by default
    /// (Lacage 2004). A step down after consecutive failures resets the number to this value.
    pub successes: Count<1, 10_000>,
    /// Maximum number of consecutive acknowledged frames required for a step up; 60 by default
    /// (ns-3; 50 in the paper).
    pub most_successes: Count<1, 10_000>,
    /// Factor by which a lost probe increases the required number of acknowledged frames and
    /// `timer`; 2 by default (Lacage 2004).
    pub factor: Count<1, 10>,
    /// Number of transmissions since the last step after which the rate steps up even without
    /// `successes` consecutive acknowledgments; 15 by default (ns-3). A lost probe multiplies it by
    /// `factor`, and a step down after consecutive failures resets it.
    pub timer: Count<1, 10_000>,
    /// Number of consecutive failed transmissions required for a step down; 2 by default.
    pub failures: Count<1, 1000>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            successes: Count::new(10),
            most_successes: Count::new(60),
            factor: Count::new(2),
            timer: Count::new(15),
            failures: Count::new(2),
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "most_successes = 50";
}

impl Adaptation for Config {
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter> {
        let lowest = Limits::of(self.successes, self.timer, self.failures);
        Box::new(Aarf {
            limits: lowest,
            lowest,
            max_successes: self.most_successes.value() as u32,
            factor: self.factor.value() as u32,
            steps: Steps::new(rates.len() - 1),
        })
    }

    fn check(&self, _rates: &[Speed], problems: &mut Problems) {
        if self.most_successes < self.successes {
            let (most, least) = (self.most_successes.value(), self.successes.value());
            problems
                .add("most_successes", format!("{most} is less than `successes`; allowed: {least} or more"));
        }
    }
}

struct Aarf {
    limits: Limits,
    lowest: Limits,
    max_successes: u32,
    factor: u32,
    steps: Steps,
}

impl Adapter for Aarf {
    fn choose(&mut self, _now: Time, _attempt: u32, _stream: &mut Stream) -> Choice {
        Choice { rate: self.steps.rate, rts: false }
    }

    fn record_outcome(&mut self, _now: Time, _rate: usize, _attempt: u32, outcome: Outcome) {
        let Some(success) = outcome.success() else { return };
        match self.steps.count(success, self.limits) {
            Some(Step::Back) => {
                self.limits.successes = (self.limits.successes * self.factor).min(self.max_successes);
                // The timer stops growing when the number of successes has reached its maximum.
                let largest = self.lowest.timer * self.max_successes / self.lowest.successes;
                self.limits.timer = (self.limits.timer * self.factor).min(largest);
            }
            Some(Step::Down) => self.limits = self.lowest,
            Some(Step::Up) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::trajectory;
    use super::*;

    #[test]
    fn lost_probes_delay_the_next_probe_up_to_a_limit() {
        // The rate rises after 10, 20, 40, 60 and 60 consecutive acknowledgments.
        let row = |count: usize| format!("{}s", "a".repeat(count));
        let outcomes: String = [10, 20, 40, 60, 60].map(row).concat();
        let expected: String = [10, 20, 40, 60, 60].map(|count| format!("{}1", "0".repeat(count))).concat();
        assert_eq!(trajectory(&Config::default(), &outcomes), expected);
    }

    #[test]
    fn two_consecutive_failures_reset_the_threshold() {
        let outcomes = format!("{}s{}aassa{}", "a".repeat(10), "a".repeat(20), "a".repeat(10));
        let expected = format!("{}1{}11110{}", "0".repeat(10), "0".repeat(20), "0".repeat(9) + "1");
        assert_eq!(trajectory(&Config::default(), &outcomes), expected);
    }
}
