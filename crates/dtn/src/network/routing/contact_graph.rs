//! Contact graph routing: each bundle takes the route through the known plan with the earliest
//! arrival (CCSDS 734.3-B-1, Schedule-Aware Bundle Routing). [`crate::routing::contact_graph`]
//! documents the equations and the deviations.

use super::{Forwarding, OutgoingBundle, Router, Routing};
use crate::contacts::{Contact, Node, Plan};
use crate::routing::contact_graph::{Query, Search};
use crate::routing::planner::Planner;

/// Contact graph routing over the known plan.
#[derive(Clone, Copy, Debug)]
pub struct ContactGraph;

impl Routing for ContactGraph {
    fn router(&self, known: &Plan) -> Router {
        let nodes = 0..known.nodes().len() as u32;
        Router::Forwarding(Box::new(Planners {
            search: Search::default(),
            planners: nodes.map(|node| Planner::new(known, Node(node))).collect(),
        }))
    }
}

struct Planners {
    search: Search,
    /// The planner of each node.
    planners: Vec<Planner>,
}

impl Forwarding for Planners {
    fn choose(&mut self, known: &Plan, outgoing: &OutgoingBundle<'_>) -> Option<Contact> {
        let OutgoingBundle { now, node, number, bundle, bytes, expires } = *outgoing;
        let query = Query {
            priority: bundle.priority,
            deadline: Some(expires),
            ..Query::new(node, bundle.to, now, bytes)
        };
        let planner = &mut self.planners[node.0 as usize];
        let first = planner.choose(known, &mut self.search, number, &query)?;
        Some(known.contacts()[first as usize])
    }

    fn departed(&mut self, bundle: u64, node: Node) {
        self.planners[node.0 as usize].departed(bundle);
    }

    fn release(&mut self, bundle: u64, node: Node) {
        self.planners[node.0 as usize].release(bundle);
    }

    fn searches(&self) -> u64 {
        self.planners.iter().map(Planner::searches).sum()
    }
}
