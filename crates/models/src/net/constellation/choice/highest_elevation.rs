//! The satellites that stand highest, at every moment: the shortest way down and the least rain, at the price of many handovers.
//!
//! A satellite takes over when it stands higher by a margin. Without one, two satellites of the same height, which there are wherever a
//! constellation is symmetric, would take turns.

use super::{Choice, Sky};
use bentpipe_core::{Angle, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Highest elevation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// By how much another satellite must be higher than one that serves to take over.
    pub margin: Angle,
}

impl Default for Config {
    fn default() -> Config {
        Config { margin: Angle::from_degrees(0.1) }
    }
}

impl Choice for Config {
    fn choose(&self, sky: &Sky<'_>, serving: &[u32]) -> (Vec<u32>, f64) {
        let margin = self.margin.radians();
        let height =
            |satellite| sky.elevation(satellite) + if serving.contains(&satellite) { margin } else { 0.0 };
        let best = sky.best(serving, |visible| height(visible.satellite));
        // Any of those that serve may be the one that is overtaken first.
        let mut review = f64::INFINITY;
        for one in sky.visible.iter().filter(|visible| best.contains(&visible.satellite)) {
            for other in sky.visible.iter().filter(|visible| !best.contains(&visible.satellite)) {
                let until = one.set.min(other.set).min(review);
                review = review.min(sky.overtaking(one.satellite, other.satellite, margin, until));
            }
        }
        (best, review)
    }

    fn check(&self, problems: &mut Problems) {
        if !(0.01..=45.0).contains(&self.margin.degrees()) {
            problems.add("margin", format!("{} is no margin; allowed: 0.01 deg to 45 deg", self.margin));
        }
    }
}
