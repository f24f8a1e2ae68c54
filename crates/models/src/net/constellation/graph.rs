//! Trees of least cost over the links between satellites, towards the satellites that serve a destination.
//!
//! A tree is grown by Dijkstra's algorithm, or derived from an earlier one: satellites move little between two refreshes, so
//! that few next hops change. Each satellite first gets the cost of its former path in the present state. That is an
//! upper bound, and it is the least cost once no link offers less; Dijkstra's algorithm then runs from the satellites
//! to which a link does. Both give the same tree: costs are unique, and of several next hops with the same cost a
//! satellite takes the way down, otherwise the neighbour with the least cost, or the lowest number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cost of a path: what is minimised, and below it what decides among equals. Every link and every way down costs something.
pub type Cost = u64;

/// The cost where there is no path, and of a link that is down: so large that no sum with it is less, and so small that a sum of two is a number.
pub const UNREACHED: Cost = Cost::MAX >> 1;

/// A cost that has not been determined yet.
const UNKNOWN: Cost = Cost::MAX;

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
    /// The satellites in an order in which each should follow its next hop.
    order: Vec<u32>,
}

/// The links that may exist between satellites.
pub struct Graph {
    /// The two satellites of each link.
    ends: Vec<(u32, u32)>,
    /// Neighbour and link of each edge, satellite by satellite.
    edges: Vec<(u32, u32)>,
    /// Index of each satellite's first edge; one more entry than satellites.
    offsets: Vec<u32>,
    /// Memory for computations.
    costs: Vec<Cost>,
    queue: BinaryHeap<Reverse<(Cost, u32)>>,
    doubtful: Vec<u32>,
    changed: Vec<u32>,
}

impl Paths {
    /// No path from any of `count` satellites.
    pub fn none(count: usize) -> Paths {
        Paths {
            hops: vec![Hop::None; count],
            costs: vec![UNREACHED; count],
            order: (0..count as u32).collect(),
        }
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
        let (costs, queue) = (vec![UNKNOWN; count], BinaryHeap::new());
        Graph { ends, edges, offsets, costs, queue, doubtful: Vec::new(), changed: Vec::new() }
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
                let offer = known + weights[isl as usize];
                if offer < paths.costs[from as usize] && free(from) {
                    paths.costs[from as usize] = offer;
                    paths.hops[from as usize] = Hop::Isl(isl);
                    queue.push(Reverse((offer, from)));
                }
            }
        }
    }

    /// Derives the paths in the present state from those of an earlier state.
    pub fn renew(&mut self, paths: &mut Paths, roots: &[Root], weights: &[Cost]) {
        let steps = self.follow_former(paths, roots, weights).unwrap_or_else(|| {
            let Paths { costs, order, .. } = &mut *paths;
            order.sort_unstable_by_key(|satellite| costs[*satellite as usize]);
            self.follow_former(paths, roots, weights).expect("the next hop costs less")
        });
        std::mem::swap(&mut paths.costs, &mut self.costs);
        let mut doubtful = std::mem::take(&mut self.doubtful);
        doubtful.clear();
        doubtful.extend(roots.iter().map(|root| root.satellite));
        let equal = self.compare(&paths.costs, weights, &mut doubtful);
        let mut queue = std::mem::take(&mut self.queue);
        for &satellite in &doubtful {
            let (cost, hop) = self.best(satellite, paths, roots, weights);
            paths.hops[satellite as usize] = hop;
            if cost < paths.costs[satellite as usize] {
                paths.costs[satellite as usize] = cost;
                queue.push(Reverse((cost, satellite)));
            }
        }
        let mut changed = std::mem::take(&mut self.changed);
        changed.clear();
        while let Some(Reverse((known, satellite))) = queue.pop() {
            if known != paths.costs[satellite as usize] {
                continue;
            }
            changed.push(satellite);
            for &(from, isl) in self.edges_of(satellite) {
                let offer = known + weights[isl as usize];
                if offer < paths.costs[from as usize] {
                    paths.costs[from as usize] = offer;
                    queue.push(Reverse((offer, from)));
                }
            }
        }
        if equal > steps {
            // Some satellite has the choice between equal paths, and any change may decide it.
            for satellite in 0..paths.hops.len() as u32 {
                paths.hops[satellite as usize] = self.best(satellite, paths, roots, weights).1;
            }
        } else {
            for &satellite in &changed {
                paths.hops[satellite as usize] = self.best(satellite, paths, roots, weights).1;
                for &(beside, _) in self.edges_of(satellite) {
                    paths.hops[beside as usize] = self.best(beside, paths, roots, weights).1;
                }
            }
        }
        (self.queue, self.doubtful, self.changed) = (queue, doubtful, changed);
    }

    /// Determines the costs of the former paths in the present state, from the roots on, and removes the hops of paths that
    /// have ended. Returns the number of links that are next hops; `None` if a satellite comes before its next hop.
    fn follow_former(&mut self, paths: &mut Paths, roots: &[Root], weights: &[Cost]) -> Option<usize> {
        let Paths { hops, order, .. } = paths;
        self.costs.fill(UNKNOWN);
        let mut steps = 0;
        for &satellite in &order[..] {
            let hop = &mut hops[satellite as usize];
            let cost = match *hop {
                Hop::Isl(isl) => {
                    let onwards = self.costs[self.other_end(isl, satellite) as usize];
                    if onwards == UNKNOWN {
                        return None;
                    }
                    onwards + weights[isl as usize]
                }
                _ => {
                    let here = roots.iter().filter(|root| root.satellite == satellite);
                    here.map(|root| root.cost).min().unwrap_or(UNREACHED)
                }
            };
            if cost >= UNREACHED {
                *hop = Hop::None;
            }
            steps += usize::from(matches!(hop, Hop::Isl(_)));
            self.costs[satellite as usize] = cost.min(UNREACHED);
        }
        Some(steps)
    }

    /// Adds to `doubtful` the satellites to which a link offers less than their cost. Returns the number of links and
    /// directions that offer just that, as every next hop does.
    fn compare(&self, costs: &[Cost], weights: &[Cost], doubtful: &mut Vec<u32>) -> usize {
        let mut equal = 0;
        for (&(a, b), weight) in self.ends.iter().zip(weights) {
            let (of_a, of_b) = (costs[a as usize], costs[b as usize]);
            let (to_a, to_b) = (of_b + weight, of_a + weight);
            equal += usize::from(to_a == of_a) + usize::from(to_b == of_b);
            if to_a < of_a {
                doubtful.push(a);
            } else if to_b < of_b {
                doubtful.push(b);
            }
        }
        equal
    }

    /// The least cost of a satellite by the costs of its neighbours, and its next hop.
    #[inline]
    fn best(&self, satellite: u32, paths: &Paths, roots: &[Root], weights: &[Cost]) -> (Cost, Hop) {
        let (mut best, mut over, mut hop) = (UNREACHED, (UNREACHED, 0), Hop::None);
        for &(to, isl) in self.edges_of(satellite) {
            let onwards = paths.costs[to as usize];
            let cost = onwards + weights[isl as usize];
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

    /// Costs of links of which some are down: few different ones, so that paths often cost the same, or many.
    fn weights(links: usize) -> impl Strategy<Value = Vec<Cost>> {
        let of_values = move |down: u32, values: Cost| {
            let weight = prop_oneof![down => Just(UNREACHED), 12 => 1..values];
            prop::collection::vec(weight, links)
        };
        prop_oneof![of_values(2, 5), of_values(2, 1 << 40), of_values(1, 1 << 40)]
    }

    fn roots() -> impl Strategy<Value = Vec<Root>> {
        let root = |(satellite, cost, antenna): (u32, Cost, u32)| Root {
            satellite,
            cost,
            hop: Hop::Down { site: 0, antenna },
        };
        let cost = prop_oneof![1 as Cost..9, 1 as Cost..1 << 40];
        prop::collection::vec((0..SATELLITES, cost, 0u32..4).prop_map(root), 0..4)
    }

    proptest! {
        #[test]
        fn paths_derived_from_former_ones_are_those_grown_from_nothing(
            ends in prop::collection::vec((0..SATELLITES, 0..SATELLITES), 40)
                .prop_map(|ends| ends.into_iter().filter(|(a, b)| a != b).collect::<Vec<_>>()),
            states in prop::collection::vec((weights(40), roots()), 2..8),
        ) {
            let mut graph = Graph::new(SATELLITES as usize, ends);
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
