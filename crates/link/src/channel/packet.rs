//! Independent packet errors: each packet is corrupted with the same probability, regardless of its
//! size.
//!
//! ```toml
//! error = { kind = "packet", probability = 0.01 }
//! ```

use super::{Channel, Effect, Process};
use bentpipe_core::{Fraction, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent packet errors: each packet, or unit of the framing, is corrupted with the same
/// probability, regardless of its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Corruption probability of a packet, 0 to 1.
    pub probability: Fraction,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

struct Independent(f64);

impl Sample for Config {
    const SAMPLE: &'static str = "probability = 0.01";
}

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
    fn corrupts(&mut self, _now: Time, _bytes: u32, stream: &mut Stream) -> bool {
        stream.chance(self.0)
    }
}
