//! Satellites described by element sets: SGP4 and SDP4 (Hoots and Roehrich 1980, as revised by
//! Vallado et al. 2006), computed by the crate `sgp4` with the constants of WGS72, on which element
//! sets are based.
//!
//! SGP4 itself is evaluated every 16 s. Between two evaluations, positions follow the Hermite
//! cubic, which has SGP4's positions and velocities at both ends. The error is at most (16 s)^4 /
//! 384 times the fourth derivative of the position, which is GM^2 / r^5 for a circular orbit. In
//! any orbit above the surface this is below 3 mm, or 0.01 ns of delay.
//!
//! The real satellite deviates from the model by about 1 km at the epoch of the elements, and by 1
//! to 3 km more per day (Vallado et al. 2006, section VI). After 30 days the deviation is tens of
//! kilometres along the orbit, and the times of a pass are off by some 10 s.

use super::elements::Elements;
use super::epoch::Epoch;
use super::vector::Vector;
use sgp4::{Constants, MinutesSinceEpoch, Orbit};
use std::cell::RefCell;

/// A satellite described by an element set.
pub struct Sgp4 {
    constants: Constants,
    /// Minutes from the elements' epoch to the start of the run.
    offset: f64,
    /// Computed states, each at its number modulo [`CACHED_STATES`].
    computed: RefCell<[(i64, State); CACHED_STATES]>,
}

/// Julian date of [`Epoch::J2000`].
const JULIAN_J2000: f64 = 2_451_545.0;
/// Seconds between computed states.
const STEP: f64 = 16.0;
/// Number of cached states.
const CACHED_STATES: usize = 8;

/// A state: position in metres and velocity in m/s.
#[derive(Clone, Copy, Default)]
struct State {
    position: Vector,
    velocity: Vector,
}

impl Sgp4 {
    /// Creates the satellite for a run that starts at `start`.
    ///
    /// # Errors
    /// Returns the reason why the elements describe no orbit.
    pub fn new(elements: &Elements, start: Epoch) -> Result<Sgp4, String> {
        let geopotential = sgp4::WGS72;
        let orbit = Orbit::from_kozai_elements(
            &geopotential,
            elements.inclination.to_radians(),
            elements.node.to_radians(),
            elements.eccentricity,
            elements.perigee.to_radians(),
            elements.anomaly.to_radians(),
            elements.mean_motion * std::f64::consts::PI / 720.0,
        )
        .map_err(|error| error.to_string())?;
        // The epoch is rounded to a Julian date in 64 bits, as in the reference. For WIND in the
        // verification set, with an eccentricity of 0.97, this rounding by 20 us moves the position
        // by 4 mm.
        let years = (elements.epoch.days_since_j2000() + JULIAN_J2000 - JULIAN_J2000) / 365.25;
        let constants =
            Constants::new(geopotential, sgp4::iau_epoch_to_sidereal_time, years, elements.drag, orbit)
                .map_err(|error| error.to_string())?;
        let computed = RefCell::new([(i64::MIN, State::default()); CACHED_STATES]);
        Ok(Sgp4 { constants, offset: start.seconds_since(elements.epoch) / 60.0, computed })
    }

    /// Returns position and velocity, in km and km/s, `minutes` after the elements' epoch.
    ///
    /// # Errors
    /// Returns the reason why there is no position, such as decay.
    pub fn teme(&self, minutes: f64) -> Result<(Vector, Vector), String> {
        let found = self.constants.propagate(MinutesSinceEpoch(minutes));
        found.map(|found| (found.position, found.velocity)).map_err(|error| error.to_string())
    }

    /// Returns the position `t` seconds after the start, or NaN if SGP4 has none.
    pub fn position(&self, t: f64) -> Vector {
        let number = (t / STEP).floor();
        let (a, b) = self.bracketing_states(number as i64);
        let s = t / STEP - number;
        // The basis of Hermite's cubic.
        let (at_a, at_b) = ((1.0 + 2.0 * s) * (1.0 - s) * (1.0 - s), s * s * (3.0 - 2.0 * s));
        let (to_a, to_b) = (s * (1.0 - s) * (1.0 - s) * STEP, s * s * (s - 1.0) * STEP);
        std::array::from_fn(|i| {
            at_a * a.position[i] + at_b * b.position[i] + to_a * a.velocity[i] + to_b * b.velocity[i]
        })
    }

    /// Returns the velocity `t` seconds after the start.
    pub fn velocity(&self, t: f64) -> Vector {
        let number = (t / STEP).floor();
        let (a, b) = self.bracketing_states(number as i64);
        let s = t / STEP - number;
        let (between, to_a, to_b) =
            (6.0 * s * (1.0 - s) / STEP, (1.0 - s) * (1.0 - 3.0 * s), s * (3.0 * s - 2.0));
        std::array::from_fn(|i| {
            between * (b.position[i] - a.position[i]) + to_a * a.velocity[i] + to_b * b.velocity[i]
        })
    }

    fn bracketing_states(&self, number: i64) -> (State, State) {
        let mut computed = self.computed.borrow_mut();
        (self.state(number, &mut computed), self.state(number + 1, &mut computed))
    }

    fn state(&self, number: i64, computed: &mut [(i64, State); CACHED_STATES]) -> State {
        let cached = &mut computed[number.rem_euclid(CACHED_STATES as i64) as usize];
        if cached.0 != number {
            let (position, velocity) = match self.teme(self.offset + number as f64 * STEP / 60.0) {
                Ok((position, velocity)) => (position.map(|km| km * 1e3), velocity.map(|km| km * 1e3)),
                Err(_) => ([f64::NAN; 3], [f64::NAN; 3]),
            };
            *cached = (number, State { position, velocity });
        }
        cached.1
    }
}
