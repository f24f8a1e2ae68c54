//! The contacts of an agent's contact plan: tracks the open ones, and chooses a contact for each
//! bundle by contact graph routing.
//!
//! Time counts from the start of the agent. Contacts of this agent with nodes that are not its
//! peers are left out, since no bundle could leave over them.

use crate::config::{self, Config, Planned};
use bentpipe_core::{Span, Time};
use bentpipe_dtn::contacts::{read, Contact, Node, Plan};
use bentpipe_dtn::routing::contact_graph::{Query, Search};
use bentpipe_dtn::routing::planner::Planner;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

/// Priority of bundles: BPv7 has none (RFC 9171), so all are normal.
pub(crate) const PRIORITY: usize = 1;

/// The schedule of an agent.
pub struct Schedule {
    plan: Plan,
    local_node: Node,
    /// The nodes of the plan by their identifiers.
    nodes: BTreeMap<String, Node>,
    /// The peer of each node, by its number.
    peers: BTreeMap<Node, usize>,
    planner: Planner,
    search: Search,
    /// Times at which contacts of this agent open (true) and end (false), in order.
    changes: VecDeque<(Time, bool, u32)>,
    open: BTreeSet<u32>,
}

impl Schedule {
    /// Returns the schedule for a configuration and its plan.
    ///
    /// # Errors
    /// If the plan cannot be read, or does not contain this node.
    pub fn new(config: &Config, planned: &Planned) -> io::Result<Schedule> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidInput, message);
        let plan = match planned.skip_impossible {
            true => read::plan_skipping_impossible(&planned.text).map(|(plan, _)| plan),
            false => read::plan(&planned.text),
        };
        let plan = plan.map_err(|wrong| {
            let lines: Vec<String> = wrong.iter().map(|one| format!("contact plan: {one}")).collect();
            invalid(lines.join("\n"))
        })?;
        let mut nodes = BTreeMap::new();
        for (name, number) in plan.nodes().iter().zip(0..) {
            nodes.insert(identifier(name).map_err(invalid)?, Node(number));
        }
        let named = |text: &str| config::node(text).map(|node| nodes.get(&node.to_string()).copied());
        let Some(local_node) = named(&config.node).map_err(invalid)? else {
            return Err(invalid(format!(
                "contact plan: has no node {}; allowed: a plan with this node, by its identifier, its name or its number",
                config.node
            )));
        };
        let mut peers = BTreeMap::new();
        for (peer, index) in config.peers.iter().zip(0..) {
            if let Some(node) = named(&peer.node).map_err(invalid)? {
                peers.insert(node, index);
            }
        }
        let shift = |time: Time| {
            let seconds = time.as_nanos() as f64 / 1e9 + planned.lead;
            Time::from_nanos((seconds.max(0.0) * 1e9) as u64)
        };
        let contacts = plan.contacts().iter().map(|contact| Contact {
            start: shift(contact.start),
            end: shift(contact.end),
            ..*contact
        });
        let usable = |contact: &Contact| {
            contact.end > contact.start && (contact.from != local_node || peers.contains_key(&contact.to))
        };
        let plan = Plan::of(plan.nodes().to_vec(), contacts.filter(usable).collect());
        let mut changes: Vec<(Time, bool, u32)> = Vec::new();
        for &index in plan.outgoing(local_node, Time::ZERO) {
            let contact = &plan.contacts()[index as usize];
            changes.extend([(contact.start, true, index), (contact.end, false, index)]);
        }
        changes.sort_unstable();
        let planner = Planner::new(&plan, local_node);
        let (search, open, changes) = (Search::default(), BTreeSet::new(), changes.into());
        Ok(Schedule { plan, local_node, nodes, peers, planner, search, changes, open })
    }

    /// Opens and ends contacts until `now`. Returns whether something has changed, and the contacts
    /// that have ended.
    pub fn advance(&mut self, now: Time) -> (bool, Vec<u32>) {
        let (mut changed, mut ended) = (false, Vec::new());
        while let Some((_, opens, contact)) = self.changes.front().copied().filter(|change| change.0 <= now) {
            self.changes.pop_front();
            changed = true;
            if opens {
                self.open.insert(contact);
            } else {
                self.open.remove(&contact);
                ended.push(contact);
            }
        }
        (changed, ended)
    }

    /// Returns the time at which the next contact opens or ends.
    pub fn next_change(&self) -> Option<Time> {
        self.changes.front().map(|change| change.0)
    }

    /// Returns the node of the plan with this identifier.
    pub fn node(&self, identifier: &str) -> Option<Node> {
        self.nodes.get(identifier).copied()
    }

    /// Returns the contact over which a bundle leaves, if a route leads to its destination before
    /// `deadline`.
    pub fn choose(&mut self, now: Time, bundle: u64, to: Node, bytes: u64, deadline: Time) -> Option<u32> {
        let query = Query {
            priority: PRIORITY,
            deadline: Some(deadline),
            ..Query::new(self.local_node, to, now, bytes)
        };
        self.planner.choose(&self.plan, &mut self.search, bundle, &query)
    }

    /// Returns true if a route leads to a node for a bundle of `bytes`.
    pub fn is_reachable(&mut self, now: Time, to: Node, bytes: u64, deadline: Time) -> bool {
        let query = Query {
            priority: PRIORITY,
            deadline: Some(deadline),
            ..Query::new(self.local_node, to, now, bytes)
        };
        self.planner.is_reachable(&self.plan, &mut self.search, &query)
    }

    /// Notes that a bundle leaves over its contact.
    pub fn departed(&mut self, bundle: u64) {
        self.planner.departed(bundle);
    }

    /// Releases the reserved contact of a bundle that was removed or is rerouted.
    pub fn release(&mut self, bundle: u64) {
        self.planner.release(bundle);
    }

    /// Returns the contacts that are open to a peer.
    pub fn open_to(&self, peer: usize) -> impl Iterator<Item = u32> + '_ {
        let leads =
            move |contact: &&u32| self.peers.get(&self.plan.contacts()[**contact as usize].to) == Some(&peer);
        self.open.iter().filter(leads).copied()
    }

    /// Returns true if a bundle of `bytes` can leave over a contact from now on.
    pub fn fits(&self, contact: u32, now: Time, bytes: u64) -> bool {
        let contact = &self.plan.contacts()[contact as usize];
        now + contact.rate.span_of(bytes) <= contact.end
    }

    /// Returns a peer in this schedule, if it is a node of the plan.
    pub fn node_of(&self, peer: usize) -> Option<Node> {
        self.peers.iter().find(|(_, index)| **index == peer).map(|(node, _)| *node)
    }

    /// Returns the open contact to a peer.
    pub fn contact_to(&self, peer: usize) -> Option<Contact> {
        self.open_to(peer).next().map(|index| self.plan.contacts()[index as usize])
    }

    /// Returns true if another contact to a peer comes after `now`.
    pub fn has_later_contact(&self, now: Time, peer: usize) -> bool {
        let contacts = self.plan.outgoing(self.local_node, now).iter();
        let mut nodes = contacts.map(|index| self.plan.contacts()[*index as usize].to);
        nodes.any(|node| self.peers.get(&node) == Some(&peer))
    }

    /// Returns the contact plan, shifted to the start of the agent.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns this node's number in the plan.
    pub fn local_node(&self) -> Node {
        self.local_node
    }
}

/// Returns the node identifier of a name in a plan: `mars` becomes `dtn://mars/`, `3` becomes
/// `ipn:3.0`, and identifiers stay unchanged.
fn identifier(name: &str) -> Result<String, String> {
    let text = match name.parse::<u64>() {
        Ok(number) => format!("ipn:{number}.0"),
        Err(_) if name.contains(':') => name.to_owned(),
        Err(_) => format!("dtn://{name}/"),
    };
    config::node(&text).map(|node| node.to_string()).map_err(|wrong| format!("contact plan: {wrong}"))
}

/// Returns a time in whole milliseconds as a span.
pub(crate) fn milliseconds(count: u64) -> Span {
    Span::from_nanos(count.saturating_mul(1_000_000))
}
