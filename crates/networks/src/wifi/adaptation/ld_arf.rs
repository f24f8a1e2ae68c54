//! Loss-differentiating ARF: ARF that does not count collisions as failures.
//!
//! A lower rate helps against noise, but not against collisions, which it makes longer. The sender
//! distinguishes the two:
//!
//! - with RTS and CTS, a missing CTS means a collision, and missing data after a CTS means errors
//!   of the channel;
//! - without them, a receiver that could read the header of a frame whose body is corrupted answers
//!   with a NAK, which takes the place and the time of the ACK. A frame without any answer has
//!   collided.
//!
//! Source: Q. Pang, V. C. M. Leung, S. C. Liew, "A Rate Adaptation Algorithm for IEEE 802.11 WLANs
//! Based on MAC-Layer Loss Differentiation", BroadNets 2005; known here from its abstract and from
//! papers that quote it, not read in the original.
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

/// Loss-differentiating ARF (LD-ARF, Pang, Leung and Liew 2005): collisions are not counted as
/// failures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of frames in a row that must be acknowledged before a step up; 10 by default, as in
    /// ARF.
    pub successes: Count<1, 10_000>,
    /// Number of transmissions after which a step up comes even without `successes` in a row,
    /// unless a step down comes first; 15 by default, as in ARF.
    pub timer: Count<1, 10_000>,
    /// Number of transmissions in a row that the channel must corrupt before a step down; 2 by
    /// default, as in ARF.
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

/// Returns what ARF would count, without the transmissions that collided.
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
        // Collisions interrupt no row of successes.
        check("aaaaasbaaaaaa", "0000000000001");
    }
}
