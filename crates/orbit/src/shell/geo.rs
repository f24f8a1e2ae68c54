//! Geostationary satellites at given longitudes. Satellites that are adjacent along the equator are
//! neighbours, like satellites in one plane.

use super::{NeighbourKind, Neighbours, Shell};
use crate::circular::Circular;
use crate::earth::{EQUATORIAL_RADIUS, GEOSTATIONARY_RADIUS};
use crate::epoch::Epoch;
use crate::observer::EarthRotation;
use crate::satellite::{Motion, Satellite};
use bentpipe_core::{Angle, Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Geostationary satellites at given longitudes.
///
/// ```toml
/// shell = [{ kind = "geo", longitudes = ["-30 deg", "42 deg", "114 deg", "186 deg", "258 deg"] }]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Longitudes of the satellites, east positive; at least one, and all different.
    pub longitudes: Vec<Angle>,
}

impl Config {
    /// Returns the indices in order of longitude.
    fn by_longitude(&self) -> Vec<u32> {
        let mut indices: Vec<u32> = (0..self.longitudes.len() as u32).collect();
        let east = |index: u32| self.longitudes[index as usize].degrees().rem_euclid(360.0);
        indices.sort_by(|a, b| east(*a).total_cmp(&east(*b)));
        indices
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"longitudes = ["0 deg"]"#;
}

impl Shell for Config {
    fn count(&self) -> usize {
        self.longitudes.len()
    }

    fn min_altitude(&self) -> f64 {
        GEOSTATIONARY_RADIUS - EQUATORIAL_RADIUS
    }

    fn max_radius(&self) -> f64 {
        GEOSTATIONARY_RADIUS
    }

    fn satellites(&self, _start: Epoch, rotation: EarthRotation) -> Vec<Satellite> {
        let build = |longitude: &Angle| Satellite {
            name: format!("GEO {longitude}"),
            motion: Motion::Circular(Circular::geostationary(longitude.radians(), rotation.start)),
            speed: 0.0,
        };
        self.longitudes.iter().map(build).collect()
    }

    fn neighbours(&self, _satellites: &[Satellite]) -> Vec<Neighbours> {
        let by_longitude = self.by_longitude();
        let join = |index: usize| Neighbours {
            indices: (by_longitude[index], by_longitude[(index + 1) % by_longitude.len()]),
            kind: NeighbourKind::InPlane,
        };
        match by_longitude.len() {
            0 | 1 => Vec::new(),
            2 => vec![join(0)],
            count => (0..count).map(join).collect(),
        }
    }

    fn check(&self, _start: Epoch, problems: &mut Problems) {
        if self.longitudes.is_empty() {
            problems.add("longitudes", "names no satellite; allowed: at least one");
        }
        let by_longitude = self.by_longitude();
        let east = |index: u32| self.longitudes[index as usize].degrees().rem_euclid(360.0);
        for pair in by_longitude.windows(2).filter(|pair| east(pair[0]) == east(pair[1])) {
            let longitude = self.longitudes[pair[0] as usize];
            problems.add("longitudes", format!("{longitude} is listed twice; allowed: each longitude once"));
        }
    }
}
