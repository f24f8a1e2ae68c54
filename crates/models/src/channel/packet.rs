//! Independent packet errors: each packet is spoiled with the same probability, whatever its size.
//!
//! ```toml
//! error = { kind = "packet", probability = 0.01 }
//! ```

use super::{Channel, Effect, Process};
use bentpipe_core::{Fraction, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent packet errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Probability that a packet is spoiled.
    pub probability: Fraction,
    /// What becomes of a packet that is spoiled: `"drop"` (it is lost), `"stale-checksum"` (it goes on with a wrong bit, for
    /// which the receiver drops it), `"valid-checksum"` (a bit of its payload is wrong, and nobody but the application can
    /// notice).
    #[serde(default)]
    pub effect: Effect,
}

struct Independent(f64);

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Independent(self.probability.value())))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn expected_loss(&self, _packets: u64, _bytes: f64) -> f64 {
        self.probability.value()
    }
}

impl Process for Independent {
    fn spoils(&mut self, _now: Time, _bytes: u32, stream: &mut Stream) -> bool {
        stream.chance(self.0)
    }
}
