//! Four links per satellite ("+Grid"): to the next and the previous satellite in its plane, and to
//! one satellite in each adjacent plane.
//!
//! A link is up while all of its rules hold. Each rule is a quantity that must not be negative,
//! with an upper limit of its rate of change. The distance changes at most by the speeds of both
//! ends, the clearance above the Earth by the speed of the faster end, and the latitude of an end
//! by its speed divided by its distance from the centre. The minimum of quantity divided by rate of
//! change is a time for which the state cannot change.

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

/// A grid of inter-satellite links: each satellite has links to its neighbours in its plane and in
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
    /// Geocentric latitude, north or south, above which the links of a satellite to other planes
    /// are off; 0 deg to 90 deg. If unset, the latitude is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_latitude: Option<Angle>,
    /// Maximum distance between the ends of a link that is up. If unset, the distance is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_range: Option<Distance>,
    /// Minimum height above the surface of the line between the ends, 80 km by default. Below it a
    /// link is off, because the air would refract and absorb the beam.
    #[serde(default = "default_clearance")]
    pub clearance: Distance,
    /// True to link also the planes on both sides of a seam; false by default.
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
        // Speeds relative to the Earth include its rotation, and are also upper limits for speeds
        // in space.
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
                // Half the distance is used because the distance may shrink in the meantime.
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

/// Speed of a geostationary satellite in space, in m/s: the minimum that is assumed, because such a
/// satellite is at rest relative to the Earth.
const GEOSTATIONARY_SPEED: f64 = 3_075.0;
