//! A Walker star: near-polar planes whose ascending nodes stand on one half of the equator, so that they meet at the poles like
//! the rays of a star, and turn against each other at the seam between the last plane and the first.

use super::walker::{Pattern, Walker};
use bentpipe_core::{Angle, Count, Distance, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Walker star.
///
/// ```toml
/// { kind = "walker-star", altitude = "780 km", inclination = "86.4 deg", planes = 6, satellites = 11, phasing = 3 }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Above the equatorial radius, 6378.137 km.
    pub altitude: Distance,
    /// Of all planes.
    pub inclination: Angle,
    /// Planes.
    pub planes: Count<1, 1000>,
    /// Satellites in each plane.
    pub satellites: Count<1, 1000>,
    /// How far each plane is ahead of the one before, in units of 360 deg over the number of all satellites: half the number
    /// of planes puts its satellites over the gaps of the plane before.
    #[serde(default = "in_phase")]
    pub phasing: Real<0, 999_000>,
    /// Number of planes times the angle between the ascending nodes of neighbouring planes.
    #[serde(default = "half_round")]
    pub raan_spread: Angle,
}

fn in_phase() -> Real<0, 999_000> {
    Real::thousandths(0)
}

fn half_round() -> Angle {
    Angle::from_degrees(180.0)
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
