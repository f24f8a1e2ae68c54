//! A bundle agent (RFC 9171, section 5). It accepts bundles and delivers, forwards or drops them.
//! It does no I/O except for its storage. [`bentpipe_dtn::agent`] handles lifetimes, duplicates,
//! storage limits, hops and fragments. This file handles BPv7 bundles, routes and reports.
//!
//! A bundle is accepted when it is in the storage and the storage is committed. It leaves the
//! storage when it has been forwarded or delivered, or when it is dropped, for example at the end
//! of its lifetime. Over TCPCL and LTP, a bundle is forwarded when the next agent has acknowledged
//! it. MTCP, STCP and UDP have no acknowledgments: there, a bundle is forwarded as soon as it has
//! been written to the socket, and may still be lost.
//!
//! After a crash, the agent may forward or deliver an accepted bundle twice, but it loses none. The
//! file of a payload is named after its bundle, so a second delivery replaces the first.
//!
//! Forwarding updates the hop count, the bundle age and the previous node of a bundle. If a bundle
//! requests status reports, they are sent on reception, forwarding, delivery and deletion.

mod fragments;
#[cfg(test)]
mod tests;

use crate::config::{self, Config};
use crate::schedule::{milliseconds, Schedule, PRIORITY};
use crate::security::{Keys, Refusal};
use crate::store::Store;
use bentpipe_core::Time;
use bentpipe_dtn::agent::fragments::MIN_PAYLOAD;
use bentpipe_dtn::agent::{self as dtn, Exceeded, Metadata, Rules};
use bentpipe_dtn::contacts::Node;
use bp7::administrative_record as report;
use bp7::canonical::{BUNDLE_AGE_BLOCK, HOP_COUNT_BLOCK};
use bp7::crc::{CrcBlock, CrcValue};
use bp7::flags::{BundleControlFlags, BundleValidation};
use bp7::{dtntime, Bundle, EndpointID};
use bytes::Bytes;
use fragments::Reassembled;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

/// Bytes added to the size of a bundle when its contact is chosen, since forwarding may lengthen
/// the blocks that change at each hop.
const GROWTH: u64 = 64;

/// Counts of an agent since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Bundles and malformed data received from other agents or applications.
    pub received: u64,
    /// Received bundles that were already stored.
    pub duplicate: u64,
    /// Received data that was not a valid bundle.
    pub malformed: u64,
    /// Received bundles that were refused because the storage was full.
    pub refused: u64,
    /// Bundles that this agent fragmented.
    pub fragmented: u64,
    /// Bundles that were not delivered because their signature or encryption was missing or wrong.
    pub rejected: u64,
    /// Bundles sent to other agents: acknowledged over TCPCL and LTP, written to the socket over
    /// MTCP, STCP and UDP.
    pub forwarded: u64,
    /// Bundles that this agent delivered to endpoints of its node.
    pub delivered: u64,
    /// Bytes of the delivered payloads.
    pub delivered_bytes: u64,
    /// Bundles that were dropped because their lifetime was over or their hop limit was reached.
    pub expired: u64,
    /// Status reports that this agent created.
    pub reports: u64,
    /// Bundles in the storage now.
    pub stored: u64,
}

/// The agent's answer to a received bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The sender may remove the bundle: it is stored now, was stored before, or has expired.
    Taken,
    /// The storage has too little free space for the bundle.
    NoRoom,
    /// The data is not a valid bundle, or the bundle breaks a rule of RFC 9171.
    Malformed,
}

/// The next step of a stored bundle.
struct RouteState {
    next_hop: NextHop,
    /// The destination, if it is a node of the contact plan.
    planned_destination: Option<Node>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum NextHop {
    /// Delivery to an endpoint of this node.
    Local,
    /// Forwarding to the peer of this number, as soon as the peer can be reached.
    Peer(usize),
    /// Forwarding over the contact of this index in the plan.
    Contact(u32),
    /// No route leads to the destination.
    Unroutable,
}

/// A payload for an endpoint of this node.
#[derive(Debug)]
pub struct Delivery {
    /// Number of the bundle in the storage; of one fragment if the bundle arrived in fragments.
    pub number: u64,
    /// Identifier of the bundle: source and creation time.
    pub id: String,
    /// Numbers of all fragments of the bundle in the storage; empty for a bundle that was not
    /// fragmented.
    pub fragments: Vec<u64>,
    /// Service name of the endpoint; empty for the endpoint of the node itself.
    pub service: String,
    /// The payload of the bundle.
    pub payload: Vec<u8>,
}

/// Routes for bundles: the agent's own node, and the peer for each destination.
pub struct Routes {
    node: EndpointID,
    /// The number of peers in the configuration.
    peers: usize,
    next: BTreeMap<String, usize>,
    default: Option<usize>,
}

impl Routes {
    /// Returns the routes of a configuration.
    ///
    /// # Errors
    /// If a name is not a node, or a route leads to a node that is not a peer.
    pub fn new(config: &Config) -> io::Result<Routes> {
        let invalid = |message| io::Error::new(io::ErrorKind::InvalidInput, message);
        let named = |text: &str| config::node(text).map_err(invalid);
        let mut next = BTreeMap::new();
        let peer_index = |text: &str| -> io::Result<usize> {
            let node = named(text)?;
            let same = |peer: &config::Peer| config::node(&peer.node).is_ok_and(|other| other == node);
            config.peers.iter().position(same).ok_or_else(|| invalid(format!("\"{text}\" is not a peer")))
        };
        for (index, peer) in config.peers.iter().enumerate() {
            next.insert(named(&peer.node)?.to_string(), index);
        }
        let mut default = None;
        for (to, via) in &config.routes {
            match to.as_str() {
                "*" => default = Some(peer_index(via)?),
                to => {
                    next.insert(named(to)?.to_string(), peer_index(via)?);
                }
            }
        }
        Ok(Routes { node: named(&config.node)?, peers: config.peers.len(), next, default })
    }

    /// Returns the peer for bundles to a destination, if a route leads there.
    fn peer(&self, destination: &EndpointID) -> Option<usize> {
        let node = config::node(&destination.node_id()?).ok()?;
        self.next.get(&node.to_string()).copied().or(self.default)
    }
}

/// A bundle agent: its stored bundles, and the next step of each.
pub struct Agent {
    bundles: dtn::Agent<Store, String>,
    routes: Routes,
    route_states: BTreeMap<u64, RouteState>,
    queues: Vec<VecDeque<u64>>,
    local: VecDeque<u64>,
    counters: Counters,
    schedule: Option<Schedule>,
    /// Bundles by the contact over which they leave.
    contacts: BTreeMap<u32, VecDeque<u64>>,
    /// Bundles to nodes of the plan that currently have no route.
    unroutable: BTreeSet<u64>,
    /// The time of the last [`advance`](Agent::advance).
    now: Time,
    keys: Keys,
}

impl Agent {
    /// Creates an agent with the bundles of its storage. It stores at most `limit` bytes of
    /// bundles.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn new(
        routes: Routes,
        store: Store,
        limit: u64,
        schedule: Option<Schedule>,
        keys: Keys,
    ) -> io::Result<Agent> {
        let queues = (0..routes.peers).map(|_| VecDeque::new()).collect();
        let numbers: Vec<u64> = store.numbers().collect();
        let rules = Rules {
            storage: limit,
            discard: dtn::Discard::Newest,
            duplicate_history: false,
            expiry_timers: true,
        };
        let mut agent = Agent {
            bundles: dtn::Agent::new(store, rules),
            routes,
            route_states: BTreeMap::new(),
            queues,
            local: VecDeque::new(),
            counters: Counters::default(),
            schedule,
            contacts: BTreeMap::new(),
            unroutable: BTreeSet::new(),
            now: Time::ZERO,
            keys,
        };
        for number in numbers {
            let stored = agent.bundles.store().read(number)?;
            match parse(&stored) {
                Some(bundle) => {
                    agent.bundles.insert(number, agent.metadata(&bundle, &stored));
                    agent.choose_next_hop(number, &bundle);
                }
                None => dtn::Store::remove(agent.bundles.store_mut(), number),
            }
        }
        Ok(agent)
    }

    /// Returns the agent's counts since its start.
    pub fn counters(&self) -> Counters {
        Counters { stored: self.bundles.len() as u64, ..self.counters }
    }

    /// Stores a bundle from another agent. The bundle is accepted, and may be acknowledged, after
    /// the next [`commit`](Self::commit).
    pub fn receive(&mut self, bytes: &[u8]) -> Verdict {
        self.counters.received += 1;
        let Some(bundle) = parse(bytes) else {
            self.counters.malformed += 1;
            return Verdict::Malformed;
        };
        let verdict = self.store_bundle(bytes, &bundle);
        if verdict == Verdict::Taken {
            self.report(
                &bundle,
                BundleControlFlags::BUNDLE_STATUS_REQUEST_RECEPTION,
                report::RECEIVED_BUNDLE,
                0,
            );
        }
        verdict
    }

    fn store_bundle(&mut self, bytes: &[u8], bundle: &Bundle) -> Verdict {
        let metadata = self.metadata(bundle, bytes);
        match self.bundles.accept(clock(), metadata, bytes) {
            dtn::Verdict::Stored { number, dropped } => {
                dropped.into_iter().for_each(|number| self.remove_state(number));
                self.choose_next_hop(number, bundle);
                Verdict::Taken
            }
            dtn::Verdict::Duplicate => {
                self.counters.duplicate += 1;
                Verdict::Taken
            }
            dtn::Verdict::Expired => {
                self.report_deletion(bundle, Exceeded::Lifetime);
                Verdict::Taken
            }
            dtn::Verdict::NoRoom => {
                self.counters.refused += 1;
                Verdict::NoRoom
            }
        }
    }

    /// Returns the properties of a bundle that decide about its storage and forwarding.
    fn metadata(&self, bundle: &Bundle, bytes: &[u8]) -> Metadata<String> {
        let local = bundle.primary.destination.node_id() == self.routes.node.node_id();
        let hops = bundle.extension_block_by_type(HOP_COUNT_BLOCK).and_then(|block| block.hop_count_get());
        Metadata {
            name: fragments::identifier(bundle),
            size: bytes.len() as u64,
            priority: PRIORITY,
            expires: expires(bundle),
            hops: hops.map_or(0, |(_, count)| count.into()),
            hop_limit: hops.map(|(limit, _)| limit.into()),
            fragment: if local { fragments::fragment_of(bundle).map(Box::new) } else { None },
        }
    }

    /// Writes all stored bundles to the log, so that they survive a crash of the process.
    ///
    /// # Errors
    /// If the storage cannot be written.
    pub fn commit(&mut self) -> io::Result<()> {
        self.bundles.store_mut().commit()
    }

    /// Returns the number and the bytes of the next bundle for a peer. The bundle stays stored
    /// until [`sent`](Self::sent) is called.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn next_for(&mut self, peer: usize) -> io::Result<Option<(u64, Bytes)>> {
        while let Some(number) = self.pop(peer) {
            if !self.route_states.contains_key(&number) {
                continue;
            }
            let stored = self.bundles.store().read(number)?;
            let Some(mut bundle) = parse(&stored) else {
                self.drop(number);
                continue;
            };
            match self.bundles.check_forwarding(number, clock()) {
                // This bundle has no blocks that change at each hop.
                Ok(()) if bundle.canonicals.len() == 1 => return Ok(Some((number, stored))),
                Ok(()) => {
                    // `check_forwarding` has already checked the limits.
                    let _within_limits = bundle.update_extensions(self.routes.node.clone(), 0);
                    return Ok(Some((number, Bytes::from(bundle.to_cbor()))));
                }
                Err(limit) => {
                    self.drop(number);
                    self.report_deletion(&bundle, limit);
                }
            }
        }
        Ok(None)
    }

    /// Removes a bundle from the storage after it was sent to a peer: acknowledged by the peer, or
    /// written to the socket if the convergence layer has no acknowledgments.
    pub fn sent(&mut self, number: u64) {
        if !self.route_states.contains_key(&number) {
            return;
        }
        self.counters.forwarded += 1;
        let bundle = self.stored(number);
        self.drop(number);
        if let Some(bundle) = bundle {
            self.report(
                &bundle,
                BundleControlFlags::BUNDLE_STATUS_REQUEST_FORWARD,
                report::FORWARDED_BUNDLE,
                0,
            );
        }
    }

    /// Returns true if bundles wait for a peer.
    pub fn has_bundles_for(&self, peer: usize) -> bool {
        let waits = |contact: u32| self.contacts.get(&contact).is_some_and(|queue| !queue.is_empty());
        let mut open = self.schedule.iter().flat_map(|schedule| schedule.open_to(peer));
        !self.queues[peer].is_empty() || open.any(waits)
    }

    /// Advances the agent's time to `now`, and opens and ends the contacts of its schedule. Bundles
    /// that missed their contact are rerouted.
    pub fn advance(&mut self, now: Time) {
        self.now = now;
        let Some(schedule) = &mut self.schedule else { return };
        let (changed, ended) = schedule.advance(now);
        if !changed {
            return;
        }
        let missed = ended.iter().filter_map(|contact| self.contacts.remove(contact)).flatten();
        let rerouted: Vec<u64> = missed.chain(std::mem::take(&mut self.unroutable)).collect();
        rerouted.into_iter().for_each(|number| self.choose_contact(number));
    }

    /// Returns the schedule, if the agent has a contact plan.
    pub fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_ref()
    }

    /// Removes the next bundle for a peer from its queue and returns its number. The bundle may
    /// have been dropped since it was queued.
    fn pop(&mut self, peer: usize) -> Option<u64> {
        if let Some(number) = self.queues[peer].pop_front() {
            return Some(number);
        }
        loop {
            let schedule = self.schedule.as_mut()?;
            let waits = |contact: &u32| self.contacts.get(contact).is_some_and(|queue| !queue.is_empty());
            let contact = schedule.open_to(peer).find(waits)?;
            let number = self.contacts.get_mut(&contact)?.pop_front()?;
            let Some(metadata) = self.bundles.metadata(number) else { continue };
            if schedule.fits(contact, self.now, metadata.size + GROWTH) {
                schedule.departed(number);
                return Some(number);
            }
            self.choose_contact(number);
        }
    }

    /// Chooses the contact over which a bundle leaves, if its destination is a node of the plan. If
    /// no contact can carry the bundle, it is fragmented, or waits for a change of the schedule.
    fn choose_contact(&mut self, number: u64) {
        let (Some(schedule), Some(state)) = (&mut self.schedule, self.route_states.get_mut(&number)) else {
            return;
        };
        let (Some(to), Some(metadata)) = (state.planned_destination, self.bundles.metadata(number)) else {
            return;
        };
        schedule.release(number);
        let lifetime = metadata.expires.since(clock());
        let bytes = metadata.size + GROWTH;
        match schedule.choose(self.now, number, to, bytes, self.now + lifetime) {
            Some(contact) => {
                state.next_hop = NextHop::Contact(contact);
                self.contacts.entry(contact).or_default().push_back(number);
            }
            None => {
                state.next_hop = NextHop::Unroutable;
                // A fragment may fit into a contact that is too short for the bundle.
                let half = bytes as usize / 2;
                let reachable = half >= MIN_PAYLOAD
                    && schedule.is_reachable(self.now, to, 2 * MIN_PAYLOAD as u64, self.now + lifetime);
                if !reachable || !self.fragment(number, half) {
                    self.unroutable.insert(number);
                }
            }
        }
    }

    /// Returns true if payloads wait for delivery.
    pub fn has_deliveries(&self) -> bool {
        !self.local.is_empty()
    }

    /// Handles a bundle that could not be sent: puts it back at the front of its peer's queue, or
    /// chooses another contact.
    pub fn failed(&mut self, number: u64) {
        match self.route_states.get(&number).map(|state| state.next_hop) {
            Some(NextHop::Peer(peer)) => self.queues[peer].push_front(number),
            Some(NextHop::Contact(_)) => self.choose_contact(number),
            _ => {}
        }
    }

    /// Returns the next payload for an endpoint of this node. The bundle stays stored until
    /// [`delivered`](Self::delivered) is called.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn next_delivery(&mut self) -> io::Result<Option<Delivery>> {
        while let Some(number) = self.local.pop_front() {
            if !self.route_states.contains_key(&number) {
                continue;
            }
            let Some(mut bundle) = parse_unchecked(&self.bundles.store().read(number)?) else {
                self.drop(number);
                continue;
            };
            // Administrative records come from agents on the path, which have no keys.
            if !bundle.is_administrative_record() {
                if let Err(refusal) = self.keys.open(&mut bundle) {
                    self.reject(number, &bundle, refusal);
                    continue;
                }
            }
            let service = bundle.primary.destination.service_name().unwrap_or_default();
            let (id, payload, fragments) = match self.reassemble(number)? {
                Some(Reassembled { id, payload, numbers }) => (id, payload, numbers),
                None => (bundle.id(), bundle.payload().cloned().unwrap_or_default(), Vec::new()),
            };
            return Ok(Some(Delivery { number, id, service, payload, fragments }));
        }
        Ok(None)
    }

    /// Removes a bundle and its fragments from the storage after the delivery of its payload.
    pub fn delivered(&mut self, delivery: &Delivery) {
        self.counters.delivered += 1;
        self.counters.delivered_bytes += delivery.payload.len() as u64;
        let bundle = self.stored(delivery.number);
        self.drop(delivery.number);
        delivery.fragments.iter().for_each(|number| self.drop(*number));
        if let Some(bundle) = bundle {
            self.report(
                &bundle,
                BundleControlFlags::BUNDLE_STATUS_REQUEST_DELIVERY,
                report::DELIVERED_BUNDLE,
                0,
            );
        }
    }

    /// Drops a bundle whose payload must not be delivered.
    fn reject(&mut self, number: u64, bundle: &Bundle, refusal: Refusal) {
        self.counters.rejected += 1;
        self.drop(number);
        self.report(
            bundle,
            BundleControlFlags::BUNDLE_STATUS_REQUEST_DELETION,
            report::DELETED_BUNDLE,
            refusal as u32,
        );
    }

    /// Drops the bundles whose lifetime is over.
    pub fn expire(&mut self) {
        let now = clock();
        while let Some(number) = self.bundles.expired(now) {
            let bundle = self.stored(number);
            self.drop(number);
            match bundle {
                Some(bundle) => self.report_deletion(&bundle, Exceeded::Lifetime),
                None => self.counters.expired += 1,
            }
        }
    }

    /// Counts and reports the deletion of a bundle that exceeded a limit. The bundle must have been
    /// dropped, or never stored.
    fn report_deletion(&mut self, bundle: &Bundle, limit: Exceeded) {
        let reason = match limit {
            Exceeded::Lifetime => report::LIFETIME_EXPIRED,
            Exceeded::HopLimit => report::HOP_LIMIT_EXCEEDED,
        };
        self.counters.expired += 1;
        self.report(
            bundle,
            BundleControlFlags::BUNDLE_STATUS_REQUEST_DELETION,
            report::DELETED_BUNDLE,
            reason,
        );
    }

    /// Chooses the next hop of a stored bundle, and queues the bundle for it.
    fn choose_next_hop(&mut self, number: u64, bundle: &Bundle) {
        let destination = &bundle.primary.destination;
        let planned_destination = self.schedule.as_ref().and_then(|schedule| {
            let node = config::node(&destination.node_id()?).ok()?;
            schedule.node(&node.to_string())
        });
        let next_hop = if destination.node_id() == self.routes.node.node_id() {
            if self.bundles.is_complete(number) {
                self.local.push_back(number);
            }
            NextHop::Local
        } else if planned_destination.is_some() {
            NextHop::Unroutable
        } else {
            match self.routes.peer(destination) {
                Some(peer) => {
                    self.queues[peer].push_back(number);
                    NextHop::Peer(peer)
                }
                None => NextHop::Unroutable,
            }
        };
        let planned_destination = planned_destination.filter(|_| next_hop == NextHop::Unroutable);
        self.route_states.insert(number, RouteState { next_hop, planned_destination });
        if planned_destination.is_some() {
            self.choose_contact(number);
        }
    }

    /// Returns a stored bundle.
    fn stored(&self, number: u64) -> Option<Bundle> {
        if !self.bundles.contains(number) {
            return None;
        }
        parse_unchecked(&self.bundles.store().read(number).ok()?)
    }

    fn drop(&mut self, number: u64) {
        self.bundles.drop(number);
        self.remove_state(number);
    }

    /// Removes the route and the reserved contact of a bundle that is no longer stored. Queues keep
    /// its number; it is skipped when it is popped.
    fn remove_state(&mut self, number: u64) {
        self.route_states.remove(&number);
        if let Some(schedule) = &mut self.schedule {
            schedule.release(number);
        }
        self.unroutable.remove(&number);
    }

    /// Creates a status report, and stores it for sending, if the bundle requests one.
    fn report(&mut self, subject: &Bundle, flag: BundleControlFlags, status: u32, reason: u32) {
        let wanted = subject.primary.bundle_control_flags.contains(flag);
        if !wanted || subject.is_administrative_record() || subject.primary.report_to == EndpointID::none() {
            return;
        }
        let mut bundle = report::new_status_report_bundle(
            subject,
            self.routes.node.clone(),
            bp7::crc::CRC_32,
            status,
            reason,
        );
        let bytes = bundle.to_cbor();
        if self.store_bundle(&bytes, &bundle) == Verdict::Taken {
            self.counters.reports += 1;
        }
    }
}

/// Returns the time of this host's clock since 2000.
fn clock() -> Time {
    Time::ZERO + milliseconds(dtntime::dtn_time_now())
}

/// Returns the end of a bundle's lifetime as a time since 2000.
fn expires(bundle: &Bundle) -> Time {
    let lifetime = u64::try_from(bundle.primary.lifetime.as_millis()).unwrap_or(u64::MAX);
    let age = bundle.extension_block_by_type(BUNDLE_AGE_BLOCK).and_then(|block| block.bundle_age_get());
    let age = age.map_or(0, |age| u64::try_from(age).unwrap_or(u64::MAX));
    let end = match bundle.primary.creation_timestamp.dtntime() {
        // A bundle without a creation time expires by its age (RFC 9171, section 4.4.2).
        0 => dtntime::dtn_time_now().saturating_add(lifetime.saturating_sub(age)),
        _ if age >= lifetime => 0,
        created => created.saturating_add(lifetime),
    };
    Time::ZERO + milliseconds(end)
}

/// Parses a bundle, and returns it if it and its checksums are valid. Accepts a primary block
/// without a CRC, since dtnd (dtn7 0.21) sends such blocks although RFC 9171, section 4.3.1,
/// requires a CRC.
fn parse(bytes: &[u8]) -> Option<Bundle> {
    let mut bundle = parse_unchecked(bytes)?;
    if !bundle.crc_valid() {
        return None;
    }
    let unprotected = bundle.primary.crc == CrcValue::CrcNo;
    if unprotected {
        bundle.primary.crc = CrcValue::Crc32Empty;
        bundle.primary.update_crc();
    }
    let valid = bundle.validate().is_ok();
    if unprotected {
        bundle.primary.crc = CrcValue::CrcNo;
    }
    valid.then_some(bundle)
}

/// Parses a bundle without checking its checksums, which were checked on reception.
fn parse_unchecked(bytes: &[u8]) -> Option<Bundle> {
    Bundle::try_from(bytes).ok()
}
