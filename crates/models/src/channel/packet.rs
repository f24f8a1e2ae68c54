//! Independent packet errors: each packet is lost with the same probability, whatever its size.
//!
//! ```toml
//! error = { kind = "packet", probability = 0.01 }
//! ```

use super::{Channel, Process};
use bentpipe_core::{Fraction, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent packet errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Probability that a packet is lost.
    pub probability: Fraction,
}

struct Independent(f64);

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Independent(self.probability.value())))
    }
}

impl Process for Independent {
    fn spoils(&mut self, _now: Time, _bytes: u32, stream: &mut Stream) -> bool {
        stream.chance(self.0)
    }
}
