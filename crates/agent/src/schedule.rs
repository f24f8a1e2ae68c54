//! The contacts of an agent's contact plan. A schedule tracks the open contacts, and chooses a
//! contact for each bundle by contact graph routing.
//!
//! Time counts from the start of the agent. Contacts from this agent to nodes that are not its
//! peers are ignored, since the agent cannot send bundles over them.

use crate::config::{self, Config, Planned};
use bentpipe_core::{Span, Time};
use bentpipe_dtn::contacts::{read, Contact, Node, Plan};
use bentpipe_dtn::routing::contact_graph::{Query, Search};
use bentpipe_dtn::routing::planner::Planner;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

/// Priority of all bundles: normal, since BPv7 defines no priorities (RFC 9171).
pub(crate) const PRIORITY: usize = 1;

/// The contacts of an agent and its routes over them.
pub struct Schedule {
    plan: Plan,
    local_node: Node,
    /// The nodes of the plan by their identifiers.
    nodes: BTreeMap<String, Node>,
    /// Index of the peer at each node.
    peers: BTreeMap<Node, usize>,
    planner: Planner,
    search: Search,
    /// The times, in order, at which a contact opens (true) or ends (false), with its index.
    changes: VecDeque<(Time, bool, u32)>,
    /// Indices of the open contacts.
    open: BTreeSet<u32>,
}

impl Schedule {
    /// Creates the schedule for a configuration and its plan.
    ///
    /// # Errors
    /// If the plan cannot be read, or does not contain this node.
    pub fn new(config: &Config, planned: &Planned) -> io::Result<Schedule> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidInput, message);
        let plan = match planned.skip_impossible {
            true => read::plan_skipping_impossible(&planned.text).map(|(plan, _)| plan),
            false => read::plan(&planned.text),
        };
        let plan = plan.map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(|error| format!("contact plan: {error}")).collect();
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

    /// Opens and ends contacts until `now`. Returns true if any contact has opened or ended, and
    /// the indices of the contacts that have ended.
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

    /// Chooses and reserves a contact for a bundle. Returns its index, or `None` if no route
    /// arrives at the destination before `deadline`.
    pub fn choose(&mut self, now: Time, bundle: u64, to: Node, bytes: u64, deadline: Time) -> Option<u32> {
        let query = Query {
            priority: PRIORITY,
            deadline: Some(deadline),
            ..Query::new(self.local_node, to, now, bytes)
        };
        self.planner.choose(&self.plan, &mut self.search, bundle, &query)
    }

    /// Returns true if a bundle of `bytes` has a route to a node that arrives before `deadline`.
    pub fn is_reachable(&mut self, now: Time, to: Node, bytes: u64, deadline: Time) -> bool {
        let query = Query {
            priority: PRIORITY,
            deadline: Some(deadline),
            ..Query::new(self.local_node, to, now, bytes)
        };
        self.planner.is_reachable(&self.plan, &mut self.search, &query)
    }

    /// Records that a bundle leaves over its contact.
    pub fn departed(&mut self, bundle: u64) {
        self.planner.departed(bundle);
    }

    /// Releases the reserved contact of a bundle that was removed or is rerouted.
    pub fn release(&mut self, bundle: u64) {
        self.planner.release(bundle);
    }

    /// Returns the indices of the open contacts to a peer.
    pub fn open_to(&self, peer: usize) -> impl Iterator<Item = u32> + '_ {
        let leads =
            move |contact: &&u32| self.peers.get(&self.plan.contacts()[**contact as usize].to) == Some(&peer);
        self.open.iter().filter(leads).copied()
    }

    /// Returns true if a transmission of `bytes` that starts at `now` ends before its contact does.
    pub fn fits(&self, contact: u32, now: Time, bytes: u64) -> bool {
        let contact = &self.plan.contacts()[contact as usize];
        now + contact.rate.span_of(bytes) <= contact.end
    }

    /// Returns the node of a peer, if the plan contains it.
    pub fn node_of(&self, peer: usize) -> Option<Node> {
        self.peers.iter().find(|(_, index)| **index == peer).map(|(node, _)| *node)
    }

    /// Returns an open contact to a peer, if there is one.
    pub fn contact_to(&self, peer: usize) -> Option<Contact> {
        self.open_to(peer).next().map(|index| self.plan.contacts()[index as usize])
    }

    /// Returns true if a contact to a peer ends after `now`.
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

/// Returns the node identifier for a name in a plan: `mars` becomes `dtn://mars/`, `3` becomes
/// `ipn:3.0`, and identifiers stay unchanged.
fn identifier(name: &str) -> Result<String, String> {
    let text = match name.parse::<u64>() {
        Ok(number) => format!("ipn:{number}.0"),
        Err(_) if name.contains(':') => name.to_owned(),
        Err(_) => format!("dtn://{name}/"),
    };
    config::node(&text).map(|node| node.to_string()).map_err(|error| format!("contact plan: {error}"))
}

/// Returns a span of `count` milliseconds.
pub(crate) fn milliseconds(count: u64) -> Span {
    Span::from_nanos(count.saturating_mul(1_000_000))
}
