//! Occasional late packets: some packets are late by a fixed time, as on a path with
//! retransmissions below the network layer.

use super::{Jitter, Process};
use bentpipe_core::{Fraction, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fixed extra delay for randomly chosen packets. With `reorder`, other packets overtake them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Probability that a packet is late, 0 to 1, independent of other packets.
    pub probability: Fraction,
    /// Extra delay of a late packet.
    pub extra: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"probability = 0.02, extra = "20 ms""#;
}

struct Late {
    probability: f64,
    extra: f64,
}

impl Process for Late {
    fn extra(&mut self, _now: Time, stream: &mut Stream) -> f64 {
        if stream.chance(self.probability) {
            self.extra
        } else {
            0.0
        }
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Late { probability: self.probability.value(), extra: self.extra.as_secs_f64() }))
    }

    fn mean(&self) -> f64 {
        self.probability.value() * self.extra.as_secs_f64()
    }
}
