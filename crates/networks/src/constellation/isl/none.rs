//! No inter-satellite links: each satellite is a bent pipe between the sites that it sees.

use super::Links;
use crate::constellation::carrier::CarrierConfig;
use bentpipe_core::Sample;
use bentpipe_orbit::crossing::Bound;
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::shell::Neighbours;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No inter-satellite links: each satellite is a bent pipe between the sites that it sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Links for Config {
    fn connects(&self, _neighbours: &Neighbours) -> bool {
        false
    }

    fn margin(&self, _kind: &Neighbours, _ends: (&Satellite, &Satellite), _t: f64) -> Bound {
        Bound { value: -1.0, holds_for: f64::INFINITY }
    }

    fn link(&self) -> Option<CarrierConfig> {
        None
    }
}
