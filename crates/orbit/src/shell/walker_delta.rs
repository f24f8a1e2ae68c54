//! A Walker delta: the ascending nodes are spread around the whole equator. Ascending and
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
    /// total number of satellites. Default 0; less than `planes`.
    #[serde(default = "default_phasing")]
    pub phasing: Count<0, 999>,
    /// Angle over which the ascending nodes are spread. Default 360 deg.
    #[serde(default = "default_raan_spread")]
    pub raan_spread: Angle,
}

fn default_phasing() -> Count<0, 999> {
    Count::new(0)
}

fn default_raan_spread() -> Angle {
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
