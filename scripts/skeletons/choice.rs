//! {Title}: the rule that chooses the satellites of a site, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! gsl = { choice = "{kebab}" }
//! ```

use super::{Choice, Sky};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the rule that chooses the satellites of a site, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Choice for Config {
    fn choose(&self, sky: &Sky<'_>, serving: &[u32]) -> (Vec<u32>, f64) {
        // The satellite that has been in view for the longest time.
        let rank = |satellite| sky.visible.iter().position(|visible| visible.satellite == satellite);
        let best = sky.best(serving, |visible| -(rank(visible.satellite).unwrap_or(0) as f64));
        (best, f64::INFINITY)
    }
}
