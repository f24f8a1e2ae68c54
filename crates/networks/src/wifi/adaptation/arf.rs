//! Automatic rate fallback (ARF): one rate step up after ten consecutive successful transmissions,
//! and one step down after two consecutive failures.
//!
//! The first frame after a step up is a probe: if the probe is lost, the rate falls back at once.
//! The rate also steps up after 15 transmissions since the last step, whatever their outcomes. The
//! paper uses a timer instead of this number of transmissions.
//!
//! Source: A. Kamerman and L. Monteban, "WaveLAN-II: A high-performance wireless LAN for the
//! unlicensed band", Bell Labs Technical Journal 2(3), 1997. The number of transmissions in place
//! of the timer follows the documentation and defaults of ns-3's ArfWifiManager.
//!
//! ```toml
//! adaptation = "arf"
//! ```

use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{Count, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Automatic rate fallback (ARF, Kamerman and Monteban 1997): a step up after several consecutive
/// successes, and a step down after two consecutive failures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of consecutive acknowledged frames required for a step up; 10 by default (Kamerman
    /// and Monteban 1997).
    pub successes: Count<1, 10_000>,
    /// Number of transmissions since the last step after which the rate steps up even without
    /// `successes` consecutive acknowledgments; 15 by default (ns-3). It replaces the timer of the
    /// paper.
    pub timer: Count<1, 10_000>,
    /// Number of consecutive failed transmissions required for a step down; 2 by default (Kamerman
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

/// Numbers of transmissions that cause a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limits {
    pub(super) successes: u32,
    pub(super) timer: u32,
    pub(super) failures: u32,
}

impl Limits {
    /// Returns the limits for these keys of a configuration.
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
    /// A step down because the probe, the first frame after a step up, was lost.
    Back,
}

/// The current rate and the counters for its next step. ARF and AARF share this state.
pub(super) struct Steps {
    pub(super) rate: usize,
    highest: usize,
    successes: u32,
    failures: u32,
    /// Number of transmissions since the last step.
    transmissions: u32,
    /// True if the next frame is the first after a step up.
    probing: bool,
}

impl Steps {
    /// Creates the state at the lowest rate. `highest` is the position of the highest rate.
    pub(super) fn new(highest: usize) -> Steps {
        Steps { rate: 0, highest, successes: 0, failures: 0, transmissions: 0, probing: false }
    }

    /// Counts a transmission. Returns the step that the transmission causes, if any.
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

/// ARF with a rule for the outcomes that count as success or failure.
pub(super) struct Arf {
    limits: Limits,
    steps: Steps,
    /// Returns true for a success, false for a failure, and `None` for an outcome that ARF ignores.
    interpret: fn(Outcome) -> Option<bool>,
}

impl Arf {
    /// Creates an adapter that starts at the lowest of `rates`.
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

    /// Checks sequences that were worked out by hand from the rules of the paper.
    #[test]
    fn rates_follow_the_rules_of_the_paper() {
        let check = |outcomes: &str, expected: &str| {
            assert_eq!(trajectory(&Config::default(), outcomes), expected, "{outcomes}");
        };
        // After ten consecutive successes, the next frame uses the next rate.
        check("aaaaaaaaaaa", "00000000001");
        // A lost probe steps down at once. A single loss at an accepted rate changes nothing.
        check("aaaaaaaaaasa", "000000000010");
        check("aaaaaaaaaaasas", "00000000001111");
        // Two consecutive losses step down, but not below the lowest rate.
        check("aaaaaaaaaaassa", "00000000001110");
        check("ssssss", "000000");
        // Without ten consecutive successes, the fifteenth transmission since the last step raises
        // the rate.
        check("aaaaasaaaaasaaaa", "0000000000000001");
        // The rate does not rise above the highest rate.
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
