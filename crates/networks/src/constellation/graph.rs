//! Trees of minimum cost over the links between satellites, towards the satellites that serve a
//! destination.
//!
//! A tree is computed by Dijkstra's algorithm, or derived from the previous tree: satellites move
//! little between two refreshes, so few next hops change. The update first assigns to each
//! satellite the present cost of its former path, which is an upper bound. Dijkstra's algorithm
//! then runs from the satellites to which a link offers a lower cost. Both computations give the
//! same tree, because costs are unique and ties are broken in a fixed order: the downlink first,
//! then the neighbour with the minimum cost, then the neighbour with the lowest number. The next
//! hop is therefore chosen again at satellites whose cost or whose neighbour's cost has changed,
//! and at satellites to which another link offers the same cost. In a ring of an even number of
//! equal links, the opposite satellite is always such a satellite.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cost of a path: the minimised quantity in the upper bits, the tie-breaker in the lower bits.
/// Every link and every downlink has a cost above 0.
pub type Cost = u64;

/// The cost of a missing path and of a link that is down. It exceeds every path cost, and the sum
/// of two such costs does not overflow.
pub const UNREACHED: Cost = Cost::MAX >> 1;

/// A cost that has not been determined yet.
const UNKNOWN: Cost = Cost::MAX;

/// The next hop of a packet at a satellite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// There is no path.
    None,
    /// A hop over an inter-satellite link.
    Isl {
        /// Twice the number of the link, plus one in the direction from its second satellite.
        arc: u32,
        /// Number of the satellite at the other end.
        to: u32,
    },
    /// A hop down to an antenna of a site.
    Down {
        /// Number of the site.
        site: u32,
        /// Number of its antenna.
        antenna: u32,
    },
}

/// A satellite with a downlink to the destination.
#[derive(Clone, Copy, Debug)]
pub struct Root {
    /// Number of the satellite.
    pub satellite: u32,
    /// Cost of the downlink.
    pub cost: Cost,
    /// The link from the satellite down to the destination.
    pub hop: Hop,
}

/// Next hop and cost of every satellite.
pub struct Paths {
    /// The cost of the path to the destination, by satellite.
    pub costs: Vec<Cost>,
    /// The next hop by satellite: the index of one of the satellite's edges, [`NO_HOP`] or `DOWN`.
    pub steps: Vec<u8>,
    /// Satellite, cost and hop of each downlink, ordered by satellite.
    downlinks: Vec<(u32, Cost, Hop)>,
    /// The satellites, mostly ordered such that each comes after its next hop.
    order: Vec<u32>,
}

/// The step of a satellite without a path.
pub const NO_HOP: u8 = u8::MAX;
/// The step of a satellite from which the path leads down to the site.
const DOWN: u8 = u8::MAX - 1;

/// A link as seen from one of its ends.
#[derive(Clone, Copy)]
pub struct Edge {
    /// The satellite at the other end.
    pub to: u32,
    /// The link and its direction away from this end, as in [`Hop::Isl`].
    pub arc: u32,
    /// The index of the same link among the edges of the other end.
    back: u8,
}

impl Edge {
    /// Returns the number of the link.
    #[inline]
    pub fn isl(self) -> u32 {
        self.arc / 2
    }
}

/// The links that may exist between satellites.
pub struct Graph {
    /// The edges of all satellites, ordered by satellite.
    edges: Vec<Edge>,
    /// Index of each satellite's first edge, followed by the number of edges.
    offsets: Vec<u32>,
    /// Memory that computations reuse.
    costs: Vec<Cost>,
    order: Vec<u32>,
    chain: Vec<u32>,
    uncertain: Vec<u32>,
    queue: BinaryHeap<Reverse<(Cost, u32)>>,
    changed: Vec<u32>,
}

impl Paths {
    /// Returns no path from any of `count` satellites.
    pub fn none(count: usize) -> Paths {
        let order = (0..count as u32).collect();
        Paths { steps: vec![NO_HOP; count], costs: vec![UNREACHED; count], downlinks: Vec::new(), order }
    }

    /// Sets the downlinks of these roots. A satellite with several roots gets the first one of
    /// minimum cost.
    fn set_downlinks<'a>(&mut self, roots: impl Iterator<Item = &'a Root>) {
        self.downlinks.clear();
        self.downlinks.extend(roots.map(|root| (root.satellite, root.cost, root.hop)));
        self.downlinks.sort_by_key(|(satellite, cost, _)| (*satellite, *cost));
        self.downlinks.dedup_by_key(|(satellite, ..)| *satellite);
    }

    /// Returns the cost and the hop of the downlink of a satellite.
    fn downlink(&self, satellite: u32) -> Option<(Cost, Hop)> {
        let at = self.downlinks.binary_search_by_key(&satellite, |(of, ..)| *of).ok()?;
        Some((self.downlinks[at].1, self.downlinks[at].2))
    }
}

impl Graph {
    /// Creates the graph of `count` satellites. `ends` are the pairs of satellites with links; a
    /// satellite has at most 254 links.
    pub fn new(count: usize, ends: Vec<(u32, u32)>) -> Graph {
        let mut of_satellite: Vec<Vec<Edge>> = vec![Vec::new(); count];
        for (&(a, b), isl) in ends.iter().zip(0..) {
            let index = |satellite: u32| of_satellite[satellite as usize].len() as u8;
            let (of_a, of_b) = (index(a), index(b));
            assert!(of_a < DOWN && of_b < DOWN, "a satellite has few links");
            of_satellite[a as usize].push(Edge { to: b, arc: 2 * isl, back: of_b });
            of_satellite[b as usize].push(Edge { to: a, arc: 2 * isl + 1, back: of_a });
        }
        let mut offsets = vec![0];
        let mut edges = Vec::new();
        for list in of_satellite {
            edges.extend(list);
            offsets.push(edges.len() as u32);
        }
        Graph {
            edges,
            offsets,
            costs: vec![UNKNOWN; count],
            order: vec![0; count],
            uncertain: Vec::new(),
            chain: Vec::new(),
            queue: BinaryHeap::new(),
            changed: Vec::new(),
        }
    }

    /// Returns the next hop of paths at a satellite.
    pub fn hop(&self, paths: &Paths, satellite: u32) -> Hop {
        self.hop_by(paths.steps[satellite as usize], satellite, || paths)
    }

    /// Returns the next hop at a satellite whose step is known. `paths` is called only for
    /// downlinks.
    #[inline]
    pub fn hop_by<'a>(&self, step: u8, satellite: u32, paths: impl FnOnce() -> &'a Paths) -> Hop {
        match step {
            NO_HOP => Hop::None,
            DOWN => paths().downlink(satellite).expect("a satellite with the step DOWN has a downlink").1,
            step => {
                let Edge { to, arc, .. } = self.edge(satellite, step);
                Hop::Isl { arc, to }
            }
        }
    }

    /// Sets the next hop of paths at a satellite.
    pub fn set_hop(&self, paths: &mut Paths, satellite: u32, hop: Hop) {
        paths.steps[satellite as usize] = match hop {
            Hop::None => NO_HOP,
            Hop::Down { .. } => {
                let at = paths.downlinks.partition_point(|(of, ..)| *of < satellite);
                paths.downlinks.insert(at, (satellite, UNREACHED, hop));
                DOWN
            }
            Hop::Isl { arc, .. } => {
                let index = self.edges_of(satellite).iter().position(|edge| edge.arc == arc);
                index.expect("the hop uses a link of the satellite") as u8
            }
        };
    }

    #[inline]
    fn edge(&self, satellite: u32, step: u8) -> Edge {
        self.edges[self.offsets[satellite as usize] as usize + step as usize]
    }

    /// Returns the links of a satellite.
    #[inline]
    pub fn edges_of(&self, satellite: u32) -> &[Edge] {
        &self.edges[self.offsets[satellite as usize] as usize..self.offsets[satellite as usize + 1] as usize]
    }

    /// Computes the paths from the roots over the satellites for which `free` returns true.
    /// `weights` are the costs of the links: [`UNREACHED`] for links that are down, and above 0 for
    /// all other links.
    pub fn compute(&self, paths: &mut Paths, roots: &[Root], weights: &[Cost], free: impl Fn(u32) -> bool) {
        paths.steps.fill(NO_HOP);
        paths.costs.fill(UNREACHED);
        let mut queue = BinaryHeap::new();
        paths.set_downlinks(roots.iter().filter(|root| free(root.satellite)));
        for &(satellite, cost, _) in &paths.downlinks {
            paths.costs[satellite as usize] = cost;
            paths.steps[satellite as usize] = DOWN;
            queue.push(Reverse((cost, satellite)));
        }
        while let Some(Reverse((known, satellite))) = queue.pop() {
            if known != paths.costs[satellite as usize] {
                continue;
            }
            for &edge in self.edges_of(satellite) {
                let (from, offer) = (edge.to, known + weights[edge.isl() as usize]);
                if offer < paths.costs[from as usize] && free(from) {
                    paths.costs[from as usize] = offer;
                    paths.steps[from as usize] = edge.back;
                    queue.push(Reverse((offer, from)));
                }
            }
        }
    }

    /// Derives the paths in the present state from the paths of an earlier state.
    pub fn update_paths(&mut self, paths: &mut Paths, roots: &[Root], weights: &[Cost]) {
        paths.set_downlinks(roots.iter());
        self.reprice_former(paths, weights);
        std::mem::swap(&mut paths.costs, &mut self.costs);
        std::mem::swap(&mut paths.order, &mut self.order);
        let mut uncertain = std::mem::take(&mut self.uncertain);
        uncertain.clear();
        uncertain.extend(paths.downlinks.iter().map(|(satellite, ..)| *satellite));
        self.compare(paths, weights, &mut uncertain);
        let (mut queue, mut changed) = (std::mem::take(&mut self.queue), std::mem::take(&mut self.changed));
        for &satellite in &uncertain {
            let (cost, step) = self.best(satellite, paths, weights);
            paths.steps[satellite as usize] = step;
            if cost < paths.costs[satellite as usize] {
                paths.costs[satellite as usize] = cost;
                queue.push(Reverse((cost, satellite)));
            }
        }
        changed.clear();
        while let Some(Reverse((known, satellite))) = queue.pop() {
            if known != paths.costs[satellite as usize] {
                continue;
            }
            changed.push(satellite);
            for edge in self.edges_of(satellite) {
                let (from, offer) = (edge.to, known + weights[edge.isl() as usize]);
                if offer < paths.costs[from as usize] {
                    paths.costs[from as usize] = offer;
                    queue.push(Reverse((offer, from)));
                }
            }
        }
        for &satellite in &changed {
            paths.steps[satellite as usize] = self.best(satellite, paths, weights).1;
            for edge in self.edges_of(satellite) {
                paths.steps[edge.to as usize] = self.best(edge.to, paths, weights).1;
            }
        }
        (self.queue, self.uncertain, self.changed) = (queue, uncertain, changed);
    }

    /// Determines the costs of the former paths in the present state, visiting each satellite after
    /// its next hop, and removes the hops of paths that no longer exist.
    fn reprice_former(&mut self, paths: &mut Paths, weights: &[Cost]) {
        let Graph { edges, offsets, costs, order, chain, .. } = self;
        costs.fill(UNKNOWN);
        let mut positions = order.iter_mut();
        for &satellite in &paths.order {
            let mut at = satellite as usize;
            if costs[at] != UNKNOWN {
                continue;
            }
            loop {
                let step = paths.steps[at];
                let mut cost = UNREACHED;
                if step < DOWN {
                    let edge = edges[offsets[at] as usize + step as usize];
                    let onwards = costs[edge.to as usize];
                    if onwards == UNKNOWN {
                        // The satellite comes before its next hop in the order. The next hop is
                        // determined first.
                        chain.push(at as u32);
                        at = edge.to as usize;
                        continue;
                    }
                    cost = (onwards + weights[edge.isl() as usize]).min(UNREACHED);
                } else if let Some((down, _)) = paths.downlink(at as u32) {
                    cost = down;
                }
                if cost == UNREACHED {
                    paths.steps[at] = NO_HOP;
                }
                costs[at] = cost;
                *positions.next().expect("each satellite is visited once") = at as u32;
                if chain.is_empty() {
                    break;
                }
                at = chain.pop().expect("the chain was checked not to be empty") as usize;
            }
        }
    }

    /// Finds the satellites to which a link other than the next hop offers at most their cost.
    fn compare(&self, paths: &Paths, weights: &[Cost], uncertain: &mut Vec<u32>) {
        let satellites = self.offsets.windows(2).zip(&paths.costs).zip(&paths.steps);
        for (satellite, ((range, cost), step)) in (0..).zip(satellites) {
            let edges = &self.edges[range[0] as usize..range[1] as usize];
            // Written without a branch for each offer, because it would often be mispredicted: a
            // quarter of the offers are those of next hops.
            let offers =
                edges.iter().map(|edge| paths.costs[edge.to as usize] + weights[edge.isl() as usize]);
            let good: u32 = offers.map(|offer| u32::from(offer <= *cost)).sum();
            if good > u32::from(*step < DOWN) {
                uncertain.push(satellite);
            }
        }
    }

    /// Returns the minimum cost of a satellite, given the costs of its neighbours, and its next
    /// hop.
    #[inline]
    fn best(&self, satellite: u32, paths: &Paths, weights: &[Cost]) -> (Cost, u8) {
        let (mut best, mut over, mut step) = (UNREACHED, (UNREACHED, 0), NO_HOP);
        for (edge, index) in self.edges_of(satellite).iter().zip(0..) {
            let onwards = paths.costs[edge.to as usize];
            let cost = onwards + weights[edge.isl() as usize];
            if cost < best || (cost == best && (onwards, edge.to) < over) {
                (best, over, step) = (cost, (onwards, edge.to), index);
            }
        }
        match paths.downlink(satellite) {
            Some((down, _)) if down <= best => (down, DOWN),
            _ => (best, step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SATELLITES: u32 = 24;

    /// Costs of links, some of which are down. They have either few different values, so that paths
    /// often have equal costs, or many.
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
        fn updated_paths_equal_recomputed_paths(
            ends in prop::collection::vec((0..SATELLITES, 0..SATELLITES), 40)
                .prop_map(|ends| ends.into_iter().filter(|(a, b)| a != b).collect::<Vec<_>>()),
            states in prop::collection::vec((weights(40), roots()), 2..8),
        ) {
            let mut graph = Graph::new(SATELLITES as usize, ends);
            let (mut renewed, mut grown) = (Paths::none(24), Paths::none(24));
            for (weights, roots) in states {
                graph.update_paths(&mut renewed, &roots, &weights);
                graph.compute(&mut grown, &roots, &weights, |_| true);
                prop_assert_eq!(&renewed.costs, &grown.costs);
                for satellite in 0..SATELLITES {
                    prop_assert_eq!(graph.hop(&renewed, satellite), graph.hop(&grown, satellite));
                }
            }
        }
    }
}
