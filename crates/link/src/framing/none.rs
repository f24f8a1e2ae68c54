//! No framing: packets are sent unchanged, and errors affect packets.

use super::{Framer, Framing};
use bentpipe_core::{Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No framing: packets are sent unchanged, and errors affect packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Framing for Config {
    fn build(&self, _carrier: Option<u32>) -> Option<Box<dyn Framer>> {
        None
    }

    fn longest(&self) -> u32 {
        u32::MAX
    }

    fn check(&self, _carrier: Option<u32>, _problems: &mut Problems) {}
}
