//! Real satellites, described by their element sets.
//!
//! The neighbours of a satellite are determined from the positions at the start of the run: see
//! [`super::planes`].

use super::planes::{self, Orbit};
use super::{Neighbours, Shell};
use crate::earth::{EQUATORIAL_RADIUS, GM, ROTATION};
use crate::elements::{ElementSets, Elements};
use crate::epoch::Epoch;
use crate::observer::EarthRotation;
use crate::satellite::{Motion, Satellite};
use crate::sgp4::Sgp4;
use crate::vector::length;
use bentpipe_core::{math, Problems, Sample, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Real satellites, described by their element sets (TLE or OMM) and propagated by SGP4.
///
/// ```toml
/// shell = [{ kind = "elements", elements = { file = "iridium.tle" } }]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The element sets, or the file that contains them. Its path is relative to the folder of the
    /// scenario.
    pub elements: ElementSets,
}

/// Age of elements in days from which on a run has a warning.
const MAX_AGE: f64 = 30.0;
/// Minimum and maximum growth of the position error in a low orbit, in km per day of age (Vallado
/// et al. 2006, section VI).
const ERROR_GROWTH: (f64, f64) = (1.0, 3.0);

/// Returns the semi-major axis in metres.
fn semi_major_axis(set: &Elements) -> f64 {
    math::cbrt(GM / (set.mean_motion * std::f64::consts::TAU / 86_400.0).powi(2))
}

/// Returns the fault of an element set for a run that starts at `start`, if any.
fn fault(set: &Elements, start: Epoch) -> Option<String> {
    let motion = match Sgp4::new(set, start) {
        Ok(motion) => motion,
        Err(fault) => return Some(format!("\"{}\" describes no orbit: {fault}", set.name)),
    };
    let position = motion.position(0.0);
    if position[0].is_nan() {
        let fault = motion.teme(start.seconds_since(set.epoch) / 60.0).err().unwrap_or_default();
        return Some(format!("\"{}\" has no position at {start}: {fault}", set.name));
    }
    let height = length(&position) - EQUATORIAL_RADIUS;
    (height < 0.0).then(|| {
        format!("\"{}\" is {:.0} km below the surface at {start}: it has decayed", set.name, -height / 1e3)
    })
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"elements = "1 00001U 00001A   00001.50000000  .00000000  00000-0  00000-0 0    12\n2 00001   0.0100   0.0000 0000100   0.0000 280.4600  1.00273791    16\n""#;
}

/// Upper limit in metres of the periodic terms by which SGP4 moves a satellite away from the
/// ellipse of its mean elements. The largest term in the radius is about 1.5 J2 R^2 / a, or 10 km
/// in a low orbit and less in higher orbits.
const PERIODIC_BOUND: f64 = 50_000.0;

impl Shell for Config {
    fn count(&self) -> usize {
        self.elements.sets.len()
    }

    fn min_altitude(&self) -> f64 {
        let perigee = |set: &Elements| semi_major_axis(set) * (1.0 - set.eccentricity) - EQUATORIAL_RADIUS;
        self.elements.sets.iter().map(perigee).fold(f64::INFINITY, f64::min)
    }

    fn max_radius(&self) -> f64 {
        let apogee = |set: &Elements| semi_major_axis(set) * (1.0 + set.eccentricity);
        self.elements.sets.iter().map(apogee).fold(0.0, f64::max) + PERIODIC_BOUND
    }

    fn satellites(&self, start: Epoch, _rotation: EarthRotation) -> Vec<Satellite> {
        let build = |set: &Elements| {
            let motion = Sgp4::new(set, start).expect("the configuration has been checked");
            // The satellite is fastest at perigee; the rotation of the Earth contributes most at
            // apogee. The margin covers the periodic terms of SGP4.
            let semi_major = semi_major_axis(set);
            let (near, far) = (semi_major * (1.0 - set.eccentricity), semi_major * (1.0 + set.eccentricity));
            let fastest = (GM * (2.0 / near - 1.0 / semi_major)).sqrt();
            Satellite {
                name: set.name.clone(),
                motion: Motion::Sgp4(Box::new(motion)),
                speed: 1.02 * (fastest + ROTATION * far),
            }
        };
        self.elements.sets.iter().map(build).collect()
    }

    fn neighbours(&self, satellites: &[Satellite]) -> Vec<Neighbours> {
        let orbit = |(satellite, set): (&Satellite, &Elements)| Orbit {
            position: satellite.position(0.0),
            velocity: satellite.velocity(0.0),
            semi_major: semi_major_axis(set),
        };
        planes::neighbours(&satellites.iter().zip(self.elements.sets.iter()).map(orbit).collect::<Vec<_>>())
    }

    fn check(&self, start: Epoch, problems: &mut Problems) {
        let faults: Vec<_> = self.elements.sets.iter().filter_map(|set| fault(set, start)).collect();
        if let Some(first) = faults.first() {
            let more = match faults.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            problems.add("elements", format!("{first}{more}; allowed: satellites that are up"));
        }
    }

    fn remarks(&self, start: Epoch, duration: Span) -> Vec<String> {
        let age = |set: &Elements| {
            let before = start.seconds_since(set.epoch);
            before.abs().max((before + duration.as_secs_f64()).abs()) / 86_400.0
        };
        let old = self.elements.sets.iter().filter(|set| age(set) >= MAX_AGE).count();
        let oldest = self.elements.sets.iter().max_by(|a, b| age(a).total_cmp(&age(b)));
        let Some(oldest) = oldest.filter(|_| old > 0) else { return Vec::new() };
        let days = age(oldest);
        let along = |rate: f64| rate * days;
        vec![format!(
            "{old} of {} element sets are {MAX_AGE} days or more from the run, \"{}\" {days:.0} days: expect low satellites to be {:.0} to {:.0} km \
             from where they are computed, so that they pass {:.0} to {:.0} s early or late",
            self.elements.sets.len(),
            oldest.name,
            along(ERROR_GROWTH.0),
            along(ERROR_GROWTH.1),
            along(ERROR_GROWTH.0) / 7.5,
            along(ERROR_GROWTH.1) / 7.5,
        )]
    }
}
