//! Routing: for each destination, the path of minimum delay, or of fewest hops, from every satellite.
//!
//! The paths to a destination form a tree, computed by Dijkstra's algorithm from the satellites that serve
//! the sites behind which the destination lies. It is computed when a packet first needs it, with the
//! topology and the distances of one moment: that of the last change of the links on which it depends, or of
//! the last refresh, whichever is later. The result therefore depends neither on when it is computed nor on
//! other packets.
//!
//! Each hop of a tree leads to a satellite that is strictly nearer, so there are no loops while it is valid.

use super::balance::Path;
use super::forwarding::{word, Forwarding};
use super::topology::{seconds, Topology};
use crate::orbit::earth::SPEED_OF_LIGHT;
use crate::orbit::vector::{length, minus, Vector};
use bentpipe_core::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// The cost that paths minimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Propagation delay; among equal paths, the number of hops.
    #[default]
    Delay,
    /// The number of hops; among equal paths, propagation delay.
    Hops,
}

/// A site through which a destination is reached, and the delay beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Number of the site.
    pub site: u32,
    /// Delay from the site to the destination.
    pub beyond: Span,
}

/// The next hop of a packet at a satellite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// There is no path.
    None,
    /// Over the inter-satellite link of this number.
    Isl(u32),
    /// Down to an antenna of a site.
    Down {
        /// Number of the site.
        site: u32,
        /// Number of its antenna.
        antenna: u32,
    },
}

/// The state of the network for which a tree was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    isls: u64,
    exits: u64,
    refresh: u64,
}

/// The paths to one destination.
pub struct Tree {
    /// The state for which it was computed.
    pub stamp: Stamp,
    /// The next hop by satellite.
    pub hops: Vec<Hop>,
    /// Delay to the destination in ns and number of hops, by satellite.
    pub costs: Vec<Cost>,
}

/// Cost of a path: delay in ns and number of hops, in the order of the metric.
pub type Cost = (u64, u64);

const UNREACHED: Cost = (u64::MAX, u64::MAX);

/// The trees of all destinations.
pub struct Routes {
    metric: Metric,
    refresh: Option<Span>,
    exits: Vec<Vec<Exit>>,
    trees: Vec<Option<Tree>>,
    /// Neighbour and link of each edge, satellite by satellite.
    edges: Vec<(u32, u32)>,
    /// Index of each satellite's first edge; one more entry than satellites.
    offsets: Vec<u32>,
    weights: Weights,
    imported: Option<Imported>,
}

/// Forwarding state from elsewhere.
struct Imported {
    forwarding: Forwarding,
    /// Names of the sites, as single words.
    sites: Vec<String>,
    /// Satellites by their names as single words, and vice versa.
    numbers: BTreeMap<String, u32>,
    names: Vec<String>,
}

/// Delays of all inter-satellite links at one moment.
#[derive(Default)]
struct Weights {
    at: Option<(Time, u64)>,
    positions: Vec<Vector>,
    /// Delays in ns; those of links that are down are not used.
    delays: Vec<u64>,
}

/// The time that light takes for a distance in metres.
#[inline]
pub fn light_time(metres: f64) -> Span {
    Span::from_secs_f64(metres / SPEED_OF_LIGHT)
}

impl Routes {
    /// Creates the routes for destinations with these exits.
    pub fn new(topology: &Topology, metric: Metric, refresh: Option<Span>, exits: Vec<Vec<Exit>>) -> Routes {
        let mut of_satellite = vec![Vec::new(); topology.satellites.len()];
        for (index, isl) in topology.isls.iter().enumerate() {
            let (a, b) = isl.ends;
            of_satellite[a as usize].push((b, index as u32));
            of_satellite[b as usize].push((a, index as u32));
        }
        let mut offsets = vec![0];
        let mut edges = Vec::new();
        for list in of_satellite {
            edges.extend(list);
            offsets.push(edges.len() as u32);
        }
        let trees = exits.iter().map(|_| None).collect();
        Routes { metric, refresh, exits, trees, edges, offsets, weights: Weights::default(), imported: None }
    }

    /// Uses the paths of `forwarding` instead of computing them, for sites of these names.
    pub fn import(&mut self, forwarding: Forwarding, sites: Vec<&str>, topology: &Topology) {
        let names: Vec<String> = topology.satellites.iter().map(|satellite| word(&satellite.name)).collect();
        let numbers = names.iter().zip(0..).map(|(name, number)| (name.clone(), number)).collect();
        let sites = sites.into_iter().map(word).collect();
        self.imported = Some(Imported { forwarding, sites, numbers, names });
    }

    /// Returns the tree of a destination that is valid at `now`.
    #[inline]
    pub fn tree(&mut self, destination: usize, now: Time, topology: &Topology) -> &Tree {
        let refresh = match &self.imported {
            Some(imported) => imported.forwarding.at(now).map_or(0, |state| state as u64 + 1),
            None => self.refresh.map_or(0, |every| now.as_nanos() / every.as_nanos()),
        };
        let exits = &self.exits[destination];
        let stamp = Stamp {
            isls: topology.isl_version,
            exits: exits.iter().map(|exit| topology.sites[exit.site as usize].version).sum(),
            refresh,
        };
        if self.trees[destination].as_ref().is_none_or(|tree| tree.stamp != stamp) {
            match self.imported.is_some() {
                true => self.look_up(destination, stamp, topology),
                false => self.compute(destination, stamp, topology),
            }
        }
        self.trees[destination].as_ref().expect("it has just been computed")
    }

    /// Looks up the hops of the imported state whose links exist. Satellites on circular paths get none.
    #[cold]
    fn look_up(&mut self, destination: usize, stamp: Stamp, topology: &Topology) {
        let imported = self.imported.as_ref().expect("there is a state");
        let count = topology.satellites.len();
        let mut tree = Tree { stamp, hops: vec![Hop::None; count], costs: vec![UNREACHED; count] };
        let mut next = vec![None; count];
        if let Some(state) = (stamp.refresh as usize).checked_sub(1) {
            let (_, state) = &imported.forwarding.states[state];
            for (satellite, name) in imported.names.iter().enumerate() {
                for exit in &self.exits[destination] {
                    let key = (imported.sites[exit.site as usize].clone(), name.clone());
                    let hop = match state.get(&key) {
                        None => continue,
                        Some(None) => {
                            let serving = &topology.sites[exit.site as usize].serving;
                            let antenna = serving.iter().position(|one| *one == Some(satellite as u32));
                            antenna.map(|antenna| Hop::Down { site: exit.site, antenna: antenna as u32 })
                        }
                        Some(Some(to)) => {
                            let to = imported.numbers[to];
                            let edges = self.edges_of(satellite as u32).iter();
                            let mut up = edges.filter(|(_, isl)| topology.isls[*isl as usize].up);
                            next[satellite] = Some(to as usize);
                            up.find(|(other, _)| *other == to).map(|(_, isl)| Hop::Isl(*isl))
                        }
                    };
                    if let Some(hop) = hop {
                        tree.hops[satellite] = hop;
                        break;
                    }
                }
            }
        }
        for satellite in 0..count {
            let (mut at, mut hops) = (satellite, 1);
            while let Hop::Isl(_) = tree.hops[at] {
                at = next[at].expect("the hop leads to a satellite");
                hops += 1;
                if hops > count as u64 {
                    break;
                }
            }
            match tree.hops[at] {
                Hop::Down { .. } => tree.costs[satellite] = (hops, hops),
                // A dead end or a circle.
                _ => tree.hops[satellite] = Hop::None,
            }
        }
        self.trees[destination] = Some(tree);
    }

    #[cold]
    fn compute(&mut self, destination: usize, stamp: Stamp, topology: &Topology) {
        let at = self.moment(destination, stamp, topology);
        self.weights.set(at, topology);
        let count = topology.satellites.len();
        let mut tree = self.trees[destination].take().unwrap_or_else(|| Tree {
            stamp,
            hops: vec![Hop::None; count],
            costs: vec![UNREACHED; count],
        });
        tree.stamp = stamp;
        self.grow(&mut tree, destination, at, topology, |_| true);
        self.trees[destination] = Some(tree);
    }

    /// The time whose distances are valid in a state.
    fn moment(&self, destination: usize, stamp: Stamp, topology: &Topology) -> Time {
        let refreshed = self.refresh.map_or(Time::ZERO, |every| Time::ZERO + every * stamp.refresh);
        let changed = self.exits[destination].iter().map(|exit| topology.sites[exit.site as usize].changed);
        changed.fold(refreshed.max(topology.isl_changed), Time::max)
    }

    fn cost(&self, delay: u64, hops: u64) -> Cost {
        match self.metric {
            Metric::Delay => (delay, hops),
            Metric::Hops => (hops, delay),
        }
    }

    /// Runs Dijkstra's algorithm from the exits of a destination over the satellites that are `free`.
    fn grow(
        &self,
        tree: &mut Tree,
        destination: usize,
        at: Time,
        topology: &Topology,
        free: impl Fn(u32) -> bool,
    ) {
        tree.hops.fill(Hop::None);
        tree.costs.fill(UNREACHED);
        let mut queue = BinaryHeap::new();
        for exit in &self.exits[destination] {
            let site = &topology.sites[exit.site as usize];
            for (antenna, satellite) in site.serving.iter().enumerate() {
                let Some(satellite) = satellite.filter(|satellite| free(*satellite)) else { continue };
                let range = site.observer.range(&topology.satellites[satellite as usize], seconds(at));
                let down = self.cost((light_time(range) + exit.beyond).as_nanos(), 1);
                if down < tree.costs[satellite as usize] {
                    tree.costs[satellite as usize] = down;
                    tree.hops[satellite as usize] = Hop::Down { site: exit.site, antenna: antenna as u32 };
                    queue.push(Reverse((down, satellite)));
                }
            }
        }
        while let Some(Reverse((known, satellite))) = queue.pop() {
            if known != tree.costs[satellite as usize] {
                continue;
            }
            for &(from, isl) in self.edges_of(satellite) {
                let delay = self.weights.delays[isl as usize];
                if delay == u64::MAX || !free(from) {
                    continue;
                }
                let more = self.cost(delay, 1);
                let candidate = (known.0 + more.0, known.1 + more.1);
                if candidate < tree.costs[from as usize] {
                    tree.costs[from as usize] = candidate;
                    tree.hops[from as usize] = Hop::Isl(isl);
                    queue.push(Reverse((candidate, from)));
                }
            }
        }
    }

    fn edges_of(&self, satellite: u32) -> &[(u32, u32)] {
        &self.edges[self.offsets[satellite as usize] as usize..self.offsets[satellite as usize + 1] as usize]
    }

    /// Paths from a site to a destination that share no satellite, in the state of its tree at `now`: the
    /// shortest, then the shortest over the remaining satellites, up to a maximum.
    pub fn disjoint(
        &mut self,
        destination: usize,
        site: u32,
        most: usize,
        now: Time,
        topology: &Topology,
    ) -> Vec<Path> {
        let stamp = self.tree(destination, now, topology).stamp;
        let ground = &topology.sites[site as usize];
        let at = self.moment(destination, stamp, topology).max(ground.changed);
        self.weights.set(at, topology);
        let count = topology.satellites.len();
        let mut tree = Tree { stamp, hops: vec![Hop::None; count], costs: vec![UNREACHED; count] };
        let mut used = BTreeSet::new();
        let mut paths = Vec::new();
        while paths.len() < most {
            self.grow(&mut tree, destination, at, topology, |satellite| !used.contains(&satellite));
            let up = |(antenna, satellite): (usize, &Option<u32>)| {
                let satellite = (*satellite)?;
                let onwards = tree.costs[satellite as usize];
                let range = ground.observer.range(&topology.satellites[satellite as usize], seconds(at));
                let more = self.cost(light_time(range).as_nanos(), 1);
                let reached = onwards != UNREACHED;
                reached.then(|| ((onwards.0 + more.0, onwards.1 + more.1), (antenna as u32, satellite)))
            };
            let Some((cost, first)) = ground.serving.iter().enumerate().filter_map(up).min() else { break };
            let mut hops = BTreeMap::new();
            let mut satellite = first.1;
            loop {
                let hop = tree.hops[satellite as usize];
                hops.insert(satellite, hop);
                let Hop::Isl(isl) = hop else { break };
                let (a, b) = topology.isls[isl as usize].ends;
                satellite = a + b - satellite;
            }
            used.extend(hops.keys().copied());
            let delay = match self.metric {
                Metric::Delay => cost.0,
                Metric::Hops => cost.1,
            };
            paths.push(Path { first, hops, cost, delay: Span::from_nanos(delay) });
        }
        paths
    }
}

impl Weights {
    fn set(&mut self, at: Time, topology: &Topology) {
        if self.at == Some((at, topology.isl_version)) {
            return;
        }
        self.at = Some((at, topology.isl_version));
        let t = seconds(at);
        self.positions.clear();
        self.delays.clear();
        if topology.isls.is_empty() {
            return;
        }
        self.positions.extend(topology.satellites.iter().map(|satellite| satellite.position(t)));
        self.delays.extend(topology.isls.iter().map(|isl| {
            let (a, b) = isl.ends;
            let chord = minus(&self.positions[a as usize], &self.positions[b as usize]);
            if isl.up {
                light_time(length(&chord)).as_nanos()
            } else {
                u64::MAX
            }
        }));
    }
}
