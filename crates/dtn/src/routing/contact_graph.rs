//! Contact graph routing by CCSDS 734.3-B-1, Schedule-Aware Bundle Routing (SABR).
//!
//! A route is a sequence of contacts. Suppose that the transmitter of a contact with rate R and
//! light time d has a bundle of B bytes at time t. The transmission of the bundle starts at s, the
//! latest of t, the start of the contact, and the end of the transmissions that precede it. The
//! last bit leaves at e = s + 8 B / R and arrives at e + d. The contact is usable if s < end and e
//! <= end, where end is the end of the contact. Nodes forward a bundle only after its last bit has
//! arrived. The arrival of a bundle is the arrival of its last bit.
//!
//! The best route has the earliest arrival. Ties are broken by the fewest contacts, then the latest
//! termination (the earliest end of the route's contacts), then the lowest number of the entry node
//! (the first receiver), in the order of section 3.2.8 of the standard. Because of these ties, one
//! best predecessor for each node is not sufficient: a route that reaches a relay later can have
//! fewer contacts and arrive at the destination at the same time. [`Search`] therefore keeps all
//! labels of a node that no other label dominates.
//!
//! **Deviations.** The light time has no margin for the movement of nodes (the standard adds up to
//! 0.07 % for a speed of 450 000 miles per hour), and the size of a bundle has no margin for
//! convergence layers. Callers must include these margins in the plan and in the number of bytes.
//!
//! **Volume.** Reservations for other bundles ([`Bookings`]) delay a bundle or reduce the volume
//! available to it, according to the [`Accounting`] of the contact.

use crate::contacts::{Contact, Node, Plan};
use bentpipe_core::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The effect of reservations of a contact on later bundles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Accounting {
    /// The bundles with reservations wait in a queue at this node. The queue is sent from now, or
    /// from the start of a future contact. A later bundle is sent after the queue. This is the
    /// standard's earliest transmission opportunity, for contacts that leave the routing node.
    Queue,
    /// Reservations reduce the volume of the contact, but do not delay a later bundle. This is the
    /// standard's effective volume limit, for contacts that leave other nodes.
    #[default]
    Volume,
    /// The bundles with reservations are sent from the start of the contact. A later bundle is sent
    /// after them.
    Sequence,
}

/// Reserved bytes of each contact, by priority.
#[derive(Clone, Debug, Default)]
pub struct Bookings {
    booked: Vec<[u64; PRIORITIES]>,
    accounting: Vec<Accounting>,
}

/// Number of priorities: bulk, normal and expedited. A bundle waits only for bundles of the same or
/// a higher priority.
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

    /// Sets the accounting of the contact with this index.
    pub fn account(&mut self, contact: u32, accounting: Accounting) {
        self.accounting[contact as usize] = accounting;
    }

    /// Sets the standard's accounting for routing at `node`: [`Accounting::Queue`] for contacts
    /// that leave the node, and [`Accounting::Volume`] for all other contacts.
    pub fn set_view(&mut self, plan: &Plan, node: Node) {
        for (accounting, contact) in self.accounting.iter_mut().zip(plan.contacts()) {
            *accounting = if contact.from == node { Accounting::Queue } else { Accounting::Volume };
        }
    }

    /// Reserves `bytes` of a contact.
    pub fn book(&mut self, contact: u32, bytes: u64, priority: usize) {
        self.booked[contact as usize][priority.min(PRIORITIES - 1)] += bytes;
    }

    /// Releases reserved bytes, because the bundle was sent or takes another route.
    pub fn release(&mut self, contact: u32, bytes: u64, priority: usize) {
        let booked = &mut self.booked[contact as usize][priority.min(PRIORITIES - 1)];
        *booked = booked.saturating_sub(bytes);
    }

    /// Returns the number of reserved bytes that are sent before a bundle of this priority.
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
    /// Time from which the node has the bundle.
    pub at: Time,
    /// Size of the bundle in bytes.
    pub bytes: u64,
    /// Priority of the bundle, 0 to 2.
    pub priority: usize,
    /// Latest permitted arrival; `None` for unlimited.
    pub deadline: Option<Time>,
    /// Nodes that the route must avoid.
    pub excluded_nodes: &'a [Node],
    /// Indices of the contacts that the route must avoid.
    pub excluded_contacts: &'a [u32],
    /// Nodes without storage, which forward a bundle immediately when it arrives or drop it.
    pub without_storage: &'a [Node],
}

impl Query<'_> {
    /// Creates a query with normal priority, without deadline and exclusions.
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

/// The transmission of a bundle over one contact.
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

/// A route of a bundle, with the times of its transmissions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// The transmissions in the order of the route.
    pub transmissions: Vec<Transmission>,
    /// Time at which the bundle arrives at its destination.
    pub arrival: Time,
    /// Termination: the earliest end of the route's contacts.
    pub ends: Time,
    /// The first receiver on the route.
    pub entry: Node,
}

impl Route {
    /// Returns a key that sorts better routes first.
    fn rank(&self) -> (Time, usize, Reverse<Time>, Node) {
        (self.arrival, self.transmissions.len(), Reverse(self.ends), self.entry)
    }
}

/// Returns the transmission of a bundle over a contact if the transmitter has the bundle at `at`;
/// `None` if the contact has no room for the bundle.
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
        // The bundles with reservations need the same time, whenever they are sent during the
        // contact.
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

/// A partial route, from the source to a node.
struct Label {
    node: Node,
    hops: u32,
    ends: Time,
    entry: Node,
    transmission: Transmission,
    previous: Option<u32>,
}

/// A label that is not final yet: arrival, number of contacts, termination, entry node, and index
/// of the label.
type QueuedLabel = (Time, u32, Reverse<Time>, Node, u32);

/// A search for routes through a plan. It reuses its memory for the next search.
#[derive(Default)]
pub struct Search {
    labels: Vec<Label>,
    heap: BinaryHeap<Reverse<QueuedLabel>>,
    /// Number of contacts, termination and entry node of each final label, by node.
    settled: Vec<Vec<(u32, Time, Node)>>,
}

impl Search {
    /// Returns the best route, if there is one.
    pub fn best(&mut self, plan: &Plan, query: &Query<'_>, bookings: &Bookings) -> Option<Route> {
        self.best_from(plan, query, bookings, query.from, query.at, None)
    }

    /// Returns the best route from `node` at `at`. If a route to `node` is given, `beginning`
    /// contains its number of contacts, termination and entry node.
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

    /// Returns true if a final label of the node is at least as good. Final labels never arrive
    /// later.
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

    /// Returns true if the route of a label visits `node`. Only routes through nodes without
    /// storage could otherwise visit a node twice.
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

    /// Returns up to `max` routes, best first, that visit no node twice (Yen's algorithm).
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

/// Returns the times of a bundle on the contacts of a route that was found earlier. Returns `None`
/// if a contact has ended, has no room or is excluded, or if the arrival exceeds the deadline.
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
