//! Epidemic routing: a node gives a copy to every node that it meets and that has none.
//!
//! Source: A. Vahdat and D. Becker, "Epidemic routing for partially connected ad hoc networks",
//! Duke University, CS-2000-06, 2000.
//!
//! **Deviations.** Nodes know which bundles the other has had without exchanging summary vectors,
//! and copies have no limit of hops.

use super::{Replication, Router, Routing};
use crate::contacts::{Node, Plan};

/// A copy to everyone who has none.
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
