//! Trees of least cost over the links between satellites, towards the satellites that serve a destination.
//!
//! A tree is grown by Dijkstra's algorithm, or derived from an earlier one: satellites move little between two refreshes, so
//! that few next hops change. Each satellite first gets the cost of its former path in the present state. That is an
//! upper bound, and it is the least cost once no link offers less; Dijkstra's algorithm then runs from the satellites
//! to which a link does. Both give the same tree: costs are unique, and of several next hops with the same cost a
//! satellite takes the way down, otherwise the neighbour with the least cost, or the lowest number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cost of a path: what is minimised, and below it what decides among equals.
pub type Cost = u128;

/// The cost where there is no path.
pub const UNREACHED: Cost = Cost::MAX;

/// A cost that has not been determined yet.
const UNKNOWN: Cost = Cost::MAX - 1;

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

/// A satellite from which a way leads down to the destination.
#[derive(Clone, Copy, Debug)]
pub struct Root {
    /// Number of the satellite.
    pub satellite: u32,
    /// Cost of the way down.
    pub cost: Cost,
    /// The link from the satellite down to the destination.
    pub hop: Hop,
}

/// Next hop and cost of every satellite.
pub struct Paths {
    /// The next hop by satellite.
    pub hops: Vec<Hop>,
    /// The cost of the path to the destination by satellite.
    pub costs: Vec<Cost>,
}

/// The links that may exist between satellites.
pub struct Graph {
    /// The two satellites of each link.
    ends: Vec<(u32, u32)>,
    /// Neighbour and link of each edge, satellite by satellite.
    edges: Vec<(u32, u32)>,
    /// Index of each satellite's first edge; one more entry than satellites.
    offsets: Vec<u32>,
}

impl Paths {
    /// No path from any of `count` satellites.
    pub fn none(count: usize) -> Paths {
        Paths { hops: vec![Hop::None; count], costs: vec![UNREACHED; count] }
    }
}

impl Graph {
    /// Creates the graph of `count` satellites with links between these.
    pub fn new(count: usize, ends: Vec<(u32, u32)>) -> Graph {
        let mut of_satellite = vec![Vec::new(); count];
        for (&(a, b), isl) in ends.iter().zip(0..) {
            of_satellite[a as usize].push((b, isl));
            of_satellite[b as usize].push((a, isl));
        }
        let mut offsets = vec![0];
        let mut edges = Vec::new();
        for list in of_satellite {
            edges.extend(list);
            offsets.push(edges.len() as u32);
        }
        Graph { ends, edges, offsets }
    }

    /// Neighbours of a satellite, and the links to them.
    #[inline]
    pub fn edges_of(&self, satellite: u32) -> &[(u32, u32)] {
        &self.edges[self.offsets[satellite as usize] as usize..self.offsets[satellite as usize + 1] as usize]
    }

    /// The satellite at the other end of a link.
    #[inline]
    pub fn other_end(&self, isl: u32, satellite: u32) -> u32 {
        let (a, b) = self.ends[isl as usize];
        a ^ b ^ satellite
    }

    /// Grows the paths from the roots over the satellites that are `free`. `weights` are the costs of the
    /// links, [`UNREACHED`] for those that are down; all others are greater than 0.
    pub fn grow(&self, paths: &mut Paths, roots: &[Root], weights: &[Cost], free: impl Fn(u32) -> bool) {
        paths.hops.fill(Hop::None);
        paths.costs.fill(UNREACHED);
        let mut queue = BinaryHeap::new();
        for root in roots.iter().filter(|root| free(root.satellite)) {
            let known = &mut paths.costs[root.satellite as usize];
            if root.cost < *known {
                *known = root.cost;
                paths.hops[root.satellite as usize] = root.hop;
                queue.push(Reverse((root.cost, root.satellite)));
            }
        }
        while let Some(Reverse((known, satellite))) = queue.pop() {
            if known != paths.costs[satellite as usize] {
                continue;
            }
            for &(from, isl) in self.edges_of(satellite) {
                let weight = weights[isl as usize];
                if weight == UNREACHED || !free(from) {
                    continue;
                }
                if known + weight < paths.costs[from as usize] {
                    paths.costs[from as usize] = known + weight;
                    paths.hops[from as usize] = Hop::Isl(isl);
                    queue.push(Reverse((known + weight, from)));
                }
            }
        }
    }

    /// Derives the paths in the present state from those of an earlier state.
    pub fn renew(&self, paths: &mut Paths, roots: &[Root], weights: &[Cost]) {
        self.follow_former(paths, roots, weights);
        let mut queue = BinaryHeap::new();
        for satellite in 0..paths.hops.len() as u32 {
            let (cost, hop) = self.best(satellite, paths, roots, weights);
            paths.hops[satellite as usize] = hop;
            if cost < paths.costs[satellite as usize] {
                paths.costs[satellite as usize] = cost;
                queue.push(Reverse((cost, satellite)));
            }
        }
        let mut changed = Vec::new();
        while let Some(Reverse((known, satellite))) = queue.pop() {
            if known != paths.costs[satellite as usize] {
                continue;
            }
            changed.push(satellite);
            for &(from, isl) in self.edges_of(satellite) {
                let weight = weights[isl as usize];
                if weight != UNREACHED && known + weight < paths.costs[from as usize] {
                    paths.costs[from as usize] = known + weight;
                    queue.push(Reverse((known + weight, from)));
                }
            }
        }
        for satellite in changed {
            paths.hops[satellite as usize] = self.best(satellite, paths, roots, weights).1;
            for &(beside, _) in self.edges_of(satellite) {
                paths.hops[beside as usize] = self.best(beside, paths, roots, weights).1;
            }
        }
    }

    /// Sets the costs to those of the former paths in the present state.
    fn follow_former(&self, paths: &mut Paths, roots: &[Root], weights: &[Cost]) {
        let Paths { hops, costs } = paths;
        costs.fill(UNKNOWN);
        let mut behind = Vec::new();
        for satellite in 0..hops.len() as u32 {
            let mut at = satellite;
            let mut cost = loop {
                if costs[at as usize] != UNKNOWN {
                    break costs[at as usize];
                }
                behind.push(at);
                match hops[at as usize] {
                    Hop::Isl(isl) => at = self.other_end(isl, at),
                    // The way down is not part of the path, so that the last satellite's cost follows.
                    _ => break UNKNOWN,
                }
            };
            while let Some(satellite) = behind.pop() {
                let weight = match hops[satellite as usize] {
                    Hop::Isl(isl) => weights[isl as usize],
                    _ => UNREACHED,
                };
                cost = if cost < UNKNOWN && weight != UNREACHED { cost + weight } else { UNREACHED };
                for root in roots.iter().filter(|root| root.satellite == satellite) {
                    cost = cost.min(root.cost);
                }
                costs[satellite as usize] = cost;
            }
        }
    }

    /// The least cost of a satellite by the costs of its neighbours, and its next hop.
    #[inline]
    fn best(&self, satellite: u32, paths: &Paths, roots: &[Root], weights: &[Cost]) -> (Cost, Hop) {
        let (mut best, mut over, mut hop) = (UNREACHED, (UNREACHED, 0), Hop::None);
        for &(to, isl) in self.edges_of(satellite) {
            let (onwards, weight) = (paths.costs[to as usize], weights[isl as usize]);
            if onwards == UNREACHED || weight == UNREACHED {
                continue;
            }
            let cost = onwards + weight;
            if cost < best || (cost == best && (onwards, to) < over) {
                (best, over, hop) = (cost, (onwards, to), Hop::Isl(isl));
            }
        }
        let mut down = UNREACHED;
        for root in roots.iter().filter(|root| root.satellite == satellite) {
            if root.cost <= best && root.cost < down {
                (best, down, hop) = (root.cost, root.cost, root.hop);
            }
        }
        (best, hop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SATELLITES: u32 = 24;

    /// Costs with few different values, so that paths often cost the same, of links of which some are down.
    fn weights(links: usize) -> impl Strategy<Value = Vec<Cost>> {
        let weight = prop_oneof![1 => Just(UNREACHED), 6 => (1u128..5).prop_map(|delay| delay << 64 | 1)];
        prop::collection::vec(weight, links)
    }

    fn roots() -> impl Strategy<Value = Vec<Root>> {
        let root = |(satellite, cost, antenna): (u32, u128, u32)| Root {
            satellite,
            cost: cost << 64 | 1,
            hop: Hop::Down { site: 0, antenna },
        };
        prop::collection::vec((0..SATELLITES, 0u128..9, 0u32..4).prop_map(root), 0..4)
    }

    proptest! {
        #[test]
        fn paths_derived_from_former_ones_are_those_grown_from_nothing(
            ends in prop::collection::vec((0..SATELLITES, 0..SATELLITES), 40)
                .prop_map(|ends| ends.into_iter().filter(|(a, b)| a != b).collect::<Vec<_>>()),
            states in prop::collection::vec((weights(40), roots()), 2..8),
        ) {
            let graph = Graph::new(SATELLITES as usize, ends);
            let (mut renewed, mut grown) = (Paths::none(24), Paths::none(24));
            for (weights, roots) in states {
                graph.renew(&mut renewed, &roots, &weights);
                graph.grow(&mut grown, &roots, &weights, |_| true);
                prop_assert_eq!(&renewed.costs, &grown.costs);
                prop_assert_eq!(&renewed.hops, &grown.hops);
            }
        }
    }
}
