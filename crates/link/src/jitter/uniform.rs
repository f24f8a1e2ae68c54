//! Jitter with a uniformly distributed extra delay.

use super::{Jitter, Process};
use bentpipe_core::{Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Uniformly distributed extra delay, from 0 s to a maximum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Maximum extra delay of a packet. The minimum is 0 s.
    pub most: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"most = "10 ms""#;
}

struct Uniform(f64);

impl Process for Uniform {
    fn extra(&mut self, _now: Time, stream: &mut Stream) -> f64 {
        self.0 * stream.uniform()
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Uniform(self.most.as_secs_f64())))
    }

    fn mean(&self) -> f64 {
        self.most.as_secs_f64() / 2.0
    }
}
