//! Loss-differentiating ARF: ARF that does not count collisions as failures.
//!
//! A lower rate helps against noise, but not against collisions, because it makes them longer. The
//! sender distinguishes collisions from errors of the channel:
//!
//! - With RTS and CTS, a missing CTS means a collision. A missing acknowledgment after a CTS means
//!   errors of the channel.
//! - Without RTS and CTS, a receiver answers with a NAK if it could read the header of a frame, but
//!   the body is corrupted. The NAK is sent when the ACK would be sent, and takes the same time. A
//!   frame without any answer has collided.
//!
//! Source: Q. Pang, V. C. M. Leung, S. C. Liew, "A Rate Adaptation Algorithm for IEEE 802.11 WLANs
//! Based on MAC-Layer Loss Differentiation", BroadNets 2005. The paper itself was not available;
//! this model follows its abstract and papers that cite it.
//!
//! Deviation: a receiver can always read the header of a frame that did not collide.
//!
//! ```toml
//! adaptation = "ld-arf"
//! ```

use super::arf::{Arf, Limits};
use super::{Adaptation, Adapter, Outcome, Speed};
use bentpipe_core::{Count, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Loss-differentiating ARF (LD-ARF, Pang, Leung and Liew 2005): ARF that does not count collisions
/// as failures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of consecutive acknowledged frames required for a step up; 10 by default, as in ARF.
    pub successes: Count<1, 10_000>,
    /// Number of transmissions since the last step after which the rate steps up even without
    /// `successes` consecutive acknowledgments; 15 by default, as in ARF.
    pub timer: Count<1, 10_000>,
    /// Number of consecutive transmissions corrupted by the channel that are required for a step
    /// down; 2 by default, as in ARF.
    pub failures: Count<1, 1000>,
}

impl Default for Config {
    fn default() -> Config {
        Config { successes: Count::new(10), timer: Count::new(15), failures: Count::new(2) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "successes = 12";
}

impl Adaptation for Config {
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter> {
        let limits = Limits::of(self.successes, self.timer, self.failures);
        Box::new(Arf::new(limits, rates, differentiated))
    }

    fn nak(&self) -> bool {
        true
    }
}

/// Returns the outcome that ARF counts; `None` for transmissions that collided.
fn differentiated(outcome: Outcome) -> Option<bool> {
    match outcome {
        Outcome::Unanswered { .. } | Outcome::Blocked => None,
        Outcome::Acknowledged { .. } | Outcome::Corrupted { .. } => outcome.success(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::trajectory;
    use super::*;

    #[test]
    fn collisions_are_ignored_and_corrupted_frames_count_as_in_arf() {
        let check = |outcomes: &str, expected: &str| {
            assert_eq!(trajectory(&Config::default(), outcomes), expected, "{outcomes}");
        };
        check("aaaaaaaaaaasssssa", "00000000001111111");
        check("aaaaaaaaaaannssa", "0000000000111000");
        // A probe that collides is still a probe when it is retransmitted.
        check("aaaaaaaaaassna", "00000000001110");
        // Collisions do not interrupt a series of successes.
        check("aaaaasbaaaaaa", "0000000000001");
    }
}
