//! A geostationary satellite by its longitude, sites on the WGS84 ellipsoid, and the straight line between
//! them.
//!
//! The satellite stands still above the equator at the radius at which one sidereal day is one revolution;
//! the slow figure of eight of a real one (station keeping holds it to about 0.1 deg, or 75 km) moves the
//! delay by at most 0.25 ms and is not modelled. Propagation delay is slant range over the speed of light in
//! vacuum: the excess delay of the atmosphere is below 0.1 us.
//!
//! ```toml
//! propagation = { satellite = "13 deg", gateway = { latitude = "41.9 deg", longitude = "12.5 deg" } }
//! ```

use bentpipe_core::{Angle, Distance, Problems, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place on the ground, in geodetic coordinates on the WGS84 ellipsoid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Geodetic latitude, north positive, -90 deg to 90 deg.
    pub latitude: Angle,
    /// Longitude, east positive.
    pub longitude: Angle,
    /// Height above the ellipsoid.
    #[serde(default = "sea_level")]
    pub altitude: Distance,
}

fn sea_level() -> Distance {
    Distance::from_metres(0.0)
}

/// A geostationary satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Satellite {
    /// Longitude of the point below it, east positive.
    pub longitude: Angle,
}

impl Site {
    /// Adds what is wrong.
    pub fn check(&self, problems: &mut Problems) {
        if self.latitude.degrees().abs() > 90.0 {
            problems
                .add("latitude", format!("{} is not a latitude; allowed: -90 deg to 90 deg", self.latitude));
        }
        if !(-12_000.0..=100_000.0).contains(&self.altitude.metres()) {
            let message = format!("{} is not on the ground; allowed: -12 km to 100 km", self.altitude);
            problems.add("altitude", message);
        }
    }

    /// Earth-centred, earth-fixed coordinates in metres.
    fn position(&self) -> [f64; 3] {
        let (sin, cos) = self.latitude.radians().sin_cos();
        let (sin_longitude, cos_longitude) = self.longitude.radians().sin_cos();
        let eccentricity_squared = FLATTENING * (2.0 - FLATTENING);
        let normal = EQUATORIAL_RADIUS / (1.0 - eccentricity_squared * sin * sin).sqrt();
        let altitude = self.altitude.metres();
        [
            (normal + altitude) * cos * cos_longitude,
            (normal + altitude) * cos * sin_longitude,
            (normal * (1.0 - eccentricity_squared) + altitude) * sin,
        ]
    }

    /// The unit vector away from the ellipsoid.
    fn up(&self) -> [f64; 3] {
        let (sin, cos) = self.latitude.radians().sin_cos();
        let (sin_longitude, cos_longitude) = self.longitude.radians().sin_cos();
        [cos * cos_longitude, cos * sin_longitude, sin]
    }
}

impl Satellite {
    fn line_from(&self, site: &Site) -> [f64; 3] {
        let (sin, cos) = self.longitude.radians().sin_cos();
        let [x, y, z] = site.position();
        [ORBIT_RADIUS * cos - x, ORBIT_RADIUS * sin - y, -z]
    }

    /// Length of the straight line to `site`.
    pub fn range(&self, site: &Site) -> Distance {
        let [x, y, z] = self.line_from(site);
        Distance::from_metres((x * x + y * y + z * z).sqrt())
    }

    /// Angle above the horizon at which `site` sees the satellite; negative below it.
    pub fn elevation(&self, site: &Site) -> Angle {
        let line = self.line_from(site);
        let along_up: f64 = line.iter().zip(site.up()).map(|(a, b)| a * b).sum();
        Angle::from_degrees((along_up / self.range(site).metres()).asin().to_degrees())
    }

    /// Propagation delay to or from `site`, to the nanosecond.
    pub fn delay(&self, site: &Site) -> Span {
        Span::from_secs_f64(self.range(site).metres() / SPEED_OF_LIGHT)
    }
}

/// Metres per second; exact by the definition of the metre.
const SPEED_OF_LIGHT: f64 = 299_792_458.0;
/// Semi-major axis of the WGS84 ellipsoid in metres (NGA.STND.0036, table 3.1).
const EQUATORIAL_RADIUS: f64 = 6_378_137.0;
/// Flattening of the WGS84 ellipsoid (NGA.STND.0036, table 3.1).
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// Radius of the geostationary orbit in metres: (GM / omega^2)^(1/3) with GM = 3.986004418e14 m^3/s^2 and
/// omega = 7.292115e-5 rad/s, the constants of WGS84.
const ORBIT_RADIUS: f64 = 42_164_173.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn site(latitude: f64, longitude: f64) -> Site {
        Site {
            latitude: Angle::from_degrees(latitude),
            longitude: Angle::from_degrees(longitude),
            altitude: Distance::from_metres(0.0),
        }
    }

    fn satellite(longitude: f64) -> Satellite {
        Satellite { longitude: Angle::from_degrees(longitude) }
    }

    #[test]
    fn the_orbit_radius_follows_from_its_constants() {
        let radius = (3.986_004_418e14 / 7.292_115e-5_f64.powi(2)).cbrt();
        assert!((radius - ORBIT_RADIUS).abs() < 0.1, "{radius}");
    }

    #[test]
    fn the_point_below_is_35786_km_away_and_sees_the_satellite_overhead() {
        let range = satellite(13.0).range(&site(0.0, 13.0)).metres();
        assert!((range - 35_786_036.0).abs() < 1.0, "{range}");
        assert!((satellite(13.0).elevation(&site(0.0, 13.0)).degrees() - 90.0).abs() < 1e-6);
        // 35786.036 km / 299792.458 km/s.
        assert_eq!(satellite(13.0).delay(&site(0.0, 13.0)).as_micros(), 119_369);
    }

    #[test]
    fn the_horizon_on_the_equator_is_41679_km_away() {
        // acos(6378.137 / 42164.173) = 81.300 deg; sqrt(42164.173^2 - 6378.137^2) = 41678.974 km.
        let edge = (EQUATORIAL_RADIUS / ORBIT_RADIUS).acos().to_degrees();
        let horizon = site(0.0, 13.0 + edge);
        assert!((satellite(13.0).range(&horizon).metres() - 41_678_974.0).abs() < 10.0);
        assert!(satellite(13.0).elevation(&horizon).degrees().abs() < 1e-6);
        assert!(satellite(13.0).elevation(&site(0.0, 13.0 + edge + 1.0)).degrees() < 0.0);
    }

    #[test]
    fn latitude_counts_like_longitude_but_for_the_flattening() {
        // On a sphere of the equatorial radius both would be the same; the pole is 21.4 km closer to the
        // centre.
        let north = satellite(0.0).range(&site(45.0, 0.0)).metres();
        let east = satellite(0.0).range(&site(0.0, 45.0)).metres();
        // Law of cosines with r = 6378.137 km: 37 923.3 km.
        assert!((east - 37_923_300.0).abs() < 1_000.0, "{east}");
        assert!((north - east).abs() < 21_400.0 && north != east, "{north}");
    }

    #[test]
    fn longitudes_wrap_round() {
        let range = |a, b| satellite(a).range(&site(40.0, b)).metres();
        assert!((range(179.0, -179.0) - range(1.0, 3.0)).abs() < 1e-3);
    }
}
