//! {Title}: the rule by which a sender chooses its rate, in a sentence.
//!
//! Rules with their numbers, source, deviations, limits.
//!
//! ```toml
//! adaptation = { kind = "{kebab}", failures = 3 }
//! ```

use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{Count, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the rule by which a sender chooses its rate, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Number of transmissions that must fail before the slowest rate is used.
    pub failures: Count<1, 1000>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "failures = 3";
}

impl Adaptation for Config {
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter> {
        Box::new({Camel} { fastest: rates.len() - 1, most: self.failures.value(), failures: 0 })
    }
}

struct {Camel} {
    fastest: usize,
    most: u64,
    failures: u64,
}

impl Adapter for {Camel} {
    fn choose(&mut self, _now: Time, _attempt: u32, _stream: &mut Stream) -> Choice {
        let rate = if self.failures < self.most { self.fastest } else { 0 };
        Choice { rate, rts: false }
    }

    fn record_outcome(&mut self, _now: Time, _rate: usize, _attempt: u32, outcome: Outcome) {
        self.failures += u64::from(outcome.success() == Some(false));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::trajectory;
    use super::*;

    #[test]
    fn the_slowest_rate_follows_on_failures() {
        let config: Config = serde_json::from_str(r#"{"failures": 2}"#).unwrap();
        assert_eq!(trajectory(&config, "asasaa"), "333300");
    }
}
