//! {Title}: the orbits of its satellites, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! shell = [{ kind = "{kebab}", longitude = "10 deg" }]
//! ```

use super::{Neighbours, Shell};
use crate::circular::Circular;
use crate::earth::{EQUATORIAL_RADIUS, GEOSTATIONARY_RADIUS};
use crate::epoch::Epoch;
use crate::observer::EarthRotation;
use crate::satellite::{Motion, Satellite};
use bentpipe_core::{Angle, Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the orbits of its satellites, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Longitude of the point below the satellite, east positive.
    pub longitude: Angle,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"longitude = "10 deg""#;
}

impl Shell for Config {
    fn count(&self) -> usize {
        1
    }

    fn min_altitude(&self) -> f64 {
        GEOSTATIONARY_RADIUS - EQUATORIAL_RADIUS
    }

    fn max_radius(&self) -> f64 {
        GEOSTATIONARY_RADIUS
    }

    fn satellites(&self, _start: Epoch, rotation: EarthRotation) -> Vec<Satellite> {
        let motion = Motion::Circular(Circular::geostationary(self.longitude.radians(), rotation.start));
        vec![Satellite { name: "{words}".to_owned(), motion, speed: 0.0 }]
    }

    fn neighbours(&self, _satellites: &[Satellite]) -> Vec<Neighbours> {
        Vec::new()
    }

    fn check(&self, _start: Epoch, _problems: &mut Problems) {}
}
