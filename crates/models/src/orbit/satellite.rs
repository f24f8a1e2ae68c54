//! A satellite, however its motion is given.

use super::circular::Circular;
use super::sgp4::Sgp4;
use super::vector::Vector;

/// A satellite.
pub struct Satellite {
    /// Its name, in results.
    pub name: String,
    /// How it moves.
    pub motion: Motion,
    /// A bound of its speed relative to the turning Earth, in m/s.
    pub speed: f64,
}

/// How a satellite moves. Times are seconds since the start of the run, positions are in metres in TEME.
pub enum Motion {
    /// On a circle that precesses.
    Circular(Circular),
    /// As its element set says.
    Sgp4(Box<Sgp4>),
}

impl Satellite {
    /// Where it is.
    #[inline]
    pub fn position(&self, t: f64) -> Vector {
        match &self.motion {
            Motion::Circular(orbit) => orbit.position(t),
            Motion::Sgp4(orbit) => orbit.position(t),
        }
    }

    /// How it moves, in m/s.
    pub fn velocity(&self, t: f64) -> Vector {
        match &self.motion {
            Motion::Circular(orbit) => orbit.velocity(t),
            Motion::Sgp4(orbit) => orbit.velocity(t),
        }
    }
}
