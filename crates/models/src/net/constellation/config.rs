//! What a scenario says of a constellation.

use super::carrier::Kind;
use super::forwarding::Forwarding;
use super::routes::{light_time, Metric};
use super::{balance, choice, isl};
use crate::net::fate::Fate;
use crate::orbit::earth::EQUATORIAL_RADIUS;
use crate::orbit::epoch::Epoch;
use crate::orbit::look::Turning;
use crate::orbit::satellite::Satellite;
use crate::orbit::shell::{self, Neighbours};
use crate::orbit::site::Site;
use crate::orbit::vector::dot;
use crate::{channel, queue};
use bentpipe_core::{Angle, Count, Distance, Problems, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A constellation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The moment, in UTC, at which the run starts. UT1 is taken to be UTC: the Earth stands wrong by less than 0.9 s of its
    /// rotation, 420 m at the equator.
    #[serde(default = "noon")]
    pub epoch: Epoch,
    /// The satellites.
    pub shell: Vec<shell::Config>,
    /// Links between satellites.
    #[serde(default)]
    pub isl: isl::Config,
    /// Links between satellites and sites.
    pub gsl: Gsl,
    /// Sites on the ground by the names of their nodes.
    pub sites: BTreeMap<String, GroundSite>,
    /// What happens when a site is served by another satellite.
    #[serde(default)]
    pub handover: Handover,
    /// Which way packets take.
    #[serde(default)]
    pub routing: Routing,
}

fn noon() -> Epoch {
    Epoch::J2000
}

/// Links between satellites and sites: each site has its own queue and rate in both directions, with the satellite that serves
/// it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gsl {
    /// Rate from a site to its satellite.
    pub up: Rate,
    /// Rate from a satellite to a site.
    pub down: Rate,
    /// Elevation from which on satellites are seen.
    #[serde(default = "ten_degrees")]
    pub mask: Angle,
    /// The queues in front of them.
    #[serde(default)]
    pub queue: queue::Config,
    /// What the channel spoils.
    #[serde(default)]
    pub error: channel::Config,
    /// Which satellites serve a site.
    #[serde(default)]
    pub choice: choice::Config,
    /// Satellites that serve a site at once, each by an antenna of its own. Over bent pipes a gateway needs several to meet the
    /// satellites that others are served by.
    #[serde(default = "one")]
    pub antennas: Count<1, 16>,
}

fn ten_degrees() -> Angle {
    Angle::from_degrees(10.0)
}

fn one() -> Count<1, 16> {
    Count::new(1)
}

/// A site of a constellation, in geodetic coordinates on the WGS84 ellipsoid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroundSite {
    /// Geodetic latitude, north positive, -90 deg to 90 deg.
    pub latitude: Angle,
    /// Longitude, east positive.
    pub longitude: Angle,
    /// Height above the ellipsoid.
    #[serde(default = "sea_level")]
    pub altitude: Distance,
    /// Its own elevation mask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<Angle>,
    /// Its own number of antennas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antennas: Option<Count<1, 16>>,
}

fn sea_level() -> Distance {
    Distance::from_metres(0.0)
}

impl GroundSite {
    /// Where it is.
    pub fn site(&self) -> Site {
        Site { latitude: self.latitude, longitude: self.longitude, altitude: self.altitude }
    }
}

/// What happens when a site is served by another satellite, or by none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Handover {
    /// For how long nothing is sent between the site and the new satellite.
    pub interruption: Span,
    /// For how long the old satellite goes on to send what waits there for the site: make before break.
    pub overlap: Span,
    /// What happens to packets on their way over the old satellite. What waits at the site itself goes to the new one in any
    /// case.
    pub packets: Fate,
}

/// Which way packets take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// What makes a way short.
    pub metric: Metric,
    /// Ways are computed when links come and go, and as often as this for the distances that have changed since; 0 s for not.
    pub refresh: Span,
    /// What happens to packets on an inter-satellite link that goes down.
    pub vanished: Fate,
    /// Several ways at once over which connections are spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<balance::Config>,
    /// Forwarding state to use instead of the shortest ways, or its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarding: Option<Forwarding>,
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

/// Most satellites of a constellation.
const SATELLITES: usize = 20_000;

impl Config {
    /// How the Earth turns in the run.
    pub fn turning(&self) -> Turning {
        Turning::new(self.epoch, 0.0)
    }

    /// All satellites, shell by shell, and the pairs of them that may be linked. Of several shells the names begin with the shell's
    /// number.
    pub fn fleet(&self) -> (Vec<Satellite>, Vec<Neighbours>) {
        let (mut satellites, mut neighbours) = (Vec::new(), Vec::new());
        for (index, shell) in self.shell.iter().enumerate() {
            let first = satellites.len() as u32;
            let mut own = shell.satellites(self.epoch, self.turning());
            neighbours.extend(
                shell.neighbours(&own).into_iter().map(|pair| Neighbours {
                    places: (first + pair.places.0, first + pair.places.1),
                    ..pair
                }),
            );
            if self.shell.len() > 1 {
                own.iter_mut().for_each(|one| one.name = format!("{}:{}", index + 1, one.name));
            }
            satellites.extend(own);
        }
        (satellites, neighbours)
    }

    /// The delay between two sites that routing elsewhere counts with: up to the lowest satellites, along the surface, and down.
    pub fn expected_delay(&self, a: &GroundSite, b: &GroundSite) -> Span {
        let (from, to) = (a.site().up(), b.site().up());
        let along = dot(&from, &to).clamp(-1.0, 1.0).acos() * EQUATORIAL_RADIUS;
        let height = self.shell.iter().map(|shell| shell.height()).fold(f64::INFINITY, f64::min);
        light_time(along + 2.0 * height)
    }

    /// Mask of a site in radians.
    pub fn mask(&self, site: &GroundSite) -> f64 {
        site.mask.unwrap_or(self.gsl.mask).radians()
    }

    /// Antennas of a site.
    pub fn antennas(&self, site: &GroundSite) -> usize {
        site.antennas.unwrap_or(self.gsl.antennas).value() as usize
    }

    /// A direction between sites and satellites.
    pub fn ground_link(&self, rate: Rate) -> Kind {
        Kind { rate, queue: self.gsl.queue.clone(), error: self.gsl.error.clone() }
    }

    /// Adds what is wrong.
    pub fn check(&self, problems: &mut Problems) {
        let before = problems.count();
        if self.shell.is_empty() {
            problems.add("shell", "no satellites; allowed: at least one [[...shell]]");
        }
        problems.within("shell", |problems| {
            for (index, shell) in self.shell.iter().enumerate() {
                problems.within(index.to_string(), |problems| shell.check(self.epoch, problems));
            }
        });
        let count: usize = self.shell.iter().map(|shell| shell.count()).sum();
        if count > SATELLITES {
            problems.add("shell", format!("{count} satellites; allowed: at most {SATELLITES}"));
        }
        problems.within("isl", |problems| self.isl.check(problems));
        problems.within("gsl", |problems| {
            check_mask("mask", self.gsl.mask, problems);
            problems.within("queue", |problems| self.gsl.queue.check(problems));
            problems.within("error", |problems| self.gsl.error.check(problems));
            problems.within("choice", |problems| self.gsl.choice.check(problems));
        });
        if self.sites.len() < 2 {
            let count = self.sites.len();
            problems.add("sites", format!("{count} sites have nobody to talk to; allowed: at least two"));
        }
        problems.within("routing", |problems| {
            if let Some(balance) = &self.routing.balance {
                let antennas = self.sites.values().map(|site| self.antennas(site)).max().unwrap_or(1);
                problems.within("balance", |problems| balance.check(antennas, problems));
                if self.routing.forwarding.is_some() {
                    problems.add("balance", "ways are given by forwarding already; allowed: one of them");
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
                    site.mask.into_iter().for_each(|mask| check_mask("mask", mask, problems));
                });
            }
        });
    }
}

fn check_mask(key: &str, mask: Angle, problems: &mut Problems) {
    if !(-5.0..90.0).contains(&mask.degrees()) {
        problems.add(key, format!("{mask} is not a mask; allowed: -5 deg to below 90 deg"));
    }
}
