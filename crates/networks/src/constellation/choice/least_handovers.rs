//! The site keeps each satellite as long as it is visible, and then chooses the satellite that will
//! stay visible longest. This needs the minimum number of handovers.

use super::{Choice, Sky};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each satellite as long as it is visible, then the one that will stay visible longest: the
/// minimum number of handovers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Choice for Config {
    fn choose(&self, sky: &Sky<'_>, serving: &[u32]) -> (Vec<u32>, f64) {
        let stays = |satellite: u32| serving.contains(&satellite);
        let value = |visible: &super::Visible| match stays(visible.satellite) {
            true => f64::INFINITY,
            false => visible.set.min(f64::MAX),
        };
        (sky.best(serving, value), f64::INFINITY)
    }
}
