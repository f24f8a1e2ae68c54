//! No jitter: the delay of the link is constant.

use super::{Jitter, Process};
use bentpipe_core::{Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No jitter: each packet takes exactly the link's delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

/// The process without extra delay, for a link whose jitter was switched off during the run.
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
