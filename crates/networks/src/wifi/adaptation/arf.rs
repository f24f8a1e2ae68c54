//! Automatic rate fallback (ARF): one rate up after ten frames in a row that arrived, one down
//! after two in a row that did not.
//!
//! The first frame after a step up is a probe: if it is lost, the rate falls back at once. A step
//! up also comes after 15 transmissions since the last step, whatever their outcomes, unless a step
//! down comes first; the paper has a timer there.
//!
//! Source: A. Kamerman and L. Monteban, "WaveLAN-II: A high-performance wireless LAN for the
//! unlicensed band", Bell Labs Technical Journal 2(3), 1997; the timer as a number of transmissions
//! follows ns-3's ArfWifiManager (its documentation and defaults).
//!
//! ```toml
//! adaptation = "arf"
//! ```

use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{Count, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Automatic rate fallback (ARF, Kamerman and Monteban 1997): up after a row of successes, down
/// after two failures in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of frames in a row that must be acknowledged before a step up; 10 by default
    /// (Kamerman and Monteban 1997).
    pub successes: Count<1, 10_000>,
    /// Number of transmissions after which a step up comes even without `successes` in a row,
    /// unless a step down comes first; 15 by default. It stands for the timer of the paper
    /// (Kamerman and Monteban 1997).
    pub timer: Count<1, 10_000>,
    /// Number of transmissions in a row that must fail before a step down; 2 by default (Kamerman
    /// and Monteban 1997).
    pub failures: Count<1, 1000>,
}

impl Default for Config {
    fn default() -> Config {
        Config { successes: Count::new(10), timer: Count::new(15), failures: Count::new(2) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "successes = 8, failures = 3";
}

impl Adaptation for Config {
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter> {
        let limits = Limits::of(self.successes, self.timer, self.failures);
        Box::new(Arf::new(limits, rates, Outcome::success))
    }
}

/// The limits at which steps are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limits {
    pub(super) successes: u32,
    pub(super) timer: u32,
    pub(super) failures: u32,
}

impl Limits {
    /// Returns the limits that the keys of a configuration set.
    pub(super) fn of(
        successes: Count<1, 10_000>,
        timer: Count<1, 10_000>,
        failures: Count<1, 1000>,
    ) -> Limits {
        let [successes, timer, failures] =
            [successes.value(), timer.value(), failures.value()].map(|count| count as u32);
        Limits { successes, timer, failures }
    }
}

/// A step from one rate to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Up,
    Down,
    /// Down, because the first frame after a step up was lost.
    Back,
}

/// The rate, and the counts for its next step: the common part of ARF and AARF.
pub(super) struct Steps {
    pub(super) rate: usize,
    highest: usize,
    successes: u32,
    failures: u32,
    /// Transmissions since the last step.
    transmissions: u32,
    /// True if the next frame is the first after a step up.
    probing: bool,
}

impl Steps {
    /// Starts at the lowest of the rates up to position `highest`.
    pub(super) fn new(highest: usize) -> Steps {
        Steps { rate: 0, highest, successes: 0, failures: 0, transmissions: 0, probing: false }
    }

    /// Counts a transmission, and returns the step that it causes.
    pub(super) fn count(&mut self, success: bool, limits: Limits) -> Option<Step> {
        self.transmissions += 1;
        let probing = std::mem::take(&mut self.probing);
        if success {
            self.successes += 1;
            self.failures = 0;
        } else {
            self.successes = 0;
            self.failures += 1;
        }
        if !success && (probing || self.failures >= limits.failures) {
            self.start(self.rate.saturating_sub(1), false);
            return Some(if probing { Step::Back } else { Step::Down });
        }
        let due = self.successes >= limits.successes || (success && self.transmissions >= limits.timer);
        if due && self.rate < self.highest {
            self.start(self.rate + 1, true);
            return Some(Step::Up);
        }
        None
    }

    fn start(&mut self, rate: usize, probing: bool) {
        *self = Steps { rate, probing, ..Steps::new(self.highest) };
    }
}

/// ARF, with the outcomes that it counts.
pub(super) struct Arf {
    limits: Limits,
    steps: Steps,
    /// Returns true for a transmission that counts as a success, false for a failure, and `None` if
    /// it counts as neither.
    interpret: fn(Outcome) -> Option<bool>,
}

impl Arf {
    /// Starts at the lowest of these rates.
    pub(super) fn new(limits: Limits, rates: &[Speed], interpret: fn(Outcome) -> Option<bool>) -> Arf {
        Arf { limits, steps: Steps::new(rates.len() - 1), interpret }
    }
}

impl Adapter for Arf {
    fn choose(&mut self, _now: Time, _attempt: u32, _stream: &mut Stream) -> Choice {
        Choice { rate: self.steps.rate, rts: false }
    }

    fn record_outcome(&mut self, _now: Time, _rate: usize, _attempt: u32, outcome: Outcome) {
        if let Some(success) = (self.interpret)(outcome) {
            self.steps.count(success, self.limits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::trajectory;
    use super::*;

    /// Sequences worked out by hand from the rules of the paper.
    #[test]
    fn trajectories_match_those_worked_out_by_hand() {
        let check = |outcomes: &str, expected: &str| {
            assert_eq!(trajectory(&Config::default(), outcomes), expected, "{outcomes}");
        };
        // Ten in a row, and the next frame is the first at the next rate.
        check("aaaaaaaaaaa", "00000000001");
        // The probe is lost: back at once; one loss of an accepted rate changes nothing.
        check("aaaaaaaaaasa", "000000000010");
        check("aaaaaaaaaaasas", "00000000001111");
        // Two in a row: down, and not below the lowest rate.
        check("aaaaaaaaaaassa", "00000000001110");
        check("ssssss", "000000");
        // Never ten in a row, but the fifteenth transmission since the last step.
        check("aaaaasaaaaasaaaa", "0000000000000001");
        // Not above the highest rate.
        check(
            &"a".repeat(45),
            &["0", "1", "2", "3"]
                .map(|rate| rate.repeat(10))
                .concat()
                .chars()
                .chain("33333".chars())
                .collect::<String>(),
        );
    }
}
