//! Adaptive ARF: ARF in which each lost probe doubles the number of successes that the next probe
//! needs.
//!
//! On a channel that does not change, ARF tries the next rate every ten frames and loses the probe.
//! AARF doubles the threshold whenever a probe is lost, up to 60 (the paper: 50), and returns to 10
//! after a step down for failures in a row.
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

/// Adaptive ARF (AARF, Lacage 2004): ARF that probes more and more rarely while its probes are
/// lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of frames in a row that must be acknowledged before a step up, at first and after a
    /// step down; 10 by default (Lacage 2004).
    pub successes: Count<1, 10_000>,
    /// The largest value of that number; 60 by default (ns-3; the paper has 50).
    pub most_successes: Count<1, 10_000>,
    /// The factor by which that number and `timer` grow when a probe is lost; 2 by default (Lacage
    /// 2004).
    pub factor: Count<1, 10>,
    /// Number of transmissions after which a step up comes even without `successes` in a row,
    /// unless a step down comes first; 15 by default (ns-3). `factor` lengthens it when a probe is
    /// lost, and a step down sets it back.
    pub timer: Count<1, 10_000>,
    /// Number of transmissions in a row that must fail before a step down; 2 by default.
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
                // At the largest number of successes the timer stops growing, too.
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
        // After each row of acknowledgments, its length at which the rate rises: 10, 20, 40, 60,
        // 60.
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
