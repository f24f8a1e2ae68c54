//! Epidemic routing: a node gives a copy of a bundle to every node that it meets, unless that node
//! has had a copy.
//!
//! Source: A. Vahdat and D. Becker, "Epidemic routing for partially connected ad hoc networks",
//! Duke University, CS-2000-06, 2000.
//!
//! **Deviations.** Nodes know which bundles a neighbour has had without exchanging summary vectors.
//! The number of hops of a copy is unlimited.

use super::{Replication, Router, Routing};
use crate::contacts::{Node, Plan};

/// Epidemic routing. It has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct Epidemic;

impl Routing for Epidemic {
    fn router(&self, _known: &Plan) -> Router {
        Router::Replication(Box::new(*self))
    }
}

impl Replication for Epidemic {
    fn should_copy(&self, _bundle: u64, _node: Node, _neighbour: Node, _to: Node) -> bool {
        true
    }
}
