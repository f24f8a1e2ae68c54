//! No adaptation: all data frames are sent at one rate.
//!
//! ```toml
//! adaptation = { kind = "fixed", rate = "11 Mbit/s" }
//! ```

use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{Count, Problems, Rate, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No adaptation: all data frames are sent at one rate, the fastest of the network if none is
/// given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate of data frames, such as `"5.5 Mbit/s"`. It must be a rate of the network's standard. If
    /// unset, `mcs` determines the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Index of the rate in the standard, from 0; for 802.11n, this is the MCS, such as 7. If
    /// neither `mcs` nor `rate` is set, the fastest rate of the network is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcs: Option<Count<0, 31>>,
}

impl Config {
    fn position(&self, rates: &[Speed]) -> Option<usize> {
        match (self.rate, self.mcs) {
            (Some(rate), None) => rates.iter().position(|one| one.rate == rate),
            (None, Some(mcs)) => rates.iter().position(|one| one.index as u64 == mcs.value()),
            (None, None) => rates.len().checked_sub(1),
            (Some(_), Some(_)) => None,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"rate = "24 Mbit/s""#;
}

impl Adaptation for Config {
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter> {
        Box::new(Fixed(self.position(rates).expect("the configuration has been checked")))
    }

    fn constant(&self, rates: &[Speed]) -> Option<usize> {
        self.position(rates)
    }

    fn check(&self, rates: &[Speed], problems: &mut Problems) {
        if self.rate.is_some() && self.mcs.is_some() {
            problems.add("mcs", "cannot be combined with `rate`; allowed: one of the two");
        } else if self.position(rates).is_none() {
            let all: Vec<String> = rates.iter().map(|one| one.rate.to_string()).collect();
            match (self.rate, self.mcs) {
                (Some(rate), _) => {
                    problems.add(
                        "rate",
                        format!("{rate} is not a rate of this network; allowed: {}", all.join(", ")),
                    );
                }
                (_, mcs) => {
                    let mcs = mcs.map_or(0, Count::value);
                    problems.add(
                        "mcs",
                        format!("{mcs} is not a rate of this network; allowed: 0 to {}", rates.len() - 1),
                    );
                }
            }
        }
    }
}

struct Fixed(usize);

impl Adapter for Fixed {
    #[inline]
    fn choose(&mut self, _now: Time, _attempt: u32, _stream: &mut Stream) -> Choice {
        Choice { rate: self.0, rts: false }
    }

    fn record_outcome(&mut self, _now: Time, _rate: usize, _attempt: u32, _outcome: Outcome) {}
}

#[cfg(test)]
mod tests {
    use super::super::testing::{rates, trajectory};
    use super::*;

    #[test]
    fn the_rate_is_constant_and_must_be_a_rate_of_the_network() {
        let config = |text| -> Config { serde_json::from_str(text).unwrap() };
        assert_eq!(trajectory(&config(r#"{"rate": "5.5 Mbit/s"}"#), "asssa"), "22222");
        assert_eq!(trajectory(&config("{}"), "asssa"), "33333");
        assert_eq!(trajectory(&config(r#"{"mcs": 1}"#), "as"), "11");
        for (text, refused) in [(r#"{"rate": "6 Mbit/s"}"#, 1), (r#"{"mcs": 4}"#, 1), (r#"{"mcs": 3}"#, 0)] {
            let mut problems = Problems::default();
            config(text).check(&rates(), &mut problems);
            assert_eq!(problems.count(), refused, "{text}");
        }
    }
}
