//! Static routing: the path of minimum delay, then of fewest hops, then of the lowest edge number.

use bentpipe_core::{NodeId, Span};
use bentpipe_stage::Port;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// A directed edge from one node to another.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The node at which the edge starts.
    pub from: NodeId,
    /// The node at which the edge ends.
    pub to: NodeId,
    /// Output port of the first node's router.
    pub port: Port,
    /// Propagation delay of the edge.
    pub delay: Span,
    /// Index of the edge's link or network.
    pub part: u32,
    /// True if the edge's part has an edge between any two of its nodes, and no edge is longer than
    /// a path over several of them.
    pub mesh: bool,
}

/// The routes of a network.
///
/// Nodes with a single neighbour are removed repeatedly, until every remaining node has several.
/// The remaining nodes are the core; the removed ones form trees with roots in the core. A path
/// between trees leaves one at its root and enters the other at its root. Only the core therefore
/// needs a shortest-path tree per destination, and a star or a chain of n nodes costs O(n) in
/// total. The result equals that of the whole graph, because a leaf is only on its own paths.
pub struct Routes {
    edges: Vec<Edge>,
    /// The edges that lead to each node.
    into: Vec<Vec<Group>>,
    /// The place of each node, in a tree or in the core.
    places: Vec<Place>,
    /// The nodes of the core.
    core: Vec<NodeId>,
    /// For each destination in the core, by index: the first edge of the path from each node of the
    /// core to this destination. Computed at the first use.
    shortest: Vec<OnceCell<Vec<Option<u32>>>>,
}

/// The place of a node: its index in the core, or its branch of a tree.
#[derive(Clone, Copy)]
enum Place {
    Core(u32),
    Tree(Branch),
}

/// The place of a node in a tree.
#[derive(Clone, Copy)]
struct Branch {
    parent: NodeId,
    /// The edges to the parent and from the parent.
    up: u32,
    down: u32,
}

/// The edges of one part that lead to a node.
struct Group {
    part: u32,
    mesh: bool,
    edges: Vec<u32>,
}

impl Routes {
    /// Prepares the routes of a network of `nodes` nodes. The edges must be in the order of their
    /// parts.
    pub fn of(nodes: usize, edges: &[Edge]) -> Routes {
        Routes::with(edges, incoming(nodes, edges), peel(nodes, edges))
    }

    fn with(edges: &[Edge], into: Vec<Vec<Group>>, trees: Vec<Option<Branch>>) -> Routes {
        let mut core = Vec::new();
        let places = trees.into_iter().zip(0..).map(|(branch, node)| match branch {
            Some(branch) => Place::Tree(branch),
            None => {
                core.push(NodeId(node));
                Place::Core(core.len() as u32 - 1)
            }
        });
        let places = places.collect();
        let mut shortest = Vec::new();
        shortest.resize_with(core.len(), OnceCell::new);
        Routes { edges: edges.to_vec(), into, places, core, shortest }
    }

    /// Returns the edge with this number.
    pub fn edge(&self, index: u32) -> &Edge {
        &self.edges[index as usize]
    }

    /// Returns the edges of a path in their order; `None` if there is no path.
    pub fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        let (mut at, mut path) = (from, Vec::new());
        let down = self.branch(to);
        // The position of each node in the branch, found by its depth.
        let root = down.last().map_or(to, |&(parent, _)| parent);
        let below: BTreeMap<NodeId, usize> =
            down.iter().enumerate().map(|(place, &(parent, _))| (parent, place)).collect();
        while at != to {
            if let Some(&place) = below.get(&at) {
                path.extend(down[..=place].iter().rev().map(|&(_, edge)| edge));
                return Some(path);
            }
            let index = match self.places[at.0 as usize] {
                Place::Tree(branch) => branch.up,
                Place::Core(place) => self.towards(root)[place as usize]?,
            };
            path.push(index);
            at = self.edges[index as usize].to;
        }
        Some(path)
    }

    /// Returns the path from the core down to a node, in reverse order. Each entry has the parent
    /// of a node and the edge from the parent.
    fn branch(&self, node: NodeId) -> Vec<(NodeId, u32)> {
        let mut at = node;
        std::iter::from_fn(|| {
            let Place::Tree(branch) = self.places[at.0 as usize] else { return None };
            at = branch.parent;
            Some((branch.parent, branch.down))
        })
        .collect()
    }

    /// Returns the edge from a node in a tree to its parent. All packets take this edge, except
    /// packets to nodes below. Returns `None` for a node of the core.
    pub fn up(&self, node: NodeId) -> Option<u32> {
        match self.places[node.0 as usize] {
            Place::Tree(branch) => Some(branch.up),
            Place::Core(_) => None,
        }
    }

    /// Visits the nodes that need their own route to `destination`, each with its edge. These are
    /// the nodes of the core and the nodes of the destination's branch. All other nodes send
    /// packets to their parent.
    pub fn visit(&self, destination: NodeId, mut look: impl FnMut(NodeId, &Edge)) {
        let mut root = destination;
        for (parent, edge) in self.branch(destination) {
            look(parent, self.edge(edge));
            root = parent;
        }
        for (node, next) in self.core.iter().zip(self.towards(root)) {
            if let Some(edge) = next {
                look(*node, self.edge(*edge));
            }
        }
    }

    /// Returns the edge by which packets to `destination`, a node of the core, leave each node of
    /// the core (Dijkstra from the destination over reversed edges). `None` for the destination
    /// itself and for nodes that cannot reach it.
    ///
    /// A mesh of n nodes has n (n - 1) edges. If the path of a node begins with an edge of the
    /// mesh, no other edge of the mesh leads to this node on a shortest path, because the direct
    /// edge exists. A destination therefore visits only n edges of the mesh.
    fn towards(&self, destination: NodeId) -> &[Option<u32>] {
        let place = |node: NodeId| match self.places[node.0 as usize] {
            Place::Core(place) => Some(place as usize),
            Place::Tree(_) => None,
        };
        let end = place(destination).expect("branches end in the core");
        self.shortest[end].get_or_init(|| {
            let mut best: Vec<Option<(Span, u32)>> = vec![None; self.core.len()];
            let mut next = vec![None; self.core.len()];
            let mut queue = BinaryHeap::from([Reverse((Span::ZERO, 0u32, destination))]);
            best[end] = Some((Span::ZERO, 0));
            while let Some(Reverse((delay, hops, node))) = queue.pop() {
                let here = place(node).expect("only nodes of the core are queued");
                if best[here] != Some((delay, hops)) {
                    continue;
                }
                let onwards = next[here].map(|edge: u32| self.edge(edge));
                let in_mesh = onwards.filter(|edge| edge.mesh).map(|edge| edge.part);
                let groups = self.into[node.0 as usize].iter();
                let groups = groups.filter(|group| !group.mesh || Some(group.part) != in_mesh);
                for &index in groups.flat_map(|group| &group.edges) {
                    let edge = self.edge(index);
                    let Some(at) = place(edge.from) else { continue };
                    let candidate = (delay + edge.delay, hops + 1);
                    if best[at].is_none_or(|known| candidate < known) {
                        best[at] = Some(candidate);
                        next[at] = Some(index);
                        queue.push(Reverse((candidate.0, candidate.1, edge.from)));
                    }
                }
            }
            next
        })
    }
}

fn incoming(nodes: usize, edges: &[Edge]) -> Vec<Vec<Group>> {
    let mut into: Vec<Vec<Group>> = Vec::new();
    into.resize_with(nodes, Vec::new);
    for (edge, index) in edges.iter().zip(0..) {
        let groups = &mut into[edge.to.0 as usize];
        match groups.last_mut() {
            Some(group) if group.part == edge.part => group.edges.push(index),
            _ => groups.push(Group { part: edge.part, mesh: edge.mesh, edges: vec![index] }),
        }
    }
    into
}

/// Finds the nodes outside the core. A node is removed only if edges lead both to its neighbour and
/// back.
fn peel(nodes: usize, edges: &[Edge]) -> Vec<Option<Branch>> {
    // The shortest edge for each pair of neighbours. Of equally short edges, the edge with the
    // lowest number is used.
    let mut shortest: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
    for (edge, index) in edges.iter().zip(0..).filter(|(edge, _)| edge.from != edge.to) {
        let known = shortest.entry((edge.from, edge.to)).or_insert(index);
        if edge.delay < edges[*known as usize].delay {
            *known = index;
        }
    }
    let mut neighbours: Vec<BTreeSet<NodeId>> = vec![BTreeSet::new(); nodes];
    for (from, to) in shortest.keys() {
        neighbours[from.0 as usize].insert(*to);
        neighbours[to.0 as usize].insert(*from);
    }
    let mut trees = vec![None; nodes];
    let single = |of: &BTreeSet<NodeId>| if of.len() == 1 { of.first().copied() } else { None };
    let mut leaves: Vec<usize> = (0..nodes).filter(|node| neighbours[*node].len() == 1).collect();
    while let Some(leaf) = leaves.pop() {
        let Some(parent) = single(&neighbours[leaf]) else { continue };
        let (node, above) = (NodeId(leaf as u16), parent.0 as usize);
        let (Some(&up), Some(&down)) = (shortest.get(&(node, parent)), shortest.get(&(parent, node))) else {
            continue;
        };
        trees[leaf] = Some(Branch { parent, up, down });
        neighbours[leaf].clear();
        neighbours[above].remove(&node);
        if neighbours[above].len() == 1 {
            leaves.push(above);
        }
    }
    trees
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NODES: u16 = 24;

    fn edge(from: u16, to: u16, delay: u64, part: u32, mesh: bool) -> Edge {
        let delay = Span::from_nanos(delay);
        Edge { from: NodeId(from), to: NodeId(to), port: Port(0), delay, part, mesh }
    }

    /// Generates nodes of a plane with two meshes over some of them, other edges, and trees at any
    /// of them.
    fn networks() -> impl Strategy<Value = Vec<Edge>> {
        let place = || (0..100u64, 0..100u64);
        let other = (0..16u16, 0..16u16, 1..200u64);
        let nodes = prop::collection::vec((place(), 0..4u8), 16);
        // By node from the 17th on: its parent, the delays to the parent and back, and true if
        // there is a second link.
        let hung = prop::collection::vec((any::<prop::sample::Index>(), 0..9u64, 0..9u64, any::<bool>()), 8);
        (nodes, prop::collection::vec(other, 0..40), hung).prop_map(|(nodes, others, hung)| {
            let mut edges = Vec::new();
            for part in 0..2u32 {
                for (from, a) in (0..).zip(&nodes) {
                    for (to, b) in (0..).zip(&nodes).filter(|(to, _)| *to != from) {
                        if (a.1 & b.1) >> part & 1 == 1 {
                            // The sum of distances along the axes, so that many paths have equal
                            // length.
                            let delay = a.0 .0.abs_diff(b.0 .0) + a.0 .1.abs_diff(b.0 .1);
                            edges.push(edge(from, to, delay, part, true));
                        }
                    }
                }
            }
            let others = others.into_iter().zip(2..);
            edges.extend(others.map(|((from, to, delay), part)| edge(from, to, delay, part, false)));
            for ((parent, up, down, twice), node) in hung.into_iter().zip(16..) {
                let parent = parent.index(node as usize) as u16;
                for part in 0..=u32::from(twice) {
                    edges.push(edge(node, parent, up, 100 + u32::from(node) + 50 * part, false));
                    edges.push(edge(parent, node, down, 100 + u32::from(node) + 50 * part, false));
                }
            }
            edges.sort_by_key(|edge| edge.part);
            edges
        })
    }

    /// Returns the edges of the path by the definition at the start of this file, without using
    /// trees and meshes.
    fn path_by_definition(edges: &[Edge], from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        let single: Vec<Edge> = edges.iter().map(|edge| Edge { mesh: false, ..*edge }).collect();
        let nodes = usize::from(NODES);
        Routes::with(&single, incoming(nodes, &single), vec![None; nodes]).path(from, to)
    }

    proptest! {
        #[test]
        fn routes_over_trees_and_meshes_equal_those_of_the_whole_graph(edges in networks()) {
            let routes = Routes::of(usize::from(NODES), &edges);
            for (from, to) in (0..NODES).flat_map(|from| (0..NODES).map(move |to| (NodeId(from), NodeId(to)))) {
                prop_assert_eq!(routes.path(from, to), path_by_definition(&edges, from, to), "{:?} to {:?}", from, to);
            }
        }

        /// The routes of routers follow the paths: a node's own route, or else the edge to the
        /// parent.
        #[test]
        fn visited_nodes_and_their_parents_lead_along_the_paths(edges in networks(), to in 0..NODES) {
            let routes = Routes::of(usize::from(NODES), &edges);
            let mut own = BTreeMap::new();
            routes.visit(NodeId(to), |node, edge| _ = own.insert(node, (edge.to, edge.delay)));
            for from in (0..NODES).map(NodeId).filter(|from| from.0 != to) {
                if let Some(path) = routes.path(from, NodeId(to)) {
                    let first = routes.edge(path[0]);
                    let up = routes.up(from).map(|edge| (routes.edge(edge).to, routes.edge(edge).delay));
                    prop_assert_eq!(own.get(&from).copied().or(up), Some((first.to, first.delay)));
                }
            }
        }
    }

    #[test]
    fn the_path_has_the_shortest_delay_or_is_missing() {
        // 0 -> 2 directly takes 50 ms, over 1 only 30 ms; 3 has no edges.
        let edges = [(0, 2, 50), (0, 1, 10), (1, 2, 20), (2, 0, 50)];
        let edges = edges.map(|(from, to, delay)| edge(from, to, delay, 0, false));
        let routes = Routes::of(4, &edges);
        let path = |from| routes.path(NodeId(from), NodeId(2));
        assert_eq!(
            [path(0), path(1), path(2), path(3)],
            [Some(vec![1, 2]), Some(vec![2]), Some(vec![]), None]
        );
    }
}
