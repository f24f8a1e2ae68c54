//! A Walker star: near-polar planes whose ascending nodes are spread over half of the equator. The
//! planes meet at the poles like the rays of a star, and move in opposite directions at the seam
//! between the last plane and the first.

use super::walker::{Pattern, Walker};
use bentpipe_core::{Angle, Count, Distance, Real, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Walker star pattern: near-polar circular orbits whose ascending nodes are spread over half of
/// the equator, with a seam.
///
/// ```toml
/// shell = [{ kind = "walker-star", altitude = "780 km", inclination = "86.4 deg", planes = 6, satellites = 11, phasing = 3 }]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Altitude above the equatorial radius of 6378.137 km, from 160 km to 400000 km. All
    /// satellites have the same altitude.
    pub altitude: Distance,
    /// Inclination of all planes to the equator.
    pub inclination: Angle,
    /// Number P of orbital planes. Their ascending nodes are `raan_spread` / P apart.
    pub planes: Count<1, 1000>,
    /// Number S of satellites in each plane, evenly spaced. T in the Walker notation T/P/F is the
    /// total S times P.
    pub satellites: Count<1, 1000>,
    /// Phasing F: the lead of each plane over the previous one, in units of 360 deg divided by the
    /// total number of satellites. Default 0; less than `planes`. With half the number of planes,
    /// satellites are midway between those of the previous plane.
    #[serde(default = "default_phasing")]
    pub phasing: Real<0, 999_000>,
    /// Angle between the ascending nodes of adjacent planes, times the number of planes. Default
    /// 180 deg.
    #[serde(default = "default_raan_spread")]
    pub raan_spread: Angle,
}

fn default_phasing() -> Real<0, 999_000> {
    Real::thousandths(0)
}

fn default_raan_spread() -> Angle {
    Angle::from_degrees(180.0)
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"altitude = "780 km", inclination = "86.4 deg", planes = 6, satellites = 11"#;
}

impl Pattern for Config {
    fn walker(&self) -> Walker {
        Walker {
            altitude: self.altitude,
            inclination: self.inclination,
            planes: self.planes.value() as u32,
            satellites: self.satellites.value() as u32,
            phasing: self.phasing.value(),
            spread: self.raan_spread,
            closed: false,
        }
    }
}
