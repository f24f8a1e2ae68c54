//! How far an emulation may be from what the scenario says before its results are in doubt.

use bentpipe_core::{Count, Fraction, Problems, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tolerances of an emulation. A run beyond one of them is degraded; ten times beyond it, or with more packets lost than
/// allowed, it is void. A simulation needs none.
///
/// ```toml
/// [fidelity]
/// lateness_p99 = "200 us"
/// lost = 0
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fidelity {
    /// By how much 99 % of the packets may at most reach their host too late.
    pub lateness_p99: Span,
    /// By how much any packet may.
    pub lateness_max: Span,
    /// How long 99 % of the packets may lie in the kernel before the engine takes them from a host. A TCP sender that
    /// sends a window at once fills milliseconds.
    pub reading_p99: Span,
    /// Packets that may get lost where no model drops them.
    pub lost: Count<0, 1_000_000_000>,
    /// By which share the rate of a transmitting link may differ from the configured one.
    pub rate: Fraction,
    /// Share of the run for which the engine's thread may wait for a processor.
    pub starved: Fraction,
    /// Share of the processors' time that the machine may not get from the one that it runs on.
    pub steal: Fraction,
}

impl Default for Fidelity {
    fn default() -> Fidelity {
        let share = |value| Fraction::new(value).expect("the defaults are shares");
        Fidelity {
            lateness_p99: Span::from_millis(1),
            lateness_max: Span::from_millis(20),
            reading_p99: Span::from_millis(20),
            lost: Count::new(0),
            rate: share(0.01),
            starved: share(0.01),
            steal: share(0.02),
        }
    }
}

impl Fidelity {
    pub(super) fn check(&self, problems: &mut Problems) {
        for (key, value) in [
            ("lateness_p99", self.lateness_p99),
            ("lateness_max", self.lateness_max),
            ("reading_p99", self.reading_p99),
        ] {
            if value == Span::ZERO {
                problems.add(key, "nothing is ever exact; allowed: more than 0 s");
            }
        }
    }
}
