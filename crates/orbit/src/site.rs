//! Sites on the WGS84 ellipsoid.

use super::earth::{EQUATORIAL_RADIUS, FLATTENING};
use super::vector::Vector;
use bentpipe_core::{math, Angle, Distance, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A position on the ground, in geodetic coordinates on the WGS84 ellipsoid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Geodetic latitude, north positive, from -90 deg to 90 deg.
    pub latitude: Angle,
    /// Longitude of the site, east positive.
    pub longitude: Angle,
    /// Height above the ellipsoid, from -12 km to 100 km. Default 0 m.
    #[serde(default = "default_altitude")]
    pub altitude: Distance,
}

fn default_altitude() -> Distance {
    Distance::from_metres(0.0)
}

impl Site {
    /// Adds the problems of the coordinates.
    pub fn check(&self, problems: &mut Problems) {
        if self.latitude.degrees().abs() > 90.0 {
            problems
                .add("latitude", format!("{} is out of range; allowed: -90 deg to 90 deg", self.latitude));
        }
        if !(-12_000.0..=100_000.0).contains(&self.altitude.metres()) {
            let message = format!("{} is out of range; allowed: -12 km to 100 km", self.altitude);
            problems.add("altitude", message);
        }
    }

    /// Returns Earth-centred, Earth-fixed coordinates in metres.
    pub fn position(&self) -> Vector {
        let (sin, cos) = math::sin_cos(self.latitude.radians());
        let (sin_longitude, cos_longitude) = math::sin_cos(self.longitude.radians());
        let eccentricity_squared = FLATTENING * (2.0 - FLATTENING);
        let normal = EQUATORIAL_RADIUS / (1.0 - eccentricity_squared * sin * sin).sqrt();
        let altitude = self.altitude.metres();
        [
            (normal + altitude) * cos * cos_longitude,
            (normal + altitude) * cos * sin_longitude,
            (normal * (1.0 - eccentricity_squared) + altitude) * sin,
        ]
    }

    /// Returns the earth-fixed unit vector normal to the ellipsoid, pointing up.
    pub fn up(&self) -> Vector {
        let (sin, cos) = math::sin_cos(self.latitude.radians());
        let (sin_longitude, cos_longitude) = math::sin_cos(self.longitude.radians());
        [cos * cos_longitude, cos * sin_longitude, sin]
    }
}
