//! A geostationary satellite by its longitude, sites on the WGS84 ellipsoid, and the straight line
//! between them.
//!
//! The satellite is fixed above the equator, at the radius where a revolution takes one sidereal
//! day. A real satellite traces a slow figure of eight, which station keeping limits to about 0.1
//! deg (75 km). This motion changes the delay by at most 0.25 ms and is not modelled. The
//! propagation delay is the slant range divided by the speed of light in vacuum; the excess delay
//! of the atmosphere is below 0.1 us.
//!
//! ```toml
//! propagation = { satellite = "13 deg", gateway = { latitude = "41.9 deg", longitude = "12.5 deg" } }
//! ```

pub use super::site::Site;

use super::earth::{GEOSTATIONARY_RADIUS, SPEED_OF_LIGHT};
use bentpipe_core::{math, Angle, Distance, Span};

/// A geostationary satellite at a fixed longitude above the equator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Satellite {
    /// Longitude of the subsatellite point, east positive.
    pub longitude: Angle,
}

impl Satellite {
    fn line_from(&self, site: &Site) -> [f64; 3] {
        let (sin, cos) = math::sin_cos(self.longitude.radians());
        let [x, y, z] = site.position();
        [GEOSTATIONARY_RADIUS * cos - x, GEOSTATIONARY_RADIUS * sin - y, -z]
    }

    /// Returns the slant range to `site`.
    pub fn range(&self, site: &Site) -> Distance {
        let [x, y, z] = self.line_from(site);
        Distance::from_metres((x * x + y * y + z * z).sqrt())
    }

    /// Returns the elevation of the satellite at `site`; negative below the horizon.
    pub fn elevation(&self, site: &Site) -> Angle {
        let line = self.line_from(site);
        let along_up: f64 = line.iter().zip(site.up()).map(|(a, b)| a * b).sum();
        Angle::from_degrees(math::asin(along_up / self.range(site).metres()).to_degrees())
    }

    /// Returns the propagation delay to or from `site`, to the nanosecond.
    pub fn delay(&self, site: &Site) -> Span {
        Span::from_secs_f64(self.range(site).metres() / SPEED_OF_LIGHT)
    }
}

#[cfg(test)]
mod tests {
    use super::super::earth::EQUATORIAL_RADIUS;
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
    fn range_at_the_subsatellite_point_is_35786_km_at_the_zenith() {
        let range = satellite(13.0).range(&site(0.0, 13.0)).metres();
        assert!((range - 35_786_036.0).abs() < 1.0, "{range}");
        assert!((satellite(13.0).elevation(&site(0.0, 13.0)).degrees() - 90.0).abs() < 1e-6);
        // 35786.036 km / 299792.458 km/s.
        assert_eq!(satellite(13.0).delay(&site(0.0, 13.0)).as_micros(), 119_369);
    }

    #[test]
    fn range_at_the_horizon_on_the_equator_is_41679_km() {
        // acos(6378.137 / 42164.173) = 81.300 deg; sqrt(42164.173^2 - 6378.137^2) = 41678.974 km.
        let edge = math::acos(EQUATORIAL_RADIUS / GEOSTATIONARY_RADIUS).to_degrees();
        let horizon = site(0.0, 13.0 + edge);
        assert!((satellite(13.0).range(&horizon).metres() - 41_678_974.0).abs() < 10.0);
        assert!(satellite(13.0).elevation(&horizon).degrees().abs() < 1e-6);
        assert!(satellite(13.0).elevation(&site(0.0, 13.0 + edge + 1.0)).degrees() < 0.0);
    }

    #[test]
    fn latitude_and_longitude_are_symmetric_up_to_flattening() {
        // On a sphere of the equatorial radius both ranges would be equal; the pole is 21.4 km
        // closer to the centre.
        let north = satellite(0.0).range(&site(45.0, 0.0)).metres();
        let east = satellite(0.0).range(&site(0.0, 45.0)).metres();
        // Law of cosines with r = 6378.137 km: 37 923.3 km.
        assert!((east - 37_923_300.0).abs() < 1_000.0, "{east}");
        assert!((north - east).abs() < 21_400.0 && north != east, "{north}");
    }

    #[test]
    fn longitudes_wrap_around() {
        let range = |a, b| satellite(a).range(&site(40.0, b)).metres();
        assert!((range(179.0, -179.0) - range(1.0, 3.0)).abs() < 1e-3);
    }
}
