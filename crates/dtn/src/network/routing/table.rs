//! Static routing: a table contains the neighbour for each destination. A bundle leaves over the
//! next contact to this neighbour that has enough time left.

use super::{Forwarding, OutgoingBundle, Router, Routing};
use crate::contacts::{Contact, Node, Plan};
use std::collections::BTreeMap;

/// The neighbour for each pair of a node and a destination.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Static(pub BTreeMap<(u32, u32), u32>);

impl Routing for Static {
    fn router(&self, _known: &Plan) -> Router {
        Router::Forwarding(Box::new(Table { table: self.0.clone(), outgoing: BTreeMap::new() }))
    }
}

struct Table {
    table: BTreeMap<(u32, u32), u32>,
    /// Bundles that wait for a neighbour, by node and neighbour.
    outgoing: BTreeMap<(Node, Node), Vec<u64>>,
}

impl Forwarding for Table {
    fn choose(&mut self, known: &Plan, outgoing: &OutgoingBundle<'_>) -> Option<Contact> {
        let OutgoingBundle { now, node, bytes, .. } = *outgoing;
        let next = Node(*self.table.get(&(node.0, outgoing.bundle.to.0))?);
        let contacts = known.contacts();
        let mut open = known.outgoing(node, now).iter().map(|index| contacts[*index as usize]);
        let fits = |contact: &Contact| {
            contact.to == next && contact.start <= now && now + contact.rate.span_of(bytes) <= contact.end
        };
        let found = open.find(fits);
        if found.is_none() {
            self.outgoing.entry((node, next)).or_default().push(outgoing.number);
        }
        found
    }

    fn take_waiting(&mut self, node: Node, neighbour: Node) -> Vec<u64> {
        self.outgoing.remove(&(node, neighbour)).unwrap_or_default()
    }
}
