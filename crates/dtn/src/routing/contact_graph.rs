//! Contact graph routing after CCSDS 734.3-B-1, Schedule-Aware Bundle Routing (SABR).
//!
//! A route is a sequence of contacts. A bundle of B bytes that is at time t at the transmitter of a
//! contact with rate R and light time d begins at s = max(t, start, end of what waits before it);
//! its last bit leaves at e = s + 8 B / R and arrives at e + d. The contact is usable if s < end
//! and e <= end. Nodes store bundles and forward them whole. Arrival always means that of the last
//! bit.
//!
//! The best route has the earliest arrival; among equals the fewest contacts, then the latest
//! termination (the earliest end of its contacts), then the entry node (the first receiver) of the
//! smallest number: section 3.2.8 of the standard in this order. Because of these ties, one best
//! predecessor for each node is not enough: a route that reaches a relay later can have fewer
//! contacts and arrive at the destination at the same time. [`Search`] therefore keeps for each
//! node every label that no other dominates.
//!
//! **Deviations.** The light time has no margin for the movement of nodes (the standard adds up to
//! 0.07 % for a speed of 450 000 miles an hour), and the size has no margin for convergence layers:
//! both belong into the plan and the number of bytes.
//!
//! **Volume.** Bundles already promised to a contact ([`Bookings`]) delay others or take their
//! room, according to the contact's [`Accounting`].

use crate::contacts::{Contact, Node, Plan};
use bentpipe_core::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The effect of bundles promised to a contact on later ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Accounting {
    /// Promised bundles wait in a queue at this node, which drains from now on, and a later one
    /// begins when they have been sent. This is the standard's earliest transmission opportunity,
    /// for the contacts of the routing node.
    Queue,
    /// Promised bundles take room, and do not delay others: the standard's effective volume limit,
    /// for the contacts of other nodes.
    #[default]
    Volume,
    /// Promised bundles take room from the start of the contact, and a later one begins behind
    /// them.
    Sequence,
}

/// Bytes promised to each contact, by priority.
#[derive(Clone, Debug, Default)]
pub struct Bookings {
    booked: Vec<[u64; PRIORITIES]>,
    accounting: Vec<Accounting>,
}

/// Number of priorities: bulk, normal, expedited. A bundle waits only for those of its own and
/// higher priorities.
pub const PRIORITIES: usize = 3;

impl Bookings {
    /// Creates an empty set of bookings.
    pub fn new(plan: &Plan) -> Bookings {
        let contacts = plan.contacts().len();
        Bookings {
            booked: vec![[0; PRIORITIES]; contacts],
            accounting: vec![Accounting::default(); contacts],
        }
    }

    /// Sets the accounting of a contact, by index.
    pub fn account(&mut self, contact: u32, accounting: Accounting) {
        self.accounting[contact as usize] = accounting;
    }

    /// Sets the accounting of the standard for the view of `node`: a queue for its own contacts,
    /// volumes for those of others.
    pub fn set_view(&mut self, plan: &Plan, node: Node) {
        for (place, contact) in self.accounting.iter_mut().zip(plan.contacts()) {
            *place = if contact.from == node { Accounting::Queue } else { Accounting::Volume };
        }
    }

    /// Promises `bytes` to a contact.
    pub fn book(&mut self, contact: u32, bytes: u64, priority: usize) {
        self.booked[contact as usize][priority.min(PRIORITIES - 1)] += bytes;
    }

    /// Takes back a promise, because the bundle has been sent or takes another route.
    pub fn release(&mut self, contact: u32, bytes: u64, priority: usize) {
        let place = &mut self.booked[contact as usize][priority.min(PRIORITIES - 1)];
        *place = place.saturating_sub(bytes);
    }

    /// Returns the number of bytes that go before a bundle of this priority.
    fn backlog(&self, contact: u32, priority: usize) -> u64 {
        self.booked
            .get(contact as usize)
            .map_or(0, |booked| booked[priority.min(PRIORITIES - 1)..].iter().sum())
    }

    fn accounting_of(&self, contact: u32) -> Accounting {
        self.accounting.get(contact as usize).copied().unwrap_or_default()
    }
}

/// The conditions for a route.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The node that has the bundle.
    pub from: Node,
    /// The destination.
    pub to: Node,
    /// Time at which the bundle is there.
    pub at: Time,
    /// Size of the bundle in bytes.
    pub bytes: u64,
    /// Priority of the bundle, 0 to 2.
    pub priority: usize,
    /// Time at which the bundle becomes worthless, if any.
    pub deadline: Option<Time>,
    /// Nodes that the route must avoid.
    pub excluded_nodes: &'a [Node],
    /// Contacts that must not be used, by index.
    pub excluded_contacts: &'a [u32],
    /// Nodes without storage: they forward a bundle at the moment of its arrival, or not at all.
    pub without_storage: &'a [Node],
}

impl Query<'_> {
    /// Creates a query without exclusions.
    pub fn new(from: Node, to: Node, at: Time, bytes: u64) -> Query<'static> {
        Query {
            from,
            to,
            at,
            bytes,
            priority: 1,
            deadline: None,
            excluded_nodes: &[],
            excluded_contacts: &[],
            without_storage: &[],
        }
    }
}

/// The passage of a bundle over one contact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// Index of the contact in the plan.
    pub contact: u32,
    /// Time at which the first bit leaves.
    pub first_bit: Time,
    /// Time at which the last bit leaves.
    pub last_bit: Time,
    /// Time at which the last bit arrives.
    pub arrival: Time,
}

/// A route, and the times at which a bundle passes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// The contacts in order.
    pub transmissions: Vec<Transmission>,
    /// Time at which the bundle arrives at its destination.
    pub arrival: Time,
    /// Earliest end of its contacts.
    pub ends: Time,
    /// Its first receiver.
    pub entry: Node,
}

impl Route {
    /// Returns the order of preference.
    fn rank(&self) -> (Time, usize, Reverse<Time>, Node) {
        (self.arrival, self.transmissions.len(), Reverse(self.ends), self.entry)
    }
}

/// Returns the passage of a bundle that is at the contact's transmitter at `at`, if the contact has
/// room for it.
pub fn transmission_over(
    index: u32,
    contact: &Contact,
    at: Time,
    query: &Query<'_>,
    bookings: &Bookings,
) -> Option<Transmission> {
    if contact.end <= at {
        return None;
    }
    let backlog = bookings.backlog(index, query.priority);
    let open = at.max(contact.start);
    let wait = if backlog == 0 { Span::ZERO } else { contact.rate.span_of(backlog) };
    let first_bit = match bookings.accounting_of(index) {
        Accounting::Queue => open + wait,
        Accounting::Volume => open,
        Accounting::Sequence => open.max(contact.start + wait),
    };
    if first_bit >= contact.end {
        return None;
    }
    let last_bit = first_bit + contact.rate.span_of(query.bytes);
    let room = match bookings.accounting_of(index) {
        // Promised bundles need the same time wherever in the contact they are sent.
        Accounting::Volume => last_bit + wait,
        _ => last_bit,
    };
    (room <= contact.end).then_some(Transmission {
        contact: index,
        first_bit,
        last_bit,
        arrival: last_bit + contact.delay,
    })
}

/// A path to a node.
struct Label {
    node: Node,
    hops: u32,
    ends: Time,
    entry: Node,
    transmission: Transmission,
    previous: Option<u32>,
}

/// A label that is not final: arrival, number of contacts, termination, entry node, and number of
/// the label.
type QueuedLabel = (Time, u32, Reverse<Time>, Node, u32);

/// Searches routes through a plan. It reuses its memory from one search to the next.
#[derive(Default)]
pub struct Search {
    labels: Vec<Label>,
    heap: BinaryHeap<Reverse<QueuedLabel>>,
    /// Final labels of each node that are not dominated: number of contacts, termination and entry
    /// node.
    settled: Vec<Vec<(u32, Time, Node)>>,
}

impl Search {
    /// Returns the best route, if there is one.
    pub fn best(&mut self, plan: &Plan, query: &Query<'_>, bookings: &Bookings) -> Option<Route> {
        self.best_from(plan, query, bookings, query.from, query.at, None)
    }

    /// Returns the best route from `node` at `at`. If the first contacts are given, `beginning` has
    /// their number, termination and entry node.
    fn best_from(
        &mut self,
        plan: &Plan,
        query: &Query<'_>,
        bookings: &Bookings,
        node: Node,
        at: Time,
        beginning: Option<(u32, Time, Node)>,
    ) -> Option<Route> {
        self.labels.clear();
        self.heap.clear();
        self.settled.iter_mut().for_each(Vec::clear);
        self.settled.resize(plan.nodes().len(), Vec::new());
        let (hops, ends, entry) = beginning.unwrap_or((0, Time::MAX, Node(u32::MAX)));
        self.expand(plan, query, bookings, (node, at, hops, ends, entry), None);
        while let Some(Reverse((_, _, _, _, index))) = self.heap.pop() {
            let Label { node: here, hops, ends, entry, transmission, .. } = self.labels[index as usize];
            if here == query.to {
                return Some(self.route(index));
            }
            if self.dominated(here, hops, ends, entry) && !query.without_storage.contains(&here) {
                continue;
            }
            self.settled[here.0 as usize].push((hops, ends, entry));
            self.expand(plan, query, bookings, (here, transmission.arrival, hops, ends, entry), Some(index));
        }
        None
    }

    /// Returns true if an earlier final label, which arrives no later, is no worse.
    fn dominated(&self, node: Node, hops: u32, ends: Time, entry: Node) -> bool {
        let worse = (hops, Reverse(ends), entry);
        self.settled[node.0 as usize].iter().any(|&(hops, ends, entry)| {
            hops <= worse.0
                && ends >= worse.1 .0
                && ((hops, Reverse(ends)) < (worse.0, worse.1) || entry <= worse.2)
        })
    }

    fn expand(
        &mut self,
        plan: &Plan,
        query: &Query<'_>,
        bookings: &Bookings,
        (node, at, hops, ends, entry): (Node, Time, u32, Time, Node),
        previous: Option<u32>,
    ) {
        let stores = node == query.from || !query.without_storage.contains(&node);
        for &index in plan.outgoing(node, at) {
            let contact = &plan.contacts()[index as usize];
            let to = contact.to;
            let excluded = query.excluded_contacts.contains(&index) || query.excluded_nodes.contains(&to);
            if excluded || to == query.from || self.visits(previous, to) {
                continue;
            }
            let Some(transmission) = transmission_over(index, contact, at, query, bookings) else { continue };
            if (!stores && transmission.first_bit > at)
                || query.deadline.is_some_and(|deadline| transmission.arrival > deadline)
            {
                continue;
            }
            let ends = ends.min(contact.end);
            let entry = if hops == 0 { to } else { entry };
            if to != query.to && stores && self.dominated(to, hops + 1, ends, entry) {
                continue;
            }
            let label = self.labels.len() as u32;
            self.labels.push(Label { node: to, hops: hops + 1, ends, entry, transmission, previous });
            self.heap.push(Reverse((transmission.arrival, hops + 1, Reverse(ends), entry, label)));
        }
    }

    /// Returns true if the path to a label leads through `node`. Only routes through nodes without
    /// storage could visit it twice.
    fn visits(&self, mut label: Option<u32>, node: Node) -> bool {
        while let Some(index) = label {
            if self.labels[index as usize].node == node {
                return true;
            }
            label = self.labels[index as usize].previous;
        }
        false
    }

    fn route(&self, last: u32) -> Route {
        let mut transmissions = Vec::new();
        let mut label = Some(last);
        while let Some(index) = label {
            transmissions.push(self.labels[index as usize].transmission);
            label = self.labels[index as usize].previous;
        }
        transmissions.reverse();
        let Label { ends, entry, transmission, .. } = self.labels[last as usize];
        Route { transmissions, arrival: transmission.arrival, ends, entry }
    }

    /// Returns up to `max` routes that visit no node twice, the best first (Yen's algorithm).
    pub fn routes(&mut self, plan: &Plan, query: &Query<'_>, bookings: &Bookings, max: usize) -> Vec<Route> {
        let mut found: Vec<Route> = self.best(plan, query, bookings).into_iter().collect();
        let mut candidates: Vec<Route> = Vec::new();
        while found.len() < max {
            let Some(last) = found.last().cloned() else { break };
            for spur in 0..last.transmissions.len() {
                let root = &last.transmissions[..spur];
                let shared = |route: &&Route| {
                    route.transmissions.len() > spur
                        && route.transmissions[..spur].iter().zip(root).all(|(a, b)| a.contact == b.contact)
                };
                let next = |route: &Route| route.transmissions[spur].contact;
                let mut contacts: Vec<u32> = found.iter().filter(shared).map(next).collect();
                contacts.extend_from_slice(query.excluded_contacts);
                let mut nodes: Vec<Node> = query.excluded_nodes.to_vec();
                nodes.push(query.from);
                nodes.extend(
                    root.iter().map(|transmission| plan.contacts()[transmission.contact as usize].to),
                );
                let contact = |transmission: &Transmission| plan.contacts()[transmission.contact as usize];
                let (node, at) = root.last().map_or((query.from, query.at), |transmission| {
                    (contact(transmission).to, transmission.arrival)
                });
                let ends = root.iter().map(|transmission| contact(transmission).end).min();
                let beginning =
                    root.first().zip(ends).map(|(first, ends)| (spur as u32, ends, contact(first).to));
                let query = Query { excluded_contacts: &contacts, excluded_nodes: &nodes, ..*query };
                if let Some(mut route) = self.best_from(plan, &query, bookings, node, at, beginning) {
                    route.transmissions.splice(0..0, root.iter().copied());
                    if !candidates.contains(&route) && !found.contains(&route) {
                        candidates.push(route);
                    }
                }
            }
            let Some(best) =
                (0..candidates.len()).min_by(|a, b| candidates[*a].rank().cmp(&candidates[*b].rank()))
            else {
                break;
            };
            found.push(candidates.swap_remove(best));
        }
        found
    }
}

/// Returns the passages of a bundle over the contacts of a route that was found earlier; `None` if
/// a contact has ended or has no room, or if the bundle comes too late for one.
pub fn follow(plan: &Plan, route: &Route, query: &Query<'_>, bookings: &Bookings) -> Option<Route> {
    let mut at = query.at;
    let mut transmissions = Vec::with_capacity(route.transmissions.len());
    for transmission in &route.transmissions {
        let contact = &plan.contacts()[transmission.contact as usize];
        let excluded = query.excluded_nodes.contains(&contact.to)
            || query.excluded_contacts.contains(&transmission.contact);
        if excluded {
            return None;
        }
        let transmission = transmission_over(transmission.contact, contact, at, query, bookings)?;
        at = transmission.arrival;
        transmissions.push(transmission);
    }
    let in_time = query.deadline.is_none_or(|deadline| at <= deadline);
    in_time.then_some(Route { transmissions, arrival: at, ends: route.ends, entry: route.entry })
}
