//! The satellites at the highest elevation at any time. This gives the shortest slant range and the
//! minimum rain attenuation, but many handovers.
//!
//! Another satellite takes over when it is higher by a margin. Without a margin, two satellites at
//! the same elevation, which are frequent in symmetric constellations, would alternate.

use super::{Choice, Sky};
use bentpipe_core::{Angle, Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The satellites at the highest elevation at any time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Angle by which another satellite must be higher than a serving one to take over, 0.1 deg by
    /// default; 0.01 deg to 45 deg.
    pub margin: Angle,
}

impl Default for Config {
    fn default() -> Config {
        Config { margin: Angle::from_degrees(0.1) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"margin = "3 deg""#;
}

impl Choice for Config {
    fn choose(&self, sky: &Sky<'_>, serving: &[u32]) -> (Vec<u32>, f64) {
        let margin = self.margin.radians();
        let height =
            |satellite| sky.elevation(satellite) + if serving.contains(&satellite) { margin } else { 0.0 };
        let best = sky.best(serving, |visible| height(visible.satellite));
        // Any of the serving satellites may be the first to be overtaken.
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
            problems.add("margin", format!("{} is out of range; allowed: 0.01 deg to 45 deg", self.margin));
        }
    }
}
