//! Binary spray and wait: a bundle starts with L copies at its source. A node with n > 1 copies
//! gives floor(n / 2) of them to a neighbour without copies and keeps ceil(n / 2). A node with one
//! copy keeps it until it meets the destination.
//!
//! Source: T. Spyropoulos, K. Psounis, C. S. Raghavendra, "Spray and wait: an efficient routing
//! scheme for intermittently connected mobile networks", WDTN 2005, section 3.2 (definition 3.2,
//! binary spray and wait).
//!
//! **Deviation.** A node stores and sends one bundle that represents all its copies. If that bundle
//! is lost in transit or dropped, all these copies are lost.

use super::{Replication, Router, Routing};
use crate::contacts::{Node, Plan};
use std::collections::BTreeMap;

/// Binary spray and wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SprayAndWait {
    /// Number of copies of each bundle, L.
    pub copies: u32,
}

impl Routing for SprayAndWait {
    fn router(&self, _known: &Plan) -> Router {
        Router::Replication(Box::new(Spray { of_bundle: self.copies, copies: BTreeMap::new() }))
    }
}

struct Spray {
    /// Number of copies of a new bundle.
    of_bundle: u32,
    /// Number of copies by bundle and node.
    copies: BTreeMap<(u64, Node), u32>,
}

impl Replication for Spray {
    fn created(&mut self, bundle: u64, from: Node) {
        self.copies.insert((bundle, from), self.of_bundle);
    }

    fn should_copy(&self, bundle: u64, node: Node, _neighbour: Node, _to: Node) -> bool {
        self.copies.get(&(bundle, node)).is_some_and(|copies| *copies > 1)
    }

    fn copied(&mut self, bundle: u64, node: Node, neighbour: Node) {
        let copies = self.copies.get(&(bundle, node)).copied().unwrap_or(1);
        self.copies.insert((bundle, node), copies.div_ceil(2));
        self.copies.insert((bundle, neighbour), copies / 2);
    }

    fn ended(&mut self, bundle: u64) {
        let all = (bundle, Node(0))..=(bundle, Node(u32::MAX));
        let nodes: Vec<Node> = self.copies.range(all).map(|((_, node), _)| *node).collect();
        for node in nodes {
            self.copies.remove(&(bundle, node));
        }
    }
}
