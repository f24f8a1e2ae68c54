//! A network of bundle nodes over a contact plan, with storage, routing and convergence layers. The
//! caller advances the time.
//!
//! Each contact transmits one datagram after the other at its rate. A datagram arrives if its
//! transmission ends before the contact does. Over [UDP](Convergence::Udp), each bundle is one
//! datagram, and the sender removes the bundle when it has been sent. A transmission that would not
//! end before the contact is not started. Over [LTP](Convergence::Ltp), each bundle is a red block,
//! which the sender stores until reports have claimed all of it. Contacts in opposite directions
//! are independent.
//!
//! Every bundle is delivered, expired, dropped for another [`Reason`], or still stored.

mod blocks;
pub mod config;
mod ltp;
mod outcome;
pub mod routing;

pub use crate::agent::Discard;
pub use config::{Config, Convergence};
pub use outcome::{Bundle, Counters, Outcome, Reason, Sent};

use crate::agent::{Agent, Metadata, Numbers, Rules, Verdict};
use crate::bundle::Header;
use crate::contacts::{Node, Plan};
use bentpipe_core::Time;
use ltp::Links;
use routing::{OutgoingBundle, Router};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

struct State {
    bundle: Bundle,
    size: u64,
    expires: Time,
    /// Number of copies at nodes and in transit.
    copies: u32,
    delivered: bool,
    /// Node and reason of the last drop of a copy.
    lost: (Node, Reason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A contact opens.
    Opens(u32),
    /// A contact closes.
    Closes(u32),
    /// A contact has transmitted its current datagram.
    Sent(u32),
    /// The last bit of a bundle arrives over a contact, after a number of hops.
    Arrives(u64, u32, u32),
    /// The segment in flight with this number arrives over a contact.
    Segment(u64, u32),
    /// The lifetime of a bundle ends.
    Expires(u64),
    /// A node routes a stored bundle again.
    Retry(u64, u32),
    /// Timers of LTP engines expire.
    Timers,
}

/// The state of a contact.
#[derive(Default)]
pub(crate) struct Channel {
    pub open: bool,
    /// Time at which the current transmission ends; `None` if the contact is idle.
    pub busy: Option<Time>,
    /// Copies that wait for this contact.
    pub queue: VecDeque<u64>,
}

/// Returns true if a datagram is corrupted in transit, given the time at which its transmission
/// ended and its length in bytes.
pub type Errors = Box<dyn FnMut(Time, u64) -> bool + Send>;

/// A network of bundle nodes.
pub struct Network {
    /// The actual contacts.
    plan: Plan,
    /// The contacts that nodes know and use for routing.
    known: Plan,
    config: Config,
    now: Time,
    bundles: BTreeMap<u64, State>,
    next_bundle: u64,
    agents: Vec<Agent<Numbers, u64>>,
    channels: Vec<Channel>,
    router: Router,
    links: Links,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    sequence: u64,
    /// Time of the scheduled event [`Event::Timers`].
    timers: Option<Time>,
    outcomes: VecDeque<Outcome>,
    counters: Counters,
    /// Totals of the transmissions from the first node to the second.
    sent: BTreeMap<(Node, Node), Sent>,
    errors: Errors,
}

impl Network {
    /// Creates a network over the actual contacts `plan`. Nodes use the contacts of `known` for
    /// routing. Both plans must have the same nodes.
    pub fn new(plan: Plan, known: Plan, config: Config, errors: Errors) -> Network {
        let nodes = plan.nodes().len();
        let router = config.routing.router(&known);
        let rules = Rules {
            storage: config.storage,
            discard: config.discard,
            duplicate_history: !router.is_forwarding(),
            expiry_timers: false,
        };
        let mut network = Network {
            agents: (0..nodes).map(|_| Agent::new(Numbers, rules)).collect(),
            channels: plan.contacts().iter().map(|_| Channel::default()).collect(),
            router,
            links: Links::new(&plan, &config),
            plan,
            known,
            config,
            now: Time::ZERO,
            bundles: BTreeMap::new(),
            next_bundle: 0,
            events: BinaryHeap::new(),
            sequence: 0,
            timers: None,
            outcomes: VecDeque::new(),
            counters: Counters::default(),
            sent: BTreeMap::new(),
            errors,
        };
        for index in 0..network.plan.contacts().len() as u32 {
            let contact = network.plan.contacts()[index as usize];
            network.schedule(contact.start, Event::Opens(index));
            network.schedule(contact.end, Event::Closes(index));
        }
        network
    }

    /// Returns the actual contacts.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the network's counts so far.
    pub fn counters(&self) -> Counters {
        Counters { searches: self.router.searches(), ..self.counters }
    }

    /// Returns the totals of the transmissions so far for each pair of transmitter and receiver, in
    /// the order of nodes.
    pub fn sent(&self) -> impl Iterator<Item = ([Node; 2], Sent)> + '_ {
        self.sent.iter().map(|((from, to), sent)| ([*from, *to], *sent))
    }

    /// Returns the number of bundles that are neither delivered nor dropped.
    pub fn stored(&self) -> u64 {
        self.bundles.values().filter(|state| !state.delivered).count() as u64
    }

    /// Adds a bundle to the network at `now`, which must not precede the time of the last call, and
    /// returns the number of the bundle. Its outcome is available from
    /// [`next_outcome`](Self::next_outcome).
    pub fn insert(&mut self, now: Time, bundle: Bundle) -> u64 {
        self.advance(now);
        let number = self.next_bundle;
        self.next_bundle += 1;
        self.counters.created += 1;
        let header = Header {
            source: u64::from(bundle.from.0) + 1,
            destination: u64::from(bundle.to.0) + 1,
            created: now,
            sequence: 0,
            lifetime: bundle.lifetime,
        };
        let size = header.length(bundle.payload);
        let expires = now + bundle.lifetime;
        self.bundles.insert(
            number,
            State {
                bundle,
                size,
                expires,
                copies: 1,
                delivered: false,
                lost: (bundle.from, Reason::Expired),
            },
        );
        self.schedule(expires, Event::Expires(number));
        self.router.created(number, bundle.from);
        self.store_copy(number, bundle.from, 0);
        number
    }

    /// Returns the time at which [`advance`](Self::advance) should be called next.
    pub fn next_wake(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((time, ..))| *time)
    }

    /// Advances the network to `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(&Reverse((time, _, event))) =
            self.events.peek().filter(|Reverse((time, ..))| *time <= now)
        {
            self.events.pop();
            self.now = self.now.max(time);
            self.handle(event);
        }
        self.now = self.now.max(now);
    }

    /// Returns the next outcome of a bundle, in chronological order.
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        self.outcomes.pop_front()
    }

    fn schedule(&mut self, time: Time, event: Event) {
        self.sequence += 1;
        // At equal times, transmissions end first, then contacts close, then contacts open.
        let rank = match event {
            Event::Sent(_) => 0,
            Event::Closes(_) => 1,
            Event::Opens(_) => 2,
            _ => 3,
        };
        self.events.push(Reverse((time, rank << 56 | self.sequence, event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Opens(index) => {
                self.channels[index as usize].open = true;
                self.opened(index);
                self.transmit(index);
            }
            Event::Closes(index) => self.closed(index),
            Event::Sent(index) => self.has_sent(index),
            Event::Arrives(bundle, contact, hops) => self.arrived(bundle, contact, hops),
            Event::Segment(number, contact) => self.segment(number, contact),
            Event::Expires(bundle) => self.expire(bundle),
            Event::Retry(bundle, node) => {
                if self.agents[node as usize].contains(bundle) {
                    self.router.release(bundle, Node(node));
                    self.route(bundle, Node(node));
                }
            }
            Event::Timers => self.timers(),
        }
    }

    /// Queues bundles for a contact that has opened.
    fn opened(&mut self, index: u32) {
        let contact = self.plan.contacts()[index as usize];
        match &mut self.router {
            Router::Forwarding(router) => {
                // Add the bundles that wait for this neighbour without a chosen contact.
                let outgoing = router.take_waiting(contact.from, contact.to);
                return self.channels[index as usize].queue.extend(outgoing);
            }
            Router::Replication(router) => router.encounter(self.now, contact.from, contact.to),
        }
        let here: Vec<u64> = self.agents[contact.from.0 as usize].iter().collect();
        for bundle in here {
            self.offer(bundle, index);
        }
    }

    fn closed(&mut self, index: u32) {
        let contact = self.plan.contacts()[index as usize];
        let channel = &mut self.channels[index as usize];
        (channel.open, channel.busy) = (false, None);
        let left: Vec<u64> = channel.queue.drain(..).collect();
        self.cancel_sessions(contact.from, contact.to);
        if self.router.is_forwarding() {
            for bundle in left {
                self.router.release(bundle, contact.from);
                if self.agents[contact.from.0 as usize].contains(bundle) {
                    self.route(bundle, contact.from);
                }
            }
        }
    }

    /// Stores a bundle at a node and routes it. If the node has no room, it drops this bundle or
    /// other bundles.
    fn store_copy(&mut self, bundle: u64, node: Node, hops: u32) {
        let State { size, bundle: properties, expires, .. } = &self.bundles[&bundle];
        let metadata = Metadata {
            name: bundle,
            size: *size,
            priority: properties.priority,
            expires: *expires,
            hops,
            hop_limit: None,
            fragment: None,
        };
        let agent = &mut self.agents[node.0 as usize];
        match agent.accept(self.now, metadata, &bundle) {
            Verdict::Stored { dropped, .. } => {
                self.counters.stored_max = self.counters.stored_max.max(agent.bytes());
                for dropped in dropped {
                    self.release_copy(dropped, node);
                    self.lose(dropped, node, Reason::StorageFull);
                }
                self.route(bundle, node);
            }
            Verdict::Expired => self.lose(bundle, node, Reason::Expired),
            // The node has or had a copy of this bundle. With a forwarding routing, this happens if
            // an acknowledgment was lost and the sender chose another route.
            Verdict::Duplicate => self.end_copy(bundle),
            Verdict::NoRoom => self.lose(bundle, node, Reason::StorageFull),
        }
    }

    /// Chooses a contact for a stored bundle, or offers copies of it over the open contacts.
    fn route(&mut self, bundle: u64, node: Node) {
        let State { bundle: properties, size, expires, .. } = &self.bundles[&bundle];
        let (properties, size, expires) = (*properties, *size, *expires);
        if let Router::Forwarding(router) = &mut self.router {
            let bytes = size + self.config.convergence.overhead(size);
            let outgoing =
                OutgoingBundle { now: self.now, node, number: bundle, bundle: &properties, bytes, expires };
            let Some(known) = router.choose(&self.known, &outgoing) else { return };
            // An unannounced outage may have removed the contact. The node notices this only during
            // the contact, so it routes the bundle again at the contact's end.
            let Some(index) = self.actual_contact(&known) else {
                return self.schedule(known.end, Event::Retry(bundle, node.0));
            };
            self.channels[index as usize].queue.push_back(bundle);
            return self.transmit(index);
        }
        for position in 0..self.plan.outgoing(node, self.now).len() {
            let index = self.plan.outgoing(node, self.now)[position];
            // The bundle may have left, or may have been dropped, over an earlier contact of this
            // loop.
            if !self.agents[node.0 as usize].contains(bundle) {
                return;
            }
            if self.channels[index as usize].open {
                self.offer(bundle, index);
                self.transmit(index);
            }
        }
    }

    /// Returns the index of the actual contact for a known contact.
    fn actual_contact(&self, known: &crate::contacts::Contact) -> Option<u32> {
        let contacts = self.plan.contacts();
        let candidates = self.plan.outgoing(known.from, self.now.max(known.start)).iter().copied();
        let fitting = candidates.filter(|index| {
            let contact = &contacts[*index as usize];
            contact.to == known.to && contact.start < known.end
        });
        // Contacts of one pair may overlap.
        let is_itself = |index: &u32| {
            (contacts[*index as usize].start, contacts[*index as usize].end) == (known.start, known.end)
        };
        fitting
            .clone()
            .find(is_itself)
            .or_else(|| fitting.min_by_key(|index| contacts[*index as usize].start))
    }

    /// Adds a bundle to the queue of an open contact, if the routing gives the neighbour a copy.
    fn offer(&mut self, bundle: u64, index: u32) {
        let contact = self.plan.contacts()[index as usize];
        let to = self.bundles[&bundle].bundle.to;
        let holds = self.agents[contact.to.0 as usize].has_seen(&bundle) && to != contact.to;
        if !holds && self.router.should_copy(bundle, contact.from, contact.to, to) {
            let queue = &mut self.channels[index as usize].queue;
            if !queue.contains(&bundle) {
                queue.push_back(bundle);
            }
        }
    }

    /// Starts the next transmission over a contact, if the contact is open and idle.
    fn transmit(&mut self, index: u32) {
        let channel = &self.channels[index as usize];
        if !channel.open || channel.busy.is_some() {
            return;
        }
        match self.config.convergence {
            Convergence::Udp => self.transmit_bundle(index),
            Convergence::Ltp { .. } => self.transmit_segment(index),
        }
    }

    /// Removes and returns the next bundle of a contact's queue that is still stored and can be
    /// sent before the contact ends. Higher priorities come first, and older bundles within a
    /// priority.
    fn next_bundle(&mut self, index: u32) -> Option<u64> {
        let contact = self.plan.contacts()[index as usize];
        loop {
            let channel = &mut self.channels[index as usize];
            let agent = &self.agents[contact.from.0 as usize];
            let priority = |bundle: u64| agent.metadata(bundle).map_or(0, |metadata| metadata.priority);
            let order = |bundle: &u64| Reverse(priority(*bundle));
            // Usually all bundles have the same priority, so the first one is next.
            let best = match channel.queue.front() {
                Some(first) if agent.has_single_priority() => Some((0, *first)),
                _ => channel
                    .queue
                    .iter()
                    .copied()
                    .enumerate()
                    .min_by_key(|(position, bundle)| (order(bundle), *position)),
            };
            let (position, bundle) = best?;
            channel.queue.remove(position);
            if !agent.contains(bundle) {
                continue;
            }
            let size = self.bundles[&bundle].size;
            let unit = size + self.config.convergence.overhead(size);
            if self.now + contact.rate.span_of(unit) <= self.known_end(index) {
                return Some(bundle);
            }
            // The bundle no longer fits into this contact, so it needs another route.
            if self.router.is_forwarding() {
                self.router.release(bundle, contact.from);
                self.route(bundle, contact.from);
            }
        }
    }

    /// Returns the end of a contact in the known plan, which nodes rely on.
    fn known_end(&self, index: u32) -> Time {
        let contact = &self.plan.contacts()[index as usize];
        let contacts = self.known.contacts();
        let known =
            self.known.outgoing(contact.from, self.now).iter().map(|index| &contacts[*index as usize]);
        let mut known = known.filter(|known| known.to == contact.to && known.start <= self.now);
        known.next().map_or(contact.end, |known| known.end)
    }

    fn transmit_bundle(&mut self, index: u32) {
        let Some(bundle) = self.next_bundle(index) else { return };
        let contact = self.plan.contacts()[index as usize];
        let size = self.bundles[&bundle].size;
        let unit = size + self.config.convergence.overhead(size);
        let sent = self.start(index, unit);
        self.router.departed(bundle, contact.from);
        let hops = self.hops(bundle, contact.from);
        let to = self.bundles[&bundle].bundle.to;
        if self.router.keeps_copy(bundle, contact.from, contact.to, to) {
            self.bundle_mut(bundle).copies += 1;
        } else {
            self.agents[contact.from.0 as usize].drop(bundle);
            self.router.release(bundle, contact.from);
        }
        if sent > contact.end {
            // The contact ended without announcement during the transmission.
            return self.lose(bundle, contact.from, Reason::CutOff);
        }
        if (self.errors)(sent, unit) {
            return self.lose(bundle, contact.to, Reason::Errors);
        }
        self.schedule(sent + contact.delay, Event::Arrives(bundle, index, hops + 1));
    }

    /// Starts a transmission of `bytes` over a contact, and returns the time at which it ends.
    fn start(&mut self, index: u32, bytes: u64) -> Time {
        let contact = self.plan.contacts()[index as usize];
        let sent = self.now + contact.rate.span_of(bytes);
        self.counters.sent_bytes += bytes;
        let hop = self.sent.entry((contact.from, contact.to)).or_default();
        (hop.bytes, hop.time) = (hop.bytes + bytes, hop.time + sent.since(self.now));
        self.counters.transmissions += 1;
        self.channels[index as usize].busy = Some(sent);
        self.schedule(sent, Event::Sent(index));
        sent
    }

    fn has_sent(&mut self, index: u32) {
        let channel = &mut self.channels[index as usize];
        // If the contact has closed in the meantime, the end of the transmission has no effect.
        if channel.busy == Some(self.now) {
            channel.busy = None;
            self.transmit(index);
        }
    }

    /// Processes the arrival of a bundle's last bit.
    fn arrived(&mut self, bundle: u64, contact: u32, hops: u32) {
        self.arrived_at(bundle, self.plan.contacts()[contact as usize].to, hops);
    }

    fn arrived_at(&mut self, bundle: u64, node: Node, hops: u32) {
        let now = self.now;
        let state = self.bundle_mut(bundle);
        if state.bundle.to == node && (state.delivered || state.expires > now) {
            if !std::mem::replace(&mut state.delivered, true) {
                let payload = state.bundle.payload;
                self.counters.delivered += 1;
                self.counters.delivered_bytes += payload;
                self.outcomes.push_back(Outcome::Delivered { bundle, to: node, hops });
            }
            return self.end_copy(bundle);
        }
        self.store_copy(bundle, node, hops);
    }

    /// Removes a copy from the count, and reports the bundle's outcome after its last copy. If no
    /// copy was delivered, the outcome names the node and the reason of the last drop, which may
    /// precede the end of the last copy: a receiver may drop a copy before its sender knows that it
    /// arrived.
    fn end_copy(&mut self, bundle: u64) {
        let state = self.bundle_mut(bundle);
        state.copies -= 1;
        if state.copies > 0 {
            return;
        }
        let (delivered, (node, reason)) = (state.delivered, state.lost);
        self.bundles.remove(&bundle);
        self.router.ended(bundle);
        if !delivered {
            self.outcomes.push_back(Outcome::Dropped { bundle, node, reason });
            match reason {
                Reason::Expired => self.counters.expired += 1,
                _ => self.counters.dropped += 1,
            }
        }
    }

    /// Records a copy that is no longer stored as dropped, for this reason.
    fn lose(&mut self, bundle: u64, node: Node, reason: Reason) {
        self.bundle_mut(bundle).lost = (node, reason);
        self.end_copy(bundle);
    }

    /// Removes the routing state and the LTP sessions of a copy that a node has dropped.
    fn release_copy(&mut self, bundle: u64, node: Node) {
        self.router.release(bundle, node);
        self.links.release_copy(bundle, node);
    }

    /// Drops all stored copies of a bundle at the end of its lifetime. Copies in transit are
    /// dropped when they arrive.
    fn expire(&mut self, bundle: u64) {
        if !self.bundles.contains_key(&bundle) {
            return;
        }
        for node in 0..self.agents.len() {
            let node_id = Node(node as u32);
            if self.bundles.contains_key(&bundle) && self.agents[node].contains(bundle) {
                self.agents[node].drop(bundle);
                self.release_copy(bundle, node_id);
                self.lose(bundle, node_id, Reason::Expired);
            }
        }
    }

    /// Returns the number of contacts that a stored bundle has crossed.
    fn hops(&self, bundle: u64, node: Node) -> u32 {
        self.agents[node.0 as usize].metadata(bundle).map_or(0, |metadata| metadata.hops)
    }

    fn bundle_mut(&mut self, bundle: u64) -> &mut State {
        self.bundles.get_mut(&bundle).expect("a bundle with copies is in `bundles`")
    }
}
