//! {Title}: the neighbours that get a copy of a bundle, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.

use super::{Replication, Router, Routing};
use crate::contacts::{Node, Plan};

/// {Title}: the neighbours that get a copy of a bundle, in a sentence.
#[derive(Clone, Copy, Debug)]
pub struct {Camel};

impl Routing for {Camel} {
    fn router(&self, _known: &Plan) -> Router {
        Router::Replication(Box::new(*self))
    }
}

impl Replication for {Camel} {
    fn should_copy(&self, _bundle: u64, _node: Node, _neighbour: Node, _to: Node) -> bool {
        // No relays: every routing delivers a bundle on contact with its destination.
        false
    }
}
