//! A Walker delta: the ascending nodes are spread around the whole equator, so that ascending and
//! descending satellites are visible everywhere.

use super::walker::{Pattern, Walker};
use bentpipe_core::{Angle, Count, Distance, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Walker delta pattern: circular orbits whose ascending nodes are spread around the whole
/// equator.
///
/// ```toml
/// shell = [{ kind = "walker-delta", altitude = "550 km", inclination = "53 deg", planes = 72, satellites = 22, phasing = 17 }]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Altitude above the equatorial radius of 6378.137 km; 160 km to 400000 km.
    pub altitude: Distance,
    /// Inclination of all planes to the equator.
    pub inclination: Angle,
    /// Number P of orbital planes, whose ascending nodes are `raan_spread` / P apart.
    pub planes: Count<1, 1000>,
    /// Number of satellites in each plane, evenly spaced; the Walker notation T/P/F has the total
    /// T, this number times P.
    pub satellites: Count<1, 1000>,
    /// Phasing F: how far each plane is ahead of the previous one, in units of 360 deg divided by
    /// the number of all satellites; 0 by default, less than `planes`.
    #[serde(default = "in_phase")]
    pub phasing: Count<0, 999>,
    /// Angle over which the ascending nodes are spread, 360 deg by default.
    #[serde(default = "all_round")]
    pub raan_spread: Angle,
}

fn in_phase() -> Count<0, 999> {
    Count::new(0)
}

fn all_round() -> Angle {
    Angle::from_degrees(360.0)
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"altitude = "550 km", inclination = "53 deg", planes = 24, satellites = 22, phasing = 11"#;
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
