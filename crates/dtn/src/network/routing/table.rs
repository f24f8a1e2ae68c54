//! Static routing: a table contains the neighbour for each destination, and a bundle leaves in the
//! next contact with it that has room.

use super::{Planning, Router, Routing, Waiting};
use crate::contacts::{Contact, Node, Plan};
use std::collections::BTreeMap;

/// The neighbour for each node (first) and destination (second).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Static(pub BTreeMap<(u32, u32), u32>);

impl Routing for Static {
    fn router(&self, _known: &Plan) -> Router {
        Router::Planning(Box::new(Table { table: self.0.clone(), waiting: BTreeMap::new() }))
    }
}

struct Table {
    table: BTreeMap<(u32, u32), u32>,
    /// Bundles that wait for a neighbour, by node and neighbour.
    waiting: BTreeMap<(Node, Node), Vec<u64>>,
}

impl Planning for Table {
    fn choose(&mut self, known: &Plan, waiting: &Waiting<'_>) -> Option<Contact> {
        let Waiting { now, node, bytes, .. } = *waiting;
        let next = Node(*self.table.get(&(node.0, waiting.bundle.to.0))?);
        let contacts = known.contacts();
        let mut open = known.leaving(node, now).iter().map(|index| contacts[*index as usize]);
        let fits = |contact: &Contact| {
            contact.to == next && contact.start <= now && now + contact.rate.span_of(bytes) <= contact.end
        };
        let found = open.find(fits);
        if found.is_none() {
            self.waiting.entry((node, next)).or_default().push(waiting.number);
        }
        found
    }

    fn waiting_for(&mut self, node: Node, neighbour: Node) -> Vec<u64> {
        self.waiting.remove(&(node, neighbour)).unwrap_or_default()
    }
}
