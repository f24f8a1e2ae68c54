//! The pattern of Walker (1984): planes of equal inclination, each with the same number of
//! satellites, all at one altitude.
//!
//! There are P planes with S satellites each, and the phasing is F. The ascending node of plane p
//! is at p spread / P. Satellite j of plane p is at the argument of latitude 360 deg j / S + 360
//! deg p F / (P S). A spread of 360 deg makes a delta pattern, and 180 deg a star pattern.

use super::{NeighbourKind, Neighbours, Shell};
use crate::circular::Circular;
use crate::earth::EQUATORIAL_RADIUS;
use crate::epoch::Epoch;
use crate::observer::EarthRotation;
use crate::satellite::{Motion, Satellite};
use bentpipe_core::{Angle, Distance, Problems};

/// A Walker pattern: evenly spaced satellites in planes of one inclination.
#[derive(Clone, Copy, Debug)]
pub struct Walker {
    /// Altitude above the equatorial radius, from 160 km to 400 000 km.
    pub altitude: Distance,
    /// Inclination of all planes.
    pub inclination: Angle,
    /// Number P of orbital planes.
    pub planes: u32,
    /// Number of satellites in a plane.
    pub satellites: u32,
    /// Phasing F from plane to plane, in units of 360 deg / (P S).
    pub phasing: f64,
    /// Angle over which the ascending nodes are spread.
    pub spread: Angle,
    /// True if the first plane follows the last without a seam.
    pub closed: bool,
}

/// Minimum and maximum altitude of a designed orbit, in metres. Below the minimum, satellites decay
/// within days; above the maximum, they are not bound to the Earth.
const ALTITUDES: (f64, f64) = (160e3, 400_000e3);

/// A configuration of a Walker pattern.
pub trait Pattern {
    /// Returns the pattern that the configuration describes.
    fn walker(&self) -> Walker;
}

impl<P: Pattern> Shell for P {
    fn count(&self) -> usize {
        let walker = self.walker();
        (walker.planes * walker.satellites) as usize
    }

    fn min_altitude(&self) -> f64 {
        self.walker().altitude.metres()
    }

    fn max_radius(&self) -> f64 {
        EQUATORIAL_RADIUS + self.walker().altitude.metres()
    }

    fn satellites(&self, _start: Epoch, _rotation: EarthRotation) -> Vec<Satellite> {
        self.walker().build()
    }

    fn neighbours(&self, _satellites: &[Satellite]) -> Vec<Neighbours> {
        self.walker().neighbours()
    }

    fn check(&self, _start: Epoch, problems: &mut Problems) {
        let Walker { altitude, phasing, planes, .. } = self.walker();
        let metres = altitude.metres();
        if !(ALTITUDES.0..=ALTITUDES.1).contains(&metres) {
            let reason = if metres <= 0.0 { "below the surface" } else { "not a lasting orbit" };
            problems.add("altitude", format!("{altitude} is {reason}; allowed: 160 km to 400000 km"));
        }
        if phasing >= f64::from(planes) && phasing != 0.0 {
            problems.add("phasing", format!("{phasing} with {planes} planes; allowed: 0 to below {planes}"));
        }
    }
}

impl Walker {
    /// Returns the number of satellite `index` of `plane`; indices wrap around.
    fn number(&self, plane: u32, index: i64) -> u32 {
        plane * self.satellites + index.rem_euclid(i64::from(self.satellites)) as u32
    }

    /// Creates the satellites in the order of the planes. Their names contain plane and position,
    /// both from 1.
    pub fn build(&self) -> Vec<Satellite> {
        let (planes, satellites) = (f64::from(self.planes), f64::from(self.satellites));
        let radius = EQUATORIAL_RADIUS + self.altitude.metres();
        let mut all = Vec::new();
        for plane in 0..self.planes {
            let node = self.spread.radians() * f64::from(plane) / planes;
            for index in 0..self.satellites {
                let turns = (f64::from(index) + f64::from(plane) * self.phasing / planes) / satellites;
                let argument = std::f64::consts::TAU * turns;
                let orbit = Circular::new(radius, self.inclination.radians(), node, argument);
                all.push(Satellite {
                    name: format!("P{}S{}", plane + 1, index + 1),
                    speed: orbit.speed(),
                    motion: Motion::Circular(orbit),
                });
            }
        }
        all
    }

    /// Returns the pairs of neighbours: adjacent satellites in a plane, and the satellites of
    /// adjacent planes that are nearest in phase.
    pub fn neighbours(&self) -> Vec<Neighbours> {
        let mut all = Vec::new();
        for plane in 0..self.planes {
            for index in 0..self.satellites {
                let index = i64::from(index);
                let here = self.number(plane, index);
                let mut join = |indices: (u32, u32), kind| all.push(Neighbours { indices, kind });
                // Two satellites in a plane have one link; a single satellite has none.
                if self.satellites > 2 || (self.satellites == 2 && index == 0) {
                    join((here, self.number(plane, index + 1)), NeighbourKind::InPlane);
                }
                // Plane p + 1 leads by F / P of the distance between satellites in a plane.
                let shift = (self.phasing / f64::from(self.planes)).round() as i64;
                if plane + 1 < self.planes {
                    join((here, self.number(plane + 1, index - shift)), NeighbourKind::BetweenPlanes);
                } else if self.planes > 2 {
                    let to = self.number(0, index + self.phasing.round() as i64 - shift);
                    let kind =
                        if self.closed { NeighbourKind::BetweenPlanes } else { NeighbourKind::AcrossSeam };
                    join((here, to), kind);
                }
            }
        }
        all
    }
}
