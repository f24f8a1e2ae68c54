//! The tolerances of an emulation: deviations from its scenario beyond which its results are in
//! doubt.

use bentpipe_core::{Count, Fraction, Problems, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tolerances of an emulation. A run that exceeds one of them is degraded. A run that exceeds one
/// tenfold, or loses more packets than allowed, is void. Simulations do not use them.
///
/// ```toml
/// [fidelity]
/// lateness_p99 = "200 us"
/// lost = 0
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fidelity {
    /// Maximum lateness of 99 % of the packets at their host, longer than 0 s. Default 1 ms.
    pub lateness_p99: Span,
    /// Maximum lateness of any packet at its host, longer than 0 s. Default 20 ms.
    pub lateness_max: Span,
    /// Maximum time for which 99 % of the packets wait in the kernel before the engine reads them
    /// from a host. A TCP sender that sends a window at once fills milliseconds. Default 20 ms.
    pub reading_p99: Span,
    /// Maximum number of packets lost outside the models. Default 0.
    pub lost: Count<0, 1_000_000_000>,
    /// Maximum relative deviation of a transmitting link's rate from the configured one. Default
    /// 0.01.
    pub rate: Fraction,
    /// Maximum fraction of the run for which the engine's thread waits for a processor. Default
    /// 0.01.
    pub starved: Fraction,
    /// Maximum fraction of the processors' time that the hypervisor takes from the machine (steal
    /// time). Default 0.02.
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
    pub(crate) fn check(&self, problems: &mut Problems) {
        for (key, value) in [
            ("lateness_p99", self.lateness_p99),
            ("lateness_max", self.lateness_max),
            ("reading_p99", self.reading_p99),
        ] {
            if value == Span::ZERO {
                problems.add(key, "must be longer than 0 s");
            }
        }
    }
}
