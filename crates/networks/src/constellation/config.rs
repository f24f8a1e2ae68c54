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
    /// Start of the run in UTC, 2000-01-01T12:00:00Z by default. UT1 is assumed to equal UTC, so
    /// the Earth's rotation may be off by up to 0.9 s, or 420 m at the equator.
    #[serde(default = "default_epoch")]
    pub epoch: Epoch,
    /// The satellites, as one or more shells: sets of circular orbits or element sets.
    pub shell: Vec<shell::Config>,
    /// Links between satellites. By default there are none, and packets go from a site up to a
    /// satellite and down to another site.
    #[serde(default)]
    pub isl: isl::Config,
    /// Links between satellites and sites: rates, queues, errors and minimum elevation.
    pub gsl: Gsl,
    /// Sites on the ground, by node name; at least two.
    pub sites: BTreeMap<String, GroundSite>,
    /// Handovers of a site from one satellite to another.
    #[serde(default)]
    pub handover: Handover,
    /// Choice of paths, and the period of their updates. By default, the paths of minimum delay are
    /// computed every second.
    #[serde(default)]
    pub routing: Routing,
}

pub(crate) fn default_epoch() -> Epoch {
    Epoch::J2000
}

/// Links between satellites and sites. Each site has its own queue and its own rate in both
/// directions to the satellite that serves it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gsl {
    /// Rate from a site up to its satellite.
    pub up: Rate,
    /// Rate from a satellite down to a site.
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
    /// Policy for choosing the satellites that serve a site; those at the highest elevation by
    /// default.
    #[serde(default)]
    pub choice: choice::Config,
    /// Number of satellites that serve a site at the same time, each over its own antenna; 1 by
    /// default. Without inter-satellite links, a gateway needs several antennas to share a
    /// satellite with each other site.
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
    /// Minimum elevation at which this site sees a satellite. If unset, it is that of `gsl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<Angle>,
    /// Number of antennas of this site. If unset, it is that of `gsl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antennas: Option<Count<1, 16>>,
    /// Number of identical sites. If unset, there is one site, named by the key. Otherwise the
    /// numbers from 1 replace `{}` in the key, or are appended to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count<1, 10_000>>,
    /// Radius of the circle around the position over which `count` sites are spread evenly, up to
    /// 5000 km. If unset, all sites are at the position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Distance>,
}

fn default_altitude() -> Distance {
    Distance::from_metres(0.0)
}

impl GroundSite {
    /// Returns the position of the site.
    pub fn site(&self) -> Site {
        Site { latitude: self.latitude, longitude: self.longitude, altitude: self.altitude }
    }
}

/// Handovers of a site from one satellite to another, or to none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "SatelliteHandover")]
pub struct Handover {
    /// Time for which no packets are sent between the site and the new satellite; 0 s by default.
    pub interruption: Span,
    /// Time for which the old satellite continues to send its waiting packets to the site (make
    /// before break); 0 s by default.
    pub overlap: Span,
    /// Fate of packets in flight over the old satellite; forwarded by default. Packets that wait at
    /// the site always move to the new satellite.
    pub packets: Fate,
}

/// Computation of the paths of packets through the constellation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// The cost that paths minimise; propagation delay by default.
    pub metric: Metric,
    /// Period after which paths are recomputed for the changed distances, 1 s by default; 0 s for
    /// never. Paths are always recomputed when links come up or go down.
    pub refresh: Span,
    /// Fate of packets on an inter-satellite link that goes down; forwarded by default.
    pub vanished: Fate,
    /// Several simultaneous paths, over which connections are distributed. If unset, there is a
    /// single path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<balance::Config>,
    /// Forwarding state to use instead of computed paths, or the file that contains it. If unset,
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
    /// Returns the Earth's rotation during the run.
    pub fn rotation(&self) -> EarthRotation {
        EarthRotation::new(self.epoch, 0.0)
    }

    /// Returns all satellites, and the pairs of satellites that may be linked ([`shell::fleet`]).
    pub fn fleet(&self) -> (Vec<Satellite>, Vec<Neighbours>) {
        shell::fleet(&self.shell, self.epoch, self.rotation())
    }

    /// Returns a function for the delay between two sites, by number, that routing outside the
    /// constellation assumes. The path leads up to the lowest satellites, along the surface, and
    /// down. The delay is never longer than the delay over a third site.
    pub fn expected_delays(&self) -> impl Fn(usize, usize) -> Span {
        let up: Vec<Vector> = self.sites.values().map(|site| site.site().up()).collect();
        let height = self.shell.iter().map(|shell| shell.min_altitude()).fold(f64::INFINITY, f64::min);
        move |a, b| {
            let along = math::acos(dot(&up[a], &up[b]).clamp(-1.0, 1.0)) * EQUATORIAL_RADIUS;
            light_time(along + 2.0 * height.max(0.0))
        }
    }

    /// Returns the mask of a site in radians.
    pub fn mask(&self, site: &GroundSite) -> f64 {
        site.mask.unwrap_or(self.gsl.mask).radians()
    }

    /// Returns the number of antennas of a site.
    pub fn antennas(&self, site: &GroundSite) -> usize {
        site.antennas.unwrap_or(self.gsl.antennas).value() as usize
    }

    /// Returns the configuration of one direction of the links between sites and satellites.
    pub fn ground_link(&self, rate: Rate) -> CarrierConfig {
        CarrierConfig { rate, queue: self.gsl.queue.clone(), error: self.gsl.error.clone() }
    }

    /// Adds the problems of this configuration to `problems`.
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

/// Adds a problem if the key `mask` is out of range.
pub(crate) fn check_mask(mask: Angle, problems: &mut Problems) {
    if !(-5.0..90.0).contains(&mask.degrees()) {
        problems.add("mask", format!("{mask} is out of range; allowed: -5 deg to below 90 deg"));
    }
}
