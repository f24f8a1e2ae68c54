//! Circular orbits of designed constellations, with the long-term effect of the Earth's oblateness.
//!
//! The argument of latitude is u(t) = u0 + (n + n 3/2 J2 (R/a)^2 (3 - 4 sin^2 i)) t, and the
//! ascending node is node(t) = node0 - n 3/2 J2 (R/a)^2 cos(i) t, with n = sqrt(GM/a^3). These are
//! the secular rates to first order in J2 (Vallado, Fundamentals of Astrodynamics and Applications,
//! section 9.6, with e = 0). Short-periodic terms are not modelled; they are some kilometres, and
//! the same for all satellites of a shell except for their phase. Drag is not modelled either,
//! because satellites of designed constellations are kept in position.

use super::earth::{EQUATORIAL_RADIUS, GEOSTATIONARY_RADIUS, GM, J2, ROTATION};
use super::vector::Vector;
use bentpipe_core::math;

/// A circular orbit. Angles in radians at the start of the run; rates in rad/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circular {
    /// Radius of the orbit, from the centre of the Earth, in metres.
    pub radius: f64,
    sin_inclination: f64,
    cos_inclination: f64,
    node: f64,
    node_rate: f64,
    argument: f64,
    rate: f64,
}

impl Circular {
    /// Creates an orbit of `radius` metres whose ascending node is at right ascension `node`, with
    /// the satellite at the argument of latitude `argument`.
    pub fn new(radius: f64, inclination: f64, node: f64, argument: f64) -> Circular {
        let (sin, cos) = math::sin_cos(inclination);
        let mean_motion = (GM / radius.powi(3)).sqrt();
        let oblateness = 1.5 * J2 * (EQUATORIAL_RADIUS / radius).powi(2) * mean_motion;
        Circular {
            radius,
            sin_inclination: sin,
            cos_inclination: cos,
            node,
            node_rate: -oblateness * cos,
            argument,
            rate: mean_motion + oblateness * (3.0 - 4.0 * sin * sin),
        }
    }

    /// Returns the orbit of a geostationary satellite above `longitude`, when Greenwich is at
    /// `sidereal_time`.
    pub fn geostationary(longitude: f64, sidereal_time: f64) -> Circular {
        Circular {
            radius: GEOSTATIONARY_RADIUS,
            sin_inclination: 0.0,
            cos_inclination: 1.0,
            node: 0.0,
            node_rate: 0.0,
            argument: longitude + sidereal_time,
            rate: ROTATION,
        }
    }

    /// Returns the position `t` seconds after the start.
    #[inline]
    pub fn position(&self, t: f64) -> Vector {
        let (sin, cos) = math::sin_cos(self.argument + self.rate * t);
        self.inertial([self.radius * cos, self.radius * sin], t)
    }

    /// Returns the velocity in m/s, including the slow drift of the node.
    pub fn velocity(&self, t: f64) -> Vector {
        let (sin, cos) = math::sin_cos(self.argument + self.rate * t);
        let speed = self.radius * self.rate;
        let along = self.inertial([-speed * sin, speed * cos], t);
        let position = self.position(t);
        [along[0] - self.node_rate * position[1], along[1] + self.node_rate * position[0], along[2]]
    }

    /// Converts coordinates in the plane of the orbit, with the first axis at the ascending node,
    /// to TEME.
    #[inline]
    fn inertial(&self, [x, y]: [f64; 2], t: f64) -> Vector {
        let (sin, cos) = math::sin_cos(self.node + self.node_rate * t);
        let flat = y * self.cos_inclination;
        [x * cos - flat * sin, x * sin + flat * cos, y * self.sin_inclination]
    }

    /// Returns an upper limit of the speed relative to the rotating Earth, in m/s.
    pub fn speed(&self) -> f64 {
        if self.rate == ROTATION && self.sin_inclination == 0.0 {
            return 0.0;
        }
        self.radius * (self.rate + self.node_rate.abs() + ROTATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{length, minus};

    #[test]
    fn node_of_a_sun_synchronous_orbit_turns_once_per_year() {
        // Landsat's design: 705 km, 98.2 deg; a sun-synchronous node moves by 360 deg in 365.2422
        // days.
        let orbit = Circular::new(EQUATORIAL_RADIUS + 705_000.0, 98.2_f64.to_radians(), 0.0, 0.0);
        let expected = std::f64::consts::TAU / (365.242_2 * 86_400.0);
        assert!((orbit.node_rate / expected - 1.0).abs() < 0.005, "{}", orbit.node_rate / expected);
    }

    #[test]
    fn velocity_is_the_change_of_position() {
        let orbit = Circular::new(7_158_137.0, 1.5, 0.3, 2.0);
        for t in [0.0, 100.0, 5_000.0] {
            let step = minus(&orbit.position(t + 0.01), &orbit.position(t - 0.01));
            let velocity = orbit.velocity(t);
            let off =
                [step[0] / 0.02 - velocity[0], step[1] / 0.02 - velocity[1], step[2] / 0.02 - velocity[2]];
            assert!(length(&off) < 1e-3, "{off:?}");
        }
    }
}
