//! The satellites that will stay in view longest, at every moment: a newly risen satellite that
//! will stay longer takes over at once.

use super::{Choice, Sky};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The satellites that will stay in view longest, at every moment.
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
