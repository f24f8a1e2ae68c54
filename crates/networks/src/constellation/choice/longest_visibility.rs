//! The satellites that will stay visible longest, at any time. A newly risen satellite that will
//! stay visible longer takes over at once.

use super::{Choice, Sky};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The satellites that will stay visible longest, at any time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Choice for Config {
    fn choose(&self, sky: &Sky<'_>, serving: &[u32]) -> (Vec<u32>, f64) {
        (sky.best(serving, |visible| visible.set), f64::INFINITY)
    }
}
