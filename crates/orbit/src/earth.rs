//! The Earth: its ellipsoid, its gravity and its rotation.
//!
//! Satellites move in SGP4's frame, TEME (true equator, mean equinox of date), in which the Earth
//! rotates by Greenwich mean sidereal time. Polar motion (at most 15 m on the ground) is not
//! modelled.

use super::epoch::Epoch;

/// Speed of light in m/s; exact by the definition of the metre.
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;
/// Semi-major axis of the WGS84 ellipsoid in metres (NGA.STND.0036, table 3.1).
pub const EQUATORIAL_RADIUS: f64 = 6_378_137.0;
/// Flattening of the WGS84 ellipsoid (NGA.STND.0036, table 3.1).
pub const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// Geocentric gravitational constant in m^3/s^2 (NGA.STND.0036, table 3.1).
pub const GM: f64 = 3.986_004_418e14;
/// Dynamic form factor, from the coefficient of degree 2 of EGM2008: J2 = -sqrt(5) C20.
pub const J2: f64 = 1.082_626_2e-3;
/// Angular velocity in rad/s relative to the mean equinox: 2 pi 1.00273790935 / 86400. The factor
/// is the ratio of universal to sidereal time (Aoki et al. 1982); its change of 6e-11 per century
/// is neglected.
pub const ROTATION: f64 = 7.292_115_855_306_589e-5;
/// Radius of the geostationary orbit in metres: (GM / omega^2)^(1/3) with GM = 3.986004418e14
/// m^3/s^2 and omega = 7.292115e-5 rad/s, the constants of WGS84.
pub const GEOSTATIONARY_RADIUS: f64 = 42_164_173.0;

/// Returns the Greenwich mean sidereal time at `ut1`, in radians from 0 to 2 pi (Aoki et al. 1982,
/// equation 13).
pub fn sidereal_time(ut1: Epoch) -> f64 {
    let centuries = ut1.days_since_j2000() / 36_525.0;
    let seconds = 67_310.548_41
        + (876_600.0 * 3_600.0 + 8_640_184.812_866) * centuries
        + (0.093_104 - 6.2e-6 * centuries) * centuries * centuries;
    (seconds.rem_euclid(86_400.0) / 86_400.0) * std::f64::consts::TAU
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::math;

    #[test]
    fn sidereal_time_matches_the_textbook() {
        // Vallado, Fundamentals of Astrodynamics and Applications, example 3-5: 1992-08-20 12:14
        // UT1, 152.578787810 deg.
        let at: Epoch = "1992-08-20T12:14:00Z".parse().unwrap();
        let degrees = sidereal_time(at).to_degrees();
        assert!((degrees - 152.578_787_810).abs() < 1e-7, "{degrees}");
    }

    #[test]
    fn geostationary_radius_equals_the_formula() {
        let radius = math::cbrt(GM / 7.292_115e-5_f64.powi(2));
        assert!((radius - GEOSTATIONARY_RADIUS).abs() < 0.1, "{radius}");
    }

    #[test]
    fn rotation_rate_matches_sidereal_time() {
        let (from, to): (Epoch, Epoch) =
            ("2026-01-01T00:00:00Z".parse().unwrap(), "2026-01-01T06:00:00Z".parse().unwrap());
        let turned = (sidereal_time(to) - sidereal_time(from)).rem_euclid(std::f64::consts::TAU);
        assert!((turned - ROTATION * 21_600.0).abs() < 1e-9, "{turned}");
    }
}
