//! {Title}: the neighbours that get a copy of a bundle, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.

use super::{Copying, Router, Routing};
use crate::contacts::{Node, Plan};

/// {Title}: the neighbours that get a copy of a bundle, in a sentence.
#[derive(Clone, Copy, Debug)]
pub struct {Camel};

impl Routing for {Camel} {
    fn router(&self, _known: &Plan) -> Router {
        Router::Copying(Box::new(*self))
    }
}

impl Copying for {Camel} {
    fn wants(&self, _bundle: u64, _node: Node, _neighbour: Node, _to: Node) -> bool {
        // No relays: every routing delivers a bundle on contact with its destination.
        false
    }
}
