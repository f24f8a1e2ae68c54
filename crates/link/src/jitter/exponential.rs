//! Jitter with an exponentially distributed extra delay.

use super::{Jitter, Process};
use bentpipe_core::{Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Extra delay that is exponentially distributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean extra delay of a packet.
    pub mean: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"mean = "4 ms""#;
}

struct Exponential(f64);

impl Process for Exponential {
    fn extra(&mut self, _now: Time, stream: &mut Stream) -> f64 {
        stream.exponential(self.0)
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Exponential(self.mean.as_secs_f64())))
    }

    fn mean(&self) -> f64 {
        self.mean.as_secs_f64()
    }
}
