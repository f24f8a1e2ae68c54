//! Routing: the path of minimum delay, or of the minimum number of hops, from every satellite to
//! each destination.
//!
//! The paths to a destination form a tree ([`super::graph`]). Its roots are the satellites that
//! serve the sites through which the destination is reached. The tree is computed when a packet
//! first needs it, with the topology and the distances at one time: the last change of the links on
//! which the tree depends, or the last refresh, whichever is later. The tree therefore depends
//! neither on the time of its computation nor on other packets.
//!
//! Each hop of a tree leads to a satellite that is strictly nearer to the destination, so a valid
//! tree has no loops.

use super::forwarding::{word, Forwarding};
use super::graph::{Graph, Paths, Root, NO_HOP, UNREACHED};
use super::topology::{seconds, Topology};
use bentpipe_core::{Span, Time};
use bentpipe_orbit::vector::{length, minus, Vector};
use bentpipe_stage::DropReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

pub use super::graph::{Cost, Hop};
pub use super::ranging::light_time;

/// No satellite that serves the destination's site can be reached.
pub const NO_PATH: DropReason = DropReason::new("no path over satellites");

/// The cost that paths minimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Propagation delay. The number of hops decides between paths of equal delay.
    #[default]
    Delay,
    /// The number of hops. The propagation delay decides between paths of equal numbers of hops.
    Hops,
}

/// A path from a site to a destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The antenna of the first hop, and the satellite that serves it.
    pub first: (u32, u32),
    /// The next hop from each of the path's satellites.
    pub hops: BTreeMap<u32, Hop>,
    /// Cost of the whole path.
    pub cost: Cost,
    /// Propagation delay of the whole path.
    pub delay: Span,
}

/// A site through which a destination is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Number of the site.
    pub site: u32,
    /// Delay from the site to the destination.
    pub delay_beyond: Span,
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
    /// The state for which the tree was computed.
    pub stamp: Stamp,
    /// The next hops, for [`Routes::hop_in`], and the cost by satellite, from which
    /// [`Metric::delay_of`] and [`Metric::hops_of`] derive delay and hops.
    pub paths: Paths,
}

/// The trees of all destinations.
pub struct Routes {
    metric: Metric,
    refresh: Option<Span>,
    exits: Vec<Vec<Exit>>,
    trees: Vec<Option<Tree>>,
    /// The steps of all trees, ordered by satellite and then by tree. A hop reads no other part of
    /// its tree.
    steps: Vec<u8>,
    /// Number of satellites.
    satellites: usize,
    /// The present period, in which there is no later refresh and no change of the topology.
    validity: Validity,
    /// For each tree, the number of the last period in which it was valid.
    valid: Vec<u64>,
    graph: Graph,
    weights: Weights,
    imported: Option<Imported>,
}

/// A period in which no tree can become invalid.
#[derive(Default)]
struct Validity {
    /// Number of the period, from 1.
    number: u64,
    /// Number of changes of the topology before the period.
    changes: u64,
    from: Time,
    until: Time,
}

/// Imported forwarding state.
struct Imported {
    forwarding: Forwarding,
    /// Names of the sites, as single words.
    sites: Vec<String>,
    /// Numbers of the satellites, by their names as single words.
    numbers: BTreeMap<String, u32>,
    /// Names of the satellites as single words, by number.
    names: Vec<String>,
}

/// Costs of all inter-satellite links at one time.
#[derive(Default)]
struct Weights {
    at: Option<(Time, u64)>,
    positions: Vec<Vector>,
    costs: Vec<Cost>,
}

impl Routes {
    /// Creates the routes for destinations with these exits.
    pub fn new(topology: &Topology, metric: Metric, refresh: Option<Span>, exits: Vec<Vec<Exit>>) -> Routes {
        let ends = topology.isls.iter().map(|isl| isl.ends).collect();
        let trees = exits.iter().map(|_| None).collect();
        Routes {
            metric,
            refresh,
            trees,
            steps: vec![NO_HOP; exits.len() * topology.satellites.len()],
            satellites: topology.satellites.len(),
            validity: Validity::default(),
            valid: vec![0; exits.len()],
            exits,
            graph: Graph::new(topology.satellites.len(), ends),
            weights: Weights::default(),
            imported: None,
        }
    }

    /// Uses the paths of `forwarding` instead of computed paths. `sites` are the names of the
    /// sites.
    pub fn import(&mut self, forwarding: Forwarding, sites: Vec<&str>, topology: &Topology) {
        let names: Vec<String> = topology.satellites.iter().map(|satellite| word(&satellite.name)).collect();
        let numbers = names.iter().zip(0..).map(|(name, number)| (name.clone(), number)).collect();
        let sites = sites.into_iter().map(word).collect();
        self.imported = Some(Imported { forwarding, sites, numbers, names });
    }

    /// Returns the next hop from a satellite to a destination at `now`.
    #[inline]
    pub fn hop(&mut self, destination: usize, satellite: u32, now: Time, topology: &Topology) -> Hop {
        self.validate_tree(destination, now, topology);
        self.hop_in(destination, satellite)
    }

    /// Returns the next hop in the tree of a destination, even if the tree is invalid;
    /// [`Hop::None`] if there is no tree yet.
    #[inline]
    pub fn hop_in(&self, destination: usize, satellite: u32) -> Hop {
        let step = self.steps[destination * self.satellites + satellite as usize];
        self.graph.hop_by(step, satellite, || {
            &self.trees[destination].as_ref().expect("a destination with steps has a tree").paths
        })
    }

    /// Returns the tree of a destination that is valid at `now`.
    #[inline]
    pub fn tree(&mut self, destination: usize, now: Time, topology: &Topology) -> &Tree {
        self.validate_tree(destination, now, topology);
        self.trees[destination].as_ref().expect("the tree has just been validated")
    }

    #[inline]
    fn validate_tree(&mut self, destination: usize, now: Time, topology: &Topology) {
        let Validity { number, changes, from, until } = self.validity;
        if now >= until || now < from || changes != topology.changes || self.valid[destination] != number {
            self.update(destination, now, topology);
        }
    }

    /// Makes the tree of a destination valid at `now`.
    #[cold]
    fn update(&mut self, destination: usize, now: Time, topology: &Topology) {
        let (refresh, from, until) = match (&self.imported, self.refresh) {
            (Some(imported), _) => {
                (imported.forwarding.at(now).map_or(0, |state| state as u64 + 1), now, now)
            }
            (None, None) => (0, Time::ZERO, Time::MAX),
            (None, Some(every)) => {
                let refresh = now.as_nanos() / every.as_nanos();
                (refresh, Time::ZERO + every * refresh, Time::ZERO + every * (refresh + 1))
            }
        };
        let changes = topology.changes;
        if (from, until, changes) != (self.validity.from, self.validity.until, self.validity.changes) {
            self.validity = Validity { number: self.validity.number + 1, changes, from, until };
        }
        self.valid[destination] = self.validity.number;
        let exits = &self.exits[destination];
        let stamp = Stamp {
            isls: topology.isl_version,
            exits: exits.iter().map(|exit| topology.sites[exit.site as usize].version).sum(),
            refresh,
        };
        if self.trees[destination].as_ref().is_none_or(|tree| tree.stamp != stamp) {
            match self.imported.is_some() {
                true => self.read_imported(destination, stamp, topology),
                false => self.compute(destination, stamp, topology),
            }
        }
    }

    /// Reads the hops of the imported state whose links are up. Satellites whose path loops get no
    /// hop.
    #[cold]
    fn read_imported(&mut self, destination: usize, stamp: Stamp, topology: &Topology) {
        let imported = self.imported.as_ref().expect("called with an imported state");
        let count = topology.satellites.len();
        let mut paths = Paths::none(count);
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
                            let edges = self.graph.edges_of(satellite as u32).iter();
                            let mut up = edges.filter(|edge| topology.isls[edge.isl() as usize].up);
                            up.find(|edge| edge.to == to).map(|edge| Hop::Isl { arc: edge.arc, to })
                        }
                    };
                    if let Some(hop) = hop {
                        self.graph.set_hop(&mut paths, satellite as u32, hop);
                        break;
                    }
                }
            }
        }
        for satellite in 0..count as u32 {
            let (mut at, mut hops) = (satellite, 1);
            while let Hop::Isl { to, .. } = self.graph.hop(&paths, at) {
                at = to;
                hops += 1;
                if hops > count as u64 {
                    break;
                }
            }
            match self.graph.hop(&paths, at) {
                Hop::Down { .. } => paths.costs[satellite as usize] = self.metric.cost(hops, hops),
                // The path ends before the site, or loops.
                _ => self.graph.set_hop(&mut paths, satellite, Hop::None),
            }
        }
        self.store_tree(destination, Tree { stamp, paths });
    }

    /// Sets the tree of a destination.
    fn store_tree(&mut self, destination: usize, tree: Tree) {
        let first = destination * self.satellites;
        self.steps[first..first + self.satellites].copy_from_slice(&tree.paths.steps);
        self.trees[destination] = Some(tree);
    }

    fn compute(&mut self, destination: usize, stamp: Stamp, topology: &Topology) {
        let at = self.snapshot_time(destination, stamp, topology);
        self.weights.set(at, self.metric, topology);
        let roots = self.roots(destination, at, topology);
        let paths = match self.trees[destination].take() {
            Some(Tree { mut paths, .. }) => {
                self.graph.update_paths(&mut paths, &roots, &self.weights.costs);
                paths
            }
            None => {
                let mut paths = Paths::none(topology.satellites.len());
                self.graph.compute(&mut paths, &roots, &self.weights.costs, |_| true);
                paths
            }
        };
        self.store_tree(destination, Tree { stamp, paths });
    }

    /// Returns the time for whose distances a state is valid.
    fn snapshot_time(&self, destination: usize, stamp: Stamp, topology: &Topology) -> Time {
        let refreshed = self.refresh.map_or(Time::ZERO, |every| Time::ZERO + every * stamp.refresh);
        let changed = self.exits[destination].iter().map(|exit| topology.sites[exit.site as usize].changed);
        changed.fold(refreshed.max(topology.isl_changed), Time::max)
    }

    /// Returns the satellites that serve a destination.
    fn roots(&self, destination: usize, at: Time, topology: &Topology) -> Vec<Root> {
        let mut roots = Vec::new();
        for exit in &self.exits[destination] {
            let site = &topology.sites[exit.site as usize];
            for (antenna, satellite) in site.serving.iter().enumerate() {
                let Some(satellite) = *satellite else { continue };
                let range = site.observer.range(&topology.satellites[satellite as usize], seconds(at));
                let cost = self.metric.cost((light_time(range) + exit.delay_beyond).as_nanos(), 1);
                let hop = Hop::Down { site: exit.site, antenna: antenna as u32 };
                roots.push(Root { satellite, cost, hop });
            }
        }
        roots
    }

    /// Returns paths from a site to a destination that share no satellite, in the state of the
    /// destination's tree at `now`: the shortest path first, then the shortest path over the
    /// remaining satellites, up to `max` paths.
    pub fn disjoint_paths(
        &mut self,
        destination: usize,
        site: u32,
        max: usize,
        now: Time,
        topology: &Topology,
    ) -> Vec<Path> {
        let stamp = self.tree(destination, now, topology).stamp;
        let ground = &topology.sites[site as usize];
        let at = self.snapshot_time(destination, stamp, topology).max(ground.changed);
        self.weights.set(at, self.metric, topology);
        let roots = self.roots(destination, at, topology);
        let mut paths = Paths::none(topology.satellites.len());
        let mut used = BTreeSet::new();
        let mut disjoint = Vec::new();
        while disjoint.len() < max {
            let free = |satellite| !used.contains(&satellite);
            self.graph.compute(&mut paths, &roots, &self.weights.costs, free);
            let up = |(antenna, satellite): (usize, &Option<u32>)| {
                let satellite = (*satellite)?;
                let onwards = paths.costs[satellite as usize];
                let range = ground.observer.range(&topology.satellites[satellite as usize], seconds(at));
                let more = self.metric.cost(light_time(range).as_nanos(), 1);
                (onwards != UNREACHED).then(|| (onwards + more, (antenna as u32, satellite)))
            };
            let Some((cost, first)) = ground.serving.iter().enumerate().filter_map(up).min() else { break };
            let mut hops = BTreeMap::new();
            let mut satellite = first.1;
            loop {
                let hop = self.graph.hop(&paths, satellite);
                hops.insert(satellite, hop);
                let Hop::Isl { to, .. } = hop else { break };
                satellite = to;
            }
            used.extend(hops.keys().copied());
            disjoint.push(Path { first, hops, cost, delay: Span::from_nanos(self.metric.delay_of(cost)) });
        }
        disjoint
    }
}

/// Number of bits of a cost for the number of hops. A path has at most as many hops as there are
/// satellites.
const HOP_BITS: u32 = 16;
/// Number of bits of a cost for the delay in ns, up to 19.5 hours.
const DELAY_BITS: u32 = 46;
/// Maximum delay of one hop in ns; longer delays count as this one.
const LONGEST: u64 = 1 << (DELAY_BITS - 1);

impl Metric {
    /// Returns the cost of `hops` hops with this delay in ns. Costs can be added; both parts add up
    /// separately.
    fn cost(self, delay: u64, hops: u64) -> Cost {
        let delay = delay.min(LONGEST);
        match self {
            Metric::Delay => delay << HOP_BITS | hops,
            Metric::Hops => hops << DELAY_BITS | delay,
        }
    }

    /// Returns the delay of a path in ns.
    pub fn delay_of(self, cost: Cost) -> u64 {
        match self {
            Metric::Delay => cost >> HOP_BITS,
            Metric::Hops => cost & ((1 << DELAY_BITS) - 1),
        }
    }

    /// Returns the number of hops of a path, including the downlink.
    pub fn hops_of(self, cost: Cost) -> u64 {
        match self {
            Metric::Delay => cost & ((1 << HOP_BITS) - 1),
            Metric::Hops => cost >> DELAY_BITS,
        }
    }
}

impl Weights {
    fn set(&mut self, at: Time, metric: Metric, topology: &Topology) {
        if self.at == Some((at, topology.isl_version)) {
            return;
        }
        self.at = Some((at, topology.isl_version));
        let t = seconds(at);
        self.positions.clear();
        self.costs.clear();
        if topology.isls.is_empty() {
            return;
        }
        self.positions.extend(topology.satellites.iter().map(|satellite| satellite.position(t)));
        self.costs.extend(topology.isls.iter().map(|isl| {
            let (a, b) = isl.ends;
            let chord = minus(&self.positions[a as usize], &self.positions[b as usize]);
            if isl.up {
                metric.cost(light_time(length(&chord)).as_nanos(), 1)
            } else {
                UNREACHED
            }
        }));
    }
}
