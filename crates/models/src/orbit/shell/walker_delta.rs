//! A Walker delta: the ascending nodes stand all round the equator, so that everywhere satellites go up and others down.

use super::walker::{Pattern, Walker};
use bentpipe_core::{Angle, Count, Distance};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Walker delta.
///
/// ```toml
/// { kind = "walker-delta", altitude = "550 km", inclination = "53 deg", planes = 72, satellites = 22, phasing = 17 }
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
    /// How far each plane is ahead of the one before, in units of 360 deg over the number of all satellites.
    #[serde(default = "in_phase")]
    pub phasing: Count<0, 999>,
    /// Over which the ascending nodes are spread.
    #[serde(default = "all_round")]
    pub raan_spread: Angle,
}

fn in_phase() -> Count<0, 999> {
    Count::new(0)
}

fn all_round() -> Angle {
    Angle::from_degrees(360.0)
}

impl Pattern for Config {
    fn walker(&self) -> Walker {
        Walker {
            altitude: self.altitude,
            inclination: self.inclination,
            planes: self.planes.value() as u32,
            satellites: self.satellites.value() as u32,
            phasing: self.phasing.value() as f64,
            spread: self.raan_spread,
            closed: self.raan_spread.degrees().abs() == 360.0,
        }
    }
}
