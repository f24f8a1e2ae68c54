//! A constellation at given times, for figures and tests: positions of its satellites, its links,
//! and the paths between sites. It has the topology and the routes of a run, without packets.

use super::config::Config;
use super::forwarding::{text_of, State};
use super::routes::{light_time, Exit, Hop, Routes};
use super::topology::{seconds, Ends, Isl, Parts, SiteParts, Topology};
use bentpipe_core::{Span, Time};
use bentpipe_orbit::observer::{EarthRotation, Observer};
use bentpipe_orbit::vector::Vector;
use serde::Serialize;

/// A constellation that advances in time.
pub struct View {
    topology: Topology,
    routes: Routes,
    rotation: EarthRotation,
    sites: Vec<String>,
}

/// The state at one time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frame {
    /// Seconds since the start.
    pub time: f64,
    /// Earth-fixed positions in metres, by satellite.
    pub positions: Vec<Vector>,
    /// Numbers of the inter-satellite links that are up.
    pub up: Vec<u32>,
    /// Satellites that serve each site, by antenna.
    pub serving: Vec<Vec<Option<u32>>>,
    /// The path between each requested pair of sites, or `None` if there is no path.
    pub paths: Vec<Option<Path>>,
}

/// A path between two sites.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Path {
    /// The satellites on the path, in order.
    pub satellites: Vec<u32>,
    /// Propagation delay in seconds at the present distances.
    pub delay: f64,
}

impl Config {
    /// Returns the topology at the start of the run.
    ///
    /// # Panics
    /// If the configuration has not passed [`Config::check`].
    pub fn topology(&self) -> Topology {
        let (satellites, neighbours) = self.fleet();
        let rotation = self.rotation();
        let parts = |site: &super::GroundSite| SiteParts {
            observer: Observer::new(&site.site(), rotation),
            mask: self.mask(site),
            antennas: self.antennas(site),
            others: Vec::new(),
        };
        Topology::new(Parts {
            start: self.epoch,
            satellites,
            neighbours,
            sites: self.sites.values().map(parts).collect(),
            isl_rules: self.isl.clone(),
            choice: self.gsl.choice.clone(),
        })
    }

    /// Creates the routes to destinations with these exits.
    pub fn routes(&self, topology: &Topology, exits: Vec<Vec<Exit>>) -> Routes {
        let refresh = Some(self.routing.refresh).filter(|every| *every > Span::ZERO);
        let mut routes = Routes::new(topology, self.routing.metric, refresh, exits);
        if let Some(forwarding) = &self.routing.forwarding {
            let sites = self.sites.keys().map(String::as_str).collect();
            routes.import(forwarding.clone(), sites, topology);
        }
        routes
    }
}

impl View {
    /// Creates the view at the start of the run. The configuration must be valid.
    pub fn new(config: &Config) -> View {
        let topology = config.topology();
        let exits =
            (0..topology.sites.len() as u32).map(|site| vec![Exit { site, delay_beyond: Span::ZERO }]);
        let routes = config.routes(&topology, exits.collect());
        let sites = config.sites.keys().cloned().collect();
        View { topology, routes, rotation: config.rotation(), sites }
    }

    /// Returns the names of the satellites.
    pub fn satellites(&self) -> Vec<&str> {
        self.topology.satellites.iter().map(|satellite| satellite.name.as_str()).collect()
    }

    /// Returns the ends of all inter-satellite links that are up at any time.
    pub fn links(&self) -> Vec<(u32, u32)> {
        self.topology.isls.iter().map(|isl| isl.ends).collect()
    }

    /// Advances to `now`, which must not be before the time of the last frame, and returns the
    /// state.
    pub fn frame(&mut self, now: Time, pairs: &[(usize, usize)]) -> Frame {
        while self.topology.advance(now).is_some() {}
        let t = seconds(now);
        let Topology { satellites, isls, sites, .. } = &self.topology;
        let fixed = |position: Vector| self.rotation.earth_fixed(&position, t);
        let is_up = |(number, isl): (usize, &Isl)| isl.up.then_some(number as u32);
        Frame {
            time: t,
            positions: satellites.iter().map(|satellite| fixed(satellite.position(t))).collect(),
            up: isls.iter().enumerate().filter_map(is_up).collect(),
            serving: sites.iter().map(|site| site.serving.clone()).collect(),
            paths: pairs.iter().map(|(from, to)| self.path(now, *from, *to)).collect(),
        }
    }

    /// Advances to `now` and returns the forwarding state for all sites, as text in the format of
    /// [`super::forwarding`].
    pub fn forwarding(&mut self, now: Time) -> String {
        while self.topology.advance(now).is_some() {}
        let mut state = State::new();
        for (number, site) in self.sites.iter().enumerate() {
            for satellite in 0..self.topology.satellites.len() {
                let next = match self.routes.hop(number, satellite as u32, now, &self.topology) {
                    Hop::None => continue,
                    Hop::Down { .. } => None,
                    Hop::Isl { to, .. } => Some(self.topology.satellites[to as usize].name.clone()),
                };
                state.insert((site.clone(), self.topology.satellites[satellite].name.clone()), next);
            }
        }
        text_of(now, &state)
    }

    /// Returns the shortest path over any satellite that serves `from`.
    fn path(&mut self, now: Time, from: usize, to: usize) -> Option<Path> {
        let t = seconds(now);
        let topology = &self.topology;
        let Topology { satellites, sites, .. } = topology;
        let tree = self.routes.tree(to, now, topology);
        let serving = sites[from].serving.iter().flatten();
        let mut at = *serving.min_by_key(|satellite| tree.paths.costs[**satellite as usize])?;
        let range = |site: usize, satellite: u32| {
            light_time(sites[site].observer.range(&satellites[satellite as usize], t))
        };
        let (mut delay, mut over) = (range(from, at), vec![at]);
        loop {
            match self.routes.hop_in(to, at) {
                Hop::None => return None,
                Hop::Down { .. } => {
                    let delay = (delay + range(to, at)).as_secs_f64();
                    return Some(Path { satellites: over, delay });
                }
                Hop::Isl { arc, to } => {
                    delay += light_time(topology.length(Ends::Isl(arc / 2), t));
                    at = to;
                    over.push(at);
                }
            }
        }
    }
}
