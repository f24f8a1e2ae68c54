//! Multicast flows: their trees, and their copies at the routers of nodes. `bentpipe_networks`
//! describes the model ([`bentpipe_networks::multicast`]).
//!
//! A scenario has one flow per receiver, so that checks, facts and results treat each receiver as
//! they treat the destination of any other flow. The flows of a group have the same `multicast`.
//! Only the first of them has a source, which sends to the address of the group.

use crate::routes::Routes;
use crate::scenario::Scenario;
use bentpipe_core::NodeId;
use std::collections::BTreeMap;

/// The paths from a source to the receivers of a group, which reach each node over one edge.
pub(crate) struct Tree {
    /// The edges of the path to each receiver; `None` without a path.
    pub(crate) paths: Vec<Option<Vec<u32>>>,
}

impl Tree {
    /// Joins the paths of unicast packets. A path that meets the tree again after leaving it, which
    /// happens between paths of equal delay, follows the tree to that node.
    pub(crate) fn of(routes: &Routes, from: NodeId, receivers: impl Iterator<Item = NodeId>) -> Tree {
        // The edge over which the tree reaches each node.
        let mut into: BTreeMap<NodeId, u32> = BTreeMap::new();
        let paths = receivers.map(|to| {
            let path = routes.path(from, to)?;
            let met = path.iter().rposition(|edge| into.contains_key(&routes.edge(*edge).to));
            for edge in &path[met.map_or(0, |last| last + 1)..] {
                into.insert(routes.edge(*edge).to, *edge);
            }
            let edge_before = |edge: &u32| into.get(&routes.edge(*edge).from).copied();
            let mut whole: Vec<u32> = std::iter::successors(into.get(&to).copied(), edge_before).collect();
            whole.reverse();
            Some(whole)
        });
        Tree { paths: paths.collect() }
    }
}

impl Scenario {
    /// Returns the groups of multicast flows in the order of the scenario, each with the numbers of
    /// its flows.
    pub(crate) fn groups(&self) -> Vec<(&str, Vec<usize>)> {
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, flow) in self.flow.iter().enumerate() {
            let Some(name) = flow.multicast.as_deref() else { continue };
            let place = *places.entry(name).or_insert_with(|| {
                groups.push((name, Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(index);
        }
        groups
    }

    /// Returns, for each flow, the number of the flow whose source sends its packets: the first
    /// flow of its multicast group, or the flow itself without a group.
    pub(crate) fn senders(&self) -> Vec<usize> {
        let mut senders: Vec<usize> = (0..self.flow.len()).collect();
        for (_, members) in self.groups() {
            members.iter().for_each(|member| senders[*member] = members[0]);
        }
        senders
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Edge;
    use bentpipe_core::Span;
    use bentpipe_stage::Port;

    /// Nodes 1 and 2 lead from 0 to 3 with equal delays, 4 and 5 hang below 3. Every node is
    /// reached over a single edge.
    #[test]
    fn a_tree_reaches_each_node_over_one_edge() {
        let ends = [(0, 1, 10), (0, 2, 10), (1, 3, 10), (2, 3, 10), (3, 4, 1), (3, 5, 1)];
        let both = ends.iter().flat_map(|&(a, b, delay)| [(a, b, delay), (b, a, delay)]);
        let edges: Vec<Edge> = both
            .zip(0..)
            .map(|((from, to, delay), part)| Edge {
                from: NodeId(from),
                to: NodeId(to),
                port: Port(0),
                delay: Span::from_millis(delay),
                part,
                mesh: false,
            })
            .collect();
        let routes = Routes::of(6, &edges);
        let tree = Tree::of(&routes, NodeId(0), [2, 5, 4, 3].map(NodeId).into_iter());
        let mut into: BTreeMap<NodeId, u32> = BTreeMap::new();
        for edge in tree.paths.iter().flatten().flatten() {
            assert_eq!(*into.entry(edges[*edge as usize].to).or_insert(*edge), *edge);
        }
        assert_eq!(tree.paths.iter().flatten().map(Vec::len).collect::<Vec<_>>(), [1, 3, 3, 2]);
    }
}
