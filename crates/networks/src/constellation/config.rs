//! The configuration of a constellation.

use super::carrier::CarrierConfig;
use super::forwarding::Forwarding;
use super::routes::{light_time, Metric};
use super::{balance, choice, isl};
use crate::fate::Fate;
use bentpipe_core::{math, Angle, Count, Distance, Problems, Rate, Sample, Span};
use bentpipe_link::{channel, queue};
use bentpipe_orbit::earth::EQUATORIAL_RADIUS;
use bentpipe_orbit::epoch::Epoch;
use bentpipe_orbit::observer::EarthRotation;
use bentpipe_orbit::satellite::Satellite;
use bentpipe_orbit::shell::{self, Neighbours};
use bentpipe_orbit::site::Site;
use bentpipe_orbit::vector::{dot, Vector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A constellation of moving satellites that serve sites on the ground, with or without
/// inter-satellite links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Start of the run in UTC, 2000-01-01T12:00:00Z by default. UT1 is taken to equal UTC: the
    /// Earth's rotation is off by less than 0.9 s, which is 420 m at the equator.
    #[serde(default = "default_epoch")]
    pub epoch: Epoch,
    /// The satellites, as one or more shells: sets of circular orbits or element sets.
    pub shell: Vec<shell::Config>,
    /// Links between satellites. There are none by default, so that packets go from site to
    /// satellite to site.
    #[serde(default)]
    pub isl: isl::Config,
    /// Links between satellites and sites: their rates, queues, errors and lowest elevation.
    pub gsl: Gsl,
    /// Sites on the ground, by the names of their nodes; at least two.
    pub sites: BTreeMap<String, GroundSite>,
    /// Handovers of a site from one satellite to another.
    #[serde(default)]
    pub handover: Handover,
    /// Choice of paths, and the period of its updates; by default the paths of the shortest delay,
    /// computed every second.
    #[serde(default)]
    pub routing: Routing,
}

pub(crate) fn default_epoch() -> Epoch {
    Epoch::J2000
}

/// Links between satellites and sites. In both directions each site has its own queue and rate to
/// the satellite that serves it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gsl {
    /// Rate from a site to its satellite.
    pub up: Rate,
    /// Rate from a satellite to a site.
    pub down: Rate,
    /// Minimum elevation at which a site sees a satellite, 10 deg by default; -5 deg to below 90
    /// deg.
    #[serde(default = "default_mask")]
    pub mask: Angle,
    /// Queue discipline in front of each of these links.
    #[serde(default)]
    pub queue: queue::Config,
    /// Error process of each link and direction; no errors by default.
    #[serde(default)]
    pub error: channel::Config,
    /// Policy that chooses the satellites that serve a site; those at the highest elevation by
    /// default.
    #[serde(default)]
    pub choice: choice::Config,
    /// Number of satellites that serve a site at once, each over its own antenna; 1 by default.
    /// Without inter-satellite links a gateway needs several to share satellites with the other
    /// sites.
    #[serde(default = "default_antennas")]
    pub antennas: Count<1, 16>,
}

pub(crate) fn default_mask() -> Angle {
    Angle::from_degrees(10.0)
}

fn default_antennas() -> Count<1, 16> {
    Count::new(1)
}

/// A site of a constellation, in geodetic coordinates on the WGS84 ellipsoid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroundSite {
    /// Geodetic latitude, north positive; -90 deg to 90 deg.
    pub latitude: Angle,
    /// Longitude of the site, positive to the east and negative to the west.
    pub longitude: Angle,
    /// Height above the ellipsoid; 0 m by default.
    #[serde(default = "default_altitude")]
    pub altitude: Distance,
    /// Minimum elevation at which this site sees a satellite; that of `gsl` if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<Angle>,
    /// Number of antennas of this site; that of `gsl` if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antennas: Option<Count<1, 16>>,
    /// Number of sites like this one. If unset, there is one, and its name is the key as it stands;
    /// otherwise the numbers from 1 stand at `{}` in the key, or follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count<1, 10_000>>,
    /// Radius of the circle around the position over which `count` sites are spread evenly, up to
    /// 5000 km. If unset, all are at the position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Distance>,
}

fn default_altitude() -> Distance {
    Distance::from_metres(0.0)
}

impl GroundSite {
    /// Position of the site.
    pub fn site(&self) -> Site {
        Site { latitude: self.latitude, longitude: self.longitude, altitude: self.altitude }
    }
}

/// Handovers of a site from one satellite to another, or to none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "SatelliteHandover")]
pub struct Handover {
    /// Time for which nothing is sent between the site and the new satellite; 0 s by default.
    pub interruption: Span,
    /// Time for which the old satellite continues to send what waits there for the site (make
    /// before break); 0 s by default.
    pub overlap: Span,
    /// Fate of packets in flight over the old satellite; forwarded by default. Packets that wait at
    /// the site itself always move to the new satellite.
    pub packets: Fate,
}

/// Computation of the paths of packets through the constellation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// The cost that paths minimise; propagation delay by default.
    pub metric: Metric,
    /// Period after which paths are recomputed for the distances that have changed, 1 s by default;
    /// 0 s for never. They are always recomputed when links come up or go down.
    pub refresh: Span,
    /// Fate of packets on an inter-satellite link that goes down; forwarded by default.
    pub vanished: Fate,
    /// Several paths at once, over which connections are spread. If unset, there is a single path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<balance::Config>,
    /// Forwarding state to use instead of computed paths, or the file that holds it. If unset,
    /// paths are computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarding: Option<Forwarding>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"gsl = { up = "2 Mbit/s", down = "4 Mbit/s" }, shell = [{ kind = "geo", longitudes = ["0 deg"] }], sites.a = { latitude = "51.5 deg", longitude = "0 deg" }, sites.b = { latitude = "41.9 deg", longitude = "12.5 deg" }"#;
}

impl Default for Routing {
    fn default() -> Routing {
        Routing {
            metric: Metric::Delay,
            refresh: Span::from_secs(1),
            vanished: Fate::Forward,
            balance: None,
            forwarding: None,
        }
    }
}

impl Config {
    /// The Earth's rotation during the run.
    pub fn rotation(&self) -> EarthRotation {
        EarthRotation::new(self.epoch, 0.0)
    }

    /// All satellites, and the pairs of them that may be linked ([`shell::fleet`]).
    pub fn fleet(&self) -> (Vec<Satellite>, Vec<Neighbours>) {
        shell::fleet(&self.shell, self.epoch, self.rotation())
    }

    /// The delay between two sites, by number, that routing outside the constellation assumes: up
    /// to the lowest satellites, along the surface, and down. It is never longer than over a third
    /// site.
    pub fn expected_delays(&self) -> impl Fn(usize, usize) -> Span {
        let up: Vec<Vector> = self.sites.values().map(|site| site.site().up()).collect();
        let height = self.shell.iter().map(|shell| shell.min_altitude()).fold(f64::INFINITY, f64::min);
        move |a, b| {
            let along = math::acos(dot(&up[a], &up[b]).clamp(-1.0, 1.0)) * EQUATORIAL_RADIUS;
            light_time(along + 2.0 * height.max(0.0))
        }
    }

    /// Mask of a site in radians.
    pub fn mask(&self, site: &GroundSite) -> f64 {
        site.mask.unwrap_or(self.gsl.mask).radians()
    }

    /// Number of antennas of a site.
    pub fn antennas(&self, site: &GroundSite) -> usize {
        site.antennas.unwrap_or(self.gsl.antennas).value() as usize
    }

    /// One direction of the links between sites and satellites.
    pub fn ground_link(&self, rate: Rate) -> CarrierConfig {
        CarrierConfig { rate, queue: self.gsl.queue.clone(), error: self.gsl.error.clone() }
    }

    /// Adds the problems of this configuration.
    pub fn check(&self, problems: &mut Problems) {
        let before = problems.count();
        shell::check(&self.shell, self.epoch, problems);
        problems.within("isl", |problems| self.isl.check(problems));
        problems.within("gsl", |problems| {
            check_mask(self.gsl.mask, problems);
            problems.within("queue", |problems| self.gsl.queue.check(problems));
            problems.within("error", |problems| self.gsl.error.check(problems));
            problems.within("choice", |problems| self.gsl.choice.check(problems));
        });
        if self.sites.len() < 2 {
            let count = self.sites.len();
            problems.add("sites", format!("{count} sites; allowed: at least two"));
        }
        problems.within("routing", |problems| {
            if let Some(balance) = &self.routing.balance {
                let antennas = self.sites.values().map(|site| self.antennas(site)).max().unwrap_or(1);
                problems.within("balance", |problems| balance.check(antennas, problems));
                if self.routing.forwarding.is_some() {
                    problems.add("balance", "cannot be combined with forwarding, which already gives the paths; allowed: one of the two");
                }
            }
        });
        if let (Some(forwarding), true) = (&self.routing.forwarding, problems.count() == before) {
            let sites: Vec<&str> = self.sites.keys().map(String::as_str).collect();
            let (satellites, _) = self.fleet();
            let satellites: Vec<&str> = satellites.iter().map(|satellite| satellite.name.as_str()).collect();
            problems.within("routing", |problems| forwarding.check(&sites, &satellites, problems));
        }
        problems.within("sites", |problems| {
            for (name, site) in &self.sites {
                problems.within(name, |problems| {
                    site.site().check(problems);
                    site.mask.into_iter().for_each(|mask| check_mask(mask, problems));
                });
            }
        });
    }
}

/// Adds the problem of the key `mask`, if any.
pub(crate) fn check_mask(mask: Angle, problems: &mut Problems) {
    if !(-5.0..90.0).contains(&mask.degrees()) {
        problems.add("mask", format!("{mask} is out of range; allowed: -5 deg to below 90 deg"));
    }
}
