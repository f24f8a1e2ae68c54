//! {Title}: the pairs of linked satellites, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! isl = { kind = "{kebab}", rate = "25 Mbit/s" }
//! ```

use super::Links;
use crate::constellation::carrier::CarrierConfig;
use bentpipe_core::{Rate, Sample};
use bentpipe_link::{channel, queue};
use bentpipe_orbit::crossing::Bound;
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::shell::{NeighbourKind, Neighbours};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the pairs of linked satellites, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate of each direction of each link.
    pub rate: Rate,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"rate = "25 Mbit/s""#;
}

impl Links for Config {
    fn connects(&self, neighbours: &Neighbours) -> bool {
        neighbours.kind == NeighbourKind::InPlane
    }

    fn margin(&self, _kind: &Neighbours, _ends: (&Satellite, &Satellite), _t: f64) -> Bound {
        Bound { value: 1.0, holds_for: f64::INFINITY }
    }

    fn link(&self) -> Option<CarrierConfig> {
        Some(CarrierConfig {
            rate: self.rate,
            queue: queue::Config::default(),
            error: channel::Config::default(),
        })
    }
}
