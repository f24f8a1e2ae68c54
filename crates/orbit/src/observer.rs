//! A satellite as seen from a ground site: elevation, azimuth, range and range rate, without
//! refraction and light time.

use super::earth::{sidereal_time, ROTATION};
use super::epoch::Epoch;
use super::satellite::Satellite;
use super::site::Site;
use super::vector::{cross, dot, length, minus, turned, Vector};
use bentpipe_core::math;

/// The Earth's rotation during a run.
#[derive(Clone, Copy, Debug)]
pub struct EarthRotation {
    /// Greenwich mean sidereal time at the start, in radians.
    pub start: f64,
}

impl EarthRotation {
    /// Creates the rotation in a run that starts at `start`. UT1 is `ut1_minus_utc` seconds ahead
    /// of UTC.
    pub fn new(start: Epoch, ut1_minus_utc: f64) -> EarthRotation {
        EarthRotation { start: sidereal_time(start.after(ut1_minus_utc)) }
    }

    /// Returns the sine and cosine of the angle from the mean equinox to Greenwich, `t` seconds
    /// after the start.
    #[inline]
    pub fn angle(&self, t: f64) -> (f64, f64) {
        math::sin_cos(self.start + ROTATION * t)
    }

    /// Returns the Earth-fixed coordinates of a point in TEME.
    #[inline]
    pub fn earth_fixed(&self, position: &Vector, t: f64) -> Vector {
        let (sin, cos) = self.angle(t);
        turned(position, (-sin, cos))
    }
}

/// A site, prepared for observing satellites.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    position: Vector,
    up: Vector,
    rotation: EarthRotation,
}

/// The apparent position of a satellite at a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookAngles {
    /// Angle above the horizon, in radians.
    pub elevation: f64,
    /// Azimuth in radians, 0 to 2 pi, from north through east.
    pub azimuth: f64,
    /// Distance between site and satellite in metres.
    pub range: f64,
    /// Range rate in m/s, positive if the distance grows.
    pub range_rate: f64,
}

impl Observer {
    /// Creates the observer at a site.
    pub fn new(site: &Site, rotation: EarthRotation) -> Observer {
        Observer { position: site.position(), up: site.up(), rotation }
    }

    /// Returns the vector from the site to a satellite's position, in the Earth-fixed frame.
    #[inline]
    fn line(&self, position: &Vector, t: f64) -> Vector {
        minus(&self.rotation.earth_fixed(position, t), &self.position)
    }

    /// Returns the distance in metres between the site and a position in Earth-fixed coordinates.
    #[inline]
    pub fn distance(&self, position: &Vector) -> f64 {
        length(&minus(position, &self.position))
    }

    /// Returns the distance between site and satellite in metres, at `t` seconds from the start of
    /// the run.
    #[inline]
    pub fn range(&self, satellite: &Satellite, t: f64) -> f64 {
        length(&self.line(&satellite.position(t), t))
    }

    /// Returns the elevation in radians and the distance in metres, `t` seconds after the start.
    #[inline]
    pub fn elevation(&self, satellite: &Satellite, t: f64) -> (f64, f64) {
        let line = self.line(&satellite.position(t), t);
        let range = length(&line);
        (math::asin((dot(&line, &self.up) / range).clamp(-1.0, 1.0)), range)
    }

    /// Returns the elevation, azimuth, range and range rate, `t` seconds after the start.
    pub fn look_angles(&self, satellite: &Satellite, t: f64) -> LookAngles {
        let (position, velocity) = (satellite.position(t), satellite.velocity(t));
        let line = self.line(&position, t);
        let range = length(&line);
        // The velocity relative to the Earth is v - omega x r.
        let drift = [velocity[0] + ROTATION * position[1], velocity[1] - ROTATION * position[0], velocity[2]];
        let moving = self.rotation.earth_fixed(&drift, t);
        // At a pole every direction is south or north. East is then the normal of the meridian of
        // the site.
        let east = match [-self.position[1], self.position[0], 0.0] {
            axis if length(&axis) > 1e-6 => axis.map(|part| part / length(&axis)),
            _ => [0.0, 1.0, 0.0],
        };
        let north = cross(&self.up, &east);
        LookAngles {
            elevation: math::asin((dot(&line, &self.up) / range).clamp(-1.0, 1.0)),
            azimuth: math::atan2(dot(&line, &east), dot(&line, &north)).rem_euclid(std::f64::consts::TAU),
            range,
            range_rate: dot(&line, &moving) / range,
        }
    }
}
