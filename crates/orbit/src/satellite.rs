//! A satellite: its name and its motion.

use super::circular::Circular;
use super::sgp4::Sgp4;
use super::vector::Vector;

/// A satellite with its name and its motion.
pub struct Satellite {
    /// Name of the satellite in results.
    pub name: String,
    /// The motion of the satellite.
    pub motion: Motion,
    /// An upper limit of the satellite's speed relative to the rotating Earth, in m/s.
    pub speed: f64,
}

/// The motion of a satellite. Times are in seconds since the start of the run; positions are in
/// metres, in the frame TEME.
pub enum Motion {
    /// A precessing circular orbit.
    Circular(Circular),
    /// An element set, propagated by SGP4.
    Sgp4(Box<Sgp4>),
}

impl Satellite {
    /// Returns the position at time `t`.
    #[inline]
    pub fn position(&self, t: f64) -> Vector {
        match &self.motion {
            Motion::Circular(orbit) => orbit.position(t),
            Motion::Sgp4(orbit) => orbit.position(t),
        }
    }

    /// Returns the velocity at time `t`, in m/s.
    pub fn velocity(&self, t: f64) -> Vector {
        match &self.motion {
            Motion::Circular(orbit) => orbit.velocity(t),
            Motion::Sgp4(orbit) => orbit.velocity(t),
        }
    }
}
