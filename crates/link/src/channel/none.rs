//! A channel that corrupts no packet.

use super::{Channel, Process};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No errors: every packet arrives intact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        None
    }

    fn expected_loss(&self, _packets: u64, _bytes: f64) -> f64 {
        0.0
    }
}
