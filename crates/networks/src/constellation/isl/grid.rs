//! Four links per satellite ("+Grid"): to the satellites ahead and behind in its plane, and to one
//! in each adjacent plane.
//!
//! A link is up while all of its rules hold. Each rule is a quantity that must not be negative,
//! with a bound on how fast it can change: the distance by at most the speeds of both ends, the
//! clearance above the Earth by that of the faster end, the latitude of an end by its speed over
//! its distance from the centre. The smallest quotient of quantity and bound is the time for which
//! the state certainly does not change.

use super::Links;
use crate::constellation::carrier::CarrierConfig;
use bentpipe_core::{math, Angle, Distance, Problems, Rate, Sample};
use bentpipe_link::{channel, queue};
use bentpipe_orbit::crossing::Bound;
use bentpipe_orbit::earth::EQUATORIAL_RADIUS;
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::shell::{NeighbourKind, Neighbours};
use bentpipe_orbit::vector::{clearance, length, minus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A grid of inter-satellite links: each satellite is linked to its neighbours in its plane and in
/// the adjacent planes.
///
/// ```toml
/// isl = { kind = "grid", rate = "25 Mbit/s", max_latitude = "60 deg" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate of each link in each direction.
    pub rate: Rate,
    /// Queue discipline in front of each link.
    #[serde(default)]
    pub queue: queue::Config,
    /// Error process of each link and direction; no errors by default.
    #[serde(default)]
    pub error: channel::Config,
    /// Geocentric latitude, north or south, beyond which an end's links to other planes are off; 0
    /// deg to 90 deg. If unset, there is no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_latitude: Option<Angle>,
    /// Distance between the ends beyond which a link is off. If unset, there is no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_range: Option<Distance>,
    /// Minimum height above the surface of the line between the ends, 80 km by default; a link is
    /// off below it, as the air would bend and absorb the beam.
    #[serde(default = "default_clearance")]
    pub clearance: Distance,
    /// True to link the planes on both sides of a seam, too; false by default.
    #[serde(default)]
    pub cross_seam: bool,
}

fn default_clearance() -> Distance {
    Distance::from_metres(80e3)
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"rate = "25 Mbit/s""#;
}

impl Links for Config {
    fn connects(&self, neighbours: &Neighbours) -> bool {
        neighbours.kind != NeighbourKind::AcrossSeam || self.cross_seam
    }

    fn margin(&self, neighbours: &Neighbours, (a, b): (&Satellite, &Satellite), t: f64) -> Bound {
        let (at_a, at_b) = (a.position(t), b.position(t));
        // Speeds relative to the Earth, which include its rotation, also bound those in space.
        let (fast_a, fast_b) = (a.speed.max(GEOSTATIONARY_SPEED), b.speed.max(GEOSTATIONARY_SPEED));
        let mut value = f64::INFINITY;
        let mut rule = |quantity: f64, fastest: f64| value = value.min(quantity / fastest);
        rule(clearance(&at_a, &at_b) - EQUATORIAL_RADIUS - self.clearance.metres(), fast_a.max(fast_b));
        if let Some(max) = self.max_range {
            rule(max.metres() - length(&minus(&at_a, &at_b)), fast_a + fast_b);
        }
        if let (Some(max), false) = (self.max_latitude, neighbours.kind == NeighbourKind::InPlane) {
            for (position, fastest) in [(at_a, fast_a), (at_b, fast_b)] {
                let distance = length(&position);
                let latitude = math::asin((position[2] / distance).clamp(-1.0, 1.0)).abs();
                // With half the distance, as it may shrink in the meantime.
                rule(max.radians() - latitude, 2.0 * fastest / distance);
            }
        }
        match value.is_nan() {
            true => Bound { value: -1.0, holds_for: 60.0 },
            false => Bound { value, holds_for: value.abs() },
        }
    }

    fn link(&self) -> Option<CarrierConfig> {
        Some(CarrierConfig { rate: self.rate, queue: self.queue.clone(), error: self.error.clone() })
    }

    fn check(&self, problems: &mut Problems) {
        problems.within("queue", |problems| self.queue.check(problems));
        problems.within("error", |problems| self.error.check(problems));
        if let Some(latitude) = self.max_latitude.filter(|max| !(0.0..=90.0).contains(&max.degrees())) {
            problems.add("max_latitude", format!("{latitude} is out of range; allowed: 0 deg to 90 deg"));
        }
        if let Some(range) = self.max_range.filter(|max| max.metres() <= 0.0) {
            problems.add("max_range", format!("must be greater than 0 m, is {range}"));
        }
    }
}

/// Speed of a geostationary satellite in space, in m/s: the minimum that is assumed for a satellite
/// at rest above the Earth.
const GEOSTATIONARY_SPEED: f64 = 3_075.0;
