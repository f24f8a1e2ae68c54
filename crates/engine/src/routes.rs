//! Static routing: the path of minimum delay, then of fewest hops, then of the lowest edge number.

use bentpipe_core::{NodeId, Span};
use bentpipe_models::Port;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A directed edge from one node to another.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Node at which it starts.
    pub from: NodeId,
    /// Node at which it ends.
    pub to: NodeId,
    /// Output port of the first node's router.
    pub port: Port,
    /// Propagation delay of the edge.
    pub delay: Span,
    /// Index of the link or network to which it belongs.
    pub part: u32,
    /// Whether its part has an edge between any two of its nodes, and none is longer than a path over several of them.
    pub mesh: bool,
}

/// The edges of one part that lead to a node.
struct Group {
    part: u32,
    mesh: bool,
    edges: Vec<u32>,
}

/// The edges that lead to each node.
pub struct Incoming(Vec<Vec<Group>>);

/// The edge by which packets to `destination` leave each node (Dijkstra from the destination over reversed
/// edges). `None` for the destination itself and for nodes that cannot reach it.
///
/// A mesh of n nodes has n (n - 1) edges. A node whose path begins with one of them is not reached over another: the direct edge
/// is there. So a destination takes n of them, not all.
pub fn towards(destination: NodeId, nodes: usize, edges: &[Edge], into: &Incoming) -> Vec<Option<u32>> {
    let mut best: Vec<Option<(Span, u32)>> = vec![None; nodes];
    let mut next = vec![None; nodes];
    let mut queue = BinaryHeap::from([Reverse((Span::ZERO, 0u32, destination))]);
    best[destination.0 as usize] = Some((Span::ZERO, 0));
    while let Some(Reverse((delay, hops, node))) = queue.pop() {
        if best[node.0 as usize] != Some((delay, hops)) {
            continue;
        }
        let onwards = next[node.0 as usize].map(|edge: u32| &edges[edge as usize]);
        let in_mesh = onwards.filter(|edge| edge.mesh).map(|edge| edge.part);
        let groups =
            into.0[node.0 as usize].iter().filter(|group| !group.mesh || Some(group.part) != in_mesh);
        for &index in groups.flat_map(|group| &group.edges) {
            let edge = &edges[index as usize];
            let candidate = (delay + edge.delay, hops + 1);
            let at = edge.from.0 as usize;
            if best[at].is_none_or(|known| candidate < known) {
                best[at] = Some(candidate);
                next[at] = Some(index);
                queue.push(Reverse((candidate.0, candidate.1, edge.from)));
            }
        }
    }
    next
}

impl Incoming {
    /// Finds the edges that lead to each node, of edges that are in the order of their parts.
    pub fn of(nodes: usize, edges: &[Edge]) -> Incoming {
        let mut into: Vec<Vec<Group>> = Vec::new();
        into.resize_with(nodes, Vec::new);
        for (edge, index) in edges.iter().zip(0..) {
            let groups = &mut into[edge.to.0 as usize];
            match groups.last_mut() {
                Some(group) if group.part == edge.part => group.edges.push(index),
                _ => groups.push(Group { part: edge.part, mesh: edge.mesh, edges: vec![index] }),
            }
        }
        Incoming(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Nodes of a plane with two meshes over some of them, and other edges.
    fn meshes() -> impl Strategy<Value = Vec<Edge>> {
        let place = || (0..100u64, 0..100u64);
        let other = (0..16u16, 0..16u16, 1..200u64);
        let nodes = prop::collection::vec((place(), 0..4u8), 16);
        (nodes, prop::collection::vec(other, 0..40)).prop_map(|(nodes, others)| {
            let mut edges = Vec::new();
            for part in 0..2u32 {
                for (from, a) in (0..).zip(&nodes) {
                    for (to, b) in (0..).zip(&nodes).filter(|(to, _)| *to != from) {
                        if (a.1 & b.1) >> part & 1 == 1 {
                            // The sum of distances along the axes: many paths are as long as others.
                            let delay = a.0 .0.abs_diff(b.0 .0) + a.0 .1.abs_diff(b.0 .1);
                            let delay = Span::from_nanos(delay);
                            edges.push(Edge {
                                from: NodeId(from),
                                to: NodeId(to),
                                port: Port(0),
                                delay,
                                part,
                                mesh: true,
                            });
                        }
                    }
                }
            }
            edges.extend(others.into_iter().zip(2..).map(|((from, to, delay), part)| {
                let delay = Span::from_nanos(delay);
                Edge { from: NodeId(from), to: NodeId(to), port: Port(0), delay, part, mesh: false }
            }));
            edges
        })
    }

    proptest! {
        #[test]
        fn a_mesh_gives_the_routes_of_its_single_edges(edges in meshes()) {
            let single: Vec<Edge> = edges.iter().map(|edge| Edge { mesh: false, ..*edge }).collect();
            let (into, all) = (Incoming::of(16, &edges), Incoming::of(16, &single));
            for destination in (0..16).map(NodeId) {
                let next = towards(destination, 16, &edges, &into);
                prop_assert_eq!(next, towards(destination, 16, &single, &all));
            }
        }
    }

    #[test]
    fn takes_the_shortest_delay_and_says_when_there_is_no_way() {
        let edge = |from, to, port, delay| Edge {
            from: NodeId(from),
            to: NodeId(to),
            port: Port(port),
            delay: Span::from_millis(delay),
            part: 0,
            mesh: false,
        };
        // 0 -> 2 directly takes 50 ms, over 1 only 30 ms; 3 has no edges.
        let edges = [edge(0, 2, 0, 50), edge(0, 1, 1, 10), edge(1, 2, 0, 20), edge(2, 0, 0, 50)];
        let next = towards(NodeId(2), 4, &edges, &Incoming::of(4, &edges));
        assert_eq!(next, [Some(1), Some(2), None, None]);
    }
}
