//! Packets that now and then are late by a fixed time, as on a path with retransmissions below the
//! network layer.

use super::{Jitter, Process};
use bentpipe_core::{Fraction, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An extra delay that a packet has with some probability. With `reorder`, others overtake it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Probability that a packet is late, independently of all others.
    pub probability: Fraction,
    /// Extra delay of a packet that is late.
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
