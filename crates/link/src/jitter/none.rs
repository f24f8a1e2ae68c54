//! No jitter.

use super::{Jitter, Process};
use bentpipe_core::{Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No jitter: each packet takes the link's delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

/// No extra delay, on a link whose jitter was switched off while it ran.
pub(super) struct Nothing;

impl Process for Nothing {
    fn extra(&mut self, _now: Time, _stream: &mut Stream) -> f64 {
        0.0
    }
}

impl Jitter for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        None
    }

    fn mean(&self) -> f64 {
        0.0
    }
}
