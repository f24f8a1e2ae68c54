//! How far an emulation may deviate from its scenario before its results are in doubt.

use bentpipe_core::{Count, Fraction, Problems, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tolerances of an emulation. A run that exceeds one of them is degraded. A run that exceeds one
/// tenfold, or loses more packets than allowed, is void. A simulation needs none.
///
/// ```toml
/// [fidelity]
/// lateness_p99 = "200 us"
/// lost = 0
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fidelity {
    /// Maximum delay with which 99 % of the packets may reach their host too late, 1 ms by default;
    /// longer than 0 s.
    pub lateness_p99: Span,
    /// Maximum delay with which any packet may reach its host too late, 20 ms by default; longer
    /// than 0 s.
    pub lateness_max: Span,
    /// Maximum time for which 99 % of the packets may wait in the kernel before the engine reads
    /// them from a host, 20 ms by default. A TCP sender that sends a window at once fills
    /// milliseconds.
    pub reading_p99: Span,
    /// Number of packets that may be lost where no model drops them, 0 by default.
    pub lost: Count<0, 1_000_000_000>,
    /// Maximum deviation of the rate of a transmitting link from the configured one, as a fraction;
    /// 0.01 by default.
    pub rate: Fraction,
    /// Maximum fraction of the run for which the engine's thread may wait for a processor, 0.01 by
    /// default.
    pub starved: Fraction,
    /// Maximum fraction of the processors' time that the hypervisor may take from the machine
    /// (steal time), 0.02 by default.
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
