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
}

/// The edge by which packets to `destination` leave each node (Dijkstra from the destination over reversed
/// edges). `None` for the destination itself and for nodes that cannot reach it.
pub fn towards(destination: NodeId, nodes: usize, edges: &[Edge], into: &[Vec<u32>]) -> Vec<Option<u32>> {
    let mut best: Vec<Option<(Span, u32)>> = vec![None; nodes];
    let mut next = vec![None; nodes];
    let mut queue = BinaryHeap::from([Reverse((Span::ZERO, 0u32, destination))]);
    best[destination.0 as usize] = Some((Span::ZERO, 0));
    while let Some(Reverse((delay, hops, node))) = queue.pop() {
        if best[node.0 as usize] != Some((delay, hops)) {
            continue;
        }
        for &index in &into[node.0 as usize] {
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

/// The edges that lead to each node.
pub fn incoming(nodes: usize, edges: &[Edge]) -> Vec<Vec<u32>> {
    let mut into = vec![Vec::new(); nodes];
    for (index, edge) in edges.iter().enumerate() {
        into[edge.to.0 as usize].push(index as u32);
    }
    into
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_shortest_delay_and_says_when_there_is_no_way() {
        let edge = |from, to, port, delay| Edge {
            from: NodeId(from),
            to: NodeId(to),
            port: Port(port),
            delay: Span::from_millis(delay),
            part: 0,
        };
        // 0 -> 2 directly takes 50 ms, over 1 only 30 ms; 3 has no edges.
        let edges = [edge(0, 2, 0, 50), edge(0, 1, 1, 10), edge(1, 2, 0, 20), edge(2, 0, 0, 50)];
        let next = towards(NodeId(2), 4, &edges, &incoming(4, &edges));
        assert_eq!(next, [Some(1), Some(2), None, None]);
    }
}
