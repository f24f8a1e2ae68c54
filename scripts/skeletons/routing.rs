//! {Title}: to whom a node gives a bundle, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.

use super::{Replication, Router, Routing};
use crate::contacts::{Node, Plan};

/// {Title}.
#[derive(Clone, Copy, Debug)]
pub struct {Camel};

impl Routing for {Camel} {
    fn router(&self, _known: &Plan) -> Router {
        Router::Replication(Box::new(*self))
    }
}

impl Replication for {Camel} {
    fn should_copy(&self, _bundle: u64, _node: Node, _neighbour: Node, _to: Node) -> bool {
        // Only the destination gets a bundle, which it gets in any case.
        false
    }
}
