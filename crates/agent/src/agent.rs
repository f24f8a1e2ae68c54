//! What an agent decides about bundles (RFC 9171, section 5): takes them, delivers them, hands them to other agents, drops them. Sans-I/O but for its
//! storage.
//!
//! A bundle is accepted when it is in the storage and the storage is committed. It leaves the storage when the next agent has acknowledged
//! it, when its payload is delivered, or when its lifetime is over. So after a crash a bundle may be forwarded or delivered twice, never
//! lost; a delivered payload has the name of its bundle and replaces itself.
//!
//! A bundle that is already stored, by its source and creation time, is not stored again. When it is forwarded, its hop count, bundle age and
//! previous node are updated. Status reports are sent on reception, forwarding, delivery and deletion if the bundle asks for them.

use crate::config::{self, Config};
use crate::store::Store;
use bp7::administrative_record as report;
use bp7::flags::{BundleControlFlags, BundleValidation};
use bp7::{dtntime, Bundle, EndpointID};
use bytes::Bytes;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

/// Counts of an agent since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Bundles that came from others.
    pub received: u64,
    /// Bundles that came and were stored already.
    pub duplicate: u64,
    /// What came and was no valid bundle.
    pub malformed: u64,
    /// Bundles that came and found no room.
    pub refused: u64,
    /// Bundles that other agents have taken.
    pub forwarded: u64,
    /// Bundles whose payload was delivered here.
    pub delivered: u64,
    /// Bytes of those payloads.
    pub delivered_bytes: u64,
    /// Bundles that were dropped as their lifetime or hops were over.
    pub expired: u64,
    /// Status reports that were made here.
    pub reports: u64,
    /// Bundles that are stored now.
    pub stored: u64,
}

/// What became of a bundle that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is stored, or was already.
    Taken,
    /// There is no room for it.
    NoRoom,
    /// It is not a valid bundle.
    Malformed,
}

/// What an agent knows of a stored bundle.
struct Known {
    id: String,
    /// When it is worth nothing any more, in milliseconds since 2000.
    expires: u64,
    to: Target,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Target {
    /// It is delivered here.
    Here,
    /// A peer by its number.
    Peer(usize),
    /// No route leads to its destination.
    Nowhere,
}

/// A payload for an endpoint of this node.
#[derive(Debug)]
pub struct Delivery {
    /// Its number in the storage.
    pub number: u64,
    /// Name of its bundle.
    pub id: String,
    /// Service of the endpoint; empty for the node itself.
    pub service: String,
    /// The payload.
    pub payload: Vec<u8>,
}

/// Where bundles go: the agent's own node, and the peer for each destination.
pub struct Routes {
    node: EndpointID,
    /// Number of peers.
    peers: usize,
    next: BTreeMap<String, usize>,
    default: Option<usize>,
}

impl Routes {
    /// The routes of a configuration.
    ///
    /// # Errors
    /// If a name is no node, or a route leads to what is no peer.
    pub fn new(config: &Config) -> io::Result<Routes> {
        let invalid = |message| io::Error::new(io::ErrorKind::InvalidInput, message);
        let named = |text: &str| config::node(text).map_err(invalid);
        let mut next = BTreeMap::new();
        let place = |text: &str| -> io::Result<usize> {
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
                "*" => default = Some(place(via)?),
                to => {
                    next.insert(named(to)?.to_string(), place(via)?);
                }
            }
        }
        Ok(Routes { node: named(&config.node)?, peers: config.peers.len(), next, default })
    }

    /// The peer for bundles to a destination, if a route leads there.
    fn peer(&self, destination: &EndpointID) -> Option<usize> {
        let node = config::node(&destination.node_id()?).ok()?;
        self.next.get(&node.to_string()).copied().or(self.default)
    }
}

/// A bundle agent.
pub struct Agent {
    store: Store,
    routes: Routes,
    known: BTreeMap<u64, Known>,
    ids: BTreeSet<String>,
    queues: Vec<VecDeque<u64>>,
    here: VecDeque<u64>,
    expiries: BTreeSet<(u64, u64)>,
    counters: Counters,
}

impl Agent {
    /// An agent with what its storage holds.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn new(routes: Routes, store: Store) -> io::Result<Agent> {
        let queues = (0..routes.peers).map(|_| VecDeque::new()).collect();
        let mut agent = Agent {
            store,
            routes,
            known: BTreeMap::new(),
            ids: BTreeSet::new(),
            queues,
            here: VecDeque::new(),
            expiries: BTreeSet::new(),
            counters: Counters::default(),
        };
        for number in agent.store.numbers().collect::<Vec<_>>() {
            match parse(&agent.store.read(number)?) {
                Some(bundle) => agent.learn(number, &bundle),
                None => agent.store.remove(number),
            }
        }
        Ok(agent)
    }

    /// Counts since the start.
    pub fn counters(&self) -> Counters {
        Counters { stored: self.store.len() as u64, ..self.counters }
    }

    /// Takes a bundle that came from another agent. It is accepted after the next [`commit`](Self::commit).
    pub fn receive(&mut self, bytes: &[u8]) -> Verdict {
        self.counters.received += 1;
        let Some(bundle) = parse(bytes) else {
            self.counters.malformed += 1;
            return Verdict::Malformed;
        };
        let verdict = self.keep(bytes, &bundle);
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

    fn keep(&mut self, bytes: &[u8], bundle: &Bundle) -> Verdict {
        if self.ids.contains(&bundle.id()) {
            self.counters.duplicate += 1;
            return Verdict::Taken;
        }
        match self.store.add(bytes) {
            Some(number) => {
                self.learn(number, bundle);
                Verdict::Taken
            }
            None => {
                self.counters.refused += 1;
                Verdict::NoRoom
            }
        }
    }

    /// Makes everything that has been taken survive the process.
    ///
    /// # Errors
    /// If the storage cannot be written.
    pub fn commit(&mut self) -> io::Result<()> {
        self.store.commit()
    }

    /// The next bundle for a peer, as it is to be sent, with its number. It is stored until [`sent`](Self::sent).
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn next_for(&mut self, peer: usize) -> io::Result<Option<(u64, Bytes)>> {
        while let Some(number) = self.queues[peer].pop_front() {
            if !self.known.contains_key(&number) {
                continue;
            }
            let stored = self.store.read(number)?;
            let Some(mut bundle) = parse(&stored) else {
                self.drop(number);
                continue;
            };
            if bundle.canonicals.len() == 1 {
                // Nothing in it changes from hop to hop.
                return Ok(Some((number, stored)));
            }
            if bundle.update_extensions(self.routes.node.clone(), 0) {
                return Ok(Some((number, Bytes::from(bundle.to_cbor()))));
            }
            let reason = match bundle.primary.is_lifetime_exceeded() {
                true => report::LIFETIME_EXPIRED,
                false => report::HOP_LIMIT_EXCEEDED,
            };
            self.counters.expired += 1;
            self.drop(number);
            self.report(
                &bundle,
                BundleControlFlags::BUNDLE_STATUS_REQUEST_DELETION,
                report::DELETED_BUNDLE,
                reason,
            );
        }
        Ok(None)
    }

    /// A peer has a bundle.
    pub fn sent(&mut self, number: u64) {
        if !self.known.contains_key(&number) {
            return;
        }
        self.counters.forwarded += 1;
        let bundle = self.store.read(number).ok().and_then(|bytes| parse_unchecked(&bytes));
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

    /// Whether bundles wait for a peer.
    pub fn waits_for(&self, peer: usize) -> bool {
        !self.queues[peer].is_empty()
    }

    /// Whether payloads wait for their delivery.
    pub fn has_deliveries(&self) -> bool {
        !self.here.is_empty()
    }

    /// A bundle cannot be sent to its peer. It stays until its lifetime is over.
    pub fn hold(&mut self, number: u64) {
        if let Some(known) = self.known.get_mut(&number) {
            known.to = Target::Nowhere;
        }
    }

    /// A bundle was not sent and waits again, before the others.
    pub fn failed(&mut self, number: u64) {
        if let Some(Known { to: Target::Peer(peer), .. }) = self.known.get(&number) {
            self.queues[*peer].push_front(number);
        }
    }

    /// The next payload for an endpoint of this node. It is stored until [`delivered`](Self::delivered).
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn next_delivery(&mut self) -> io::Result<Option<Delivery>> {
        while let Some(number) = self.here.pop_front() {
            if !self.known.contains_key(&number) {
                continue;
            }
            let Some(bundle) = parse_unchecked(&self.store.read(number)?) else {
                self.drop(number);
                continue;
            };
            let service = bundle.primary.destination.service_name().unwrap_or_default();
            let payload = bundle.payload().cloned().unwrap_or_default();
            return Ok(Some(Delivery { number, id: bundle.id(), service, payload }));
        }
        Ok(None)
    }

    /// A payload has been delivered.
    pub fn delivered(&mut self, delivery: &Delivery) {
        self.counters.delivered += 1;
        self.counters.delivered_bytes += delivery.payload.len() as u64;
        let bundle = self.store.read(delivery.number).ok().and_then(|bytes| parse_unchecked(&bytes));
        self.drop(delivery.number);
        if let Some(bundle) = bundle {
            self.report(
                &bundle,
                BundleControlFlags::BUNDLE_STATUS_REQUEST_DELIVERY,
                report::DELIVERED_BUNDLE,
                0,
            );
        }
    }

    /// Drops the bundles whose lifetime is over.
    pub fn expire(&mut self) {
        let now = dtntime::dtn_time_now();
        while let Some((_, number)) = self.expiries.first().copied().filter(|(expires, _)| *expires <= now) {
            let bundle = self.store.read(number).ok().and_then(|bytes| parse_unchecked(&bytes));
            self.counters.expired += 1;
            self.drop(number);
            if let Some(bundle) = bundle {
                self.report(
                    &bundle,
                    BundleControlFlags::BUNDLE_STATUS_REQUEST_DELETION,
                    report::DELETED_BUNDLE,
                    report::LIFETIME_EXPIRED,
                );
            }
        }
    }

    fn learn(&mut self, number: u64, bundle: &Bundle) {
        let destination = &bundle.primary.destination;
        let to = if destination.node_id() == self.routes.node.node_id() {
            self.here.push_back(number);
            Target::Here
        } else {
            match self.routes.peer(destination) {
                Some(peer) => {
                    self.queues[peer].push_back(number);
                    Target::Peer(peer)
                }
                None => Target::Nowhere,
            }
        };
        // Without a creation time, its age has run until now.
        let created = match bundle.primary.creation_timestamp.dtntime() {
            0 => dtntime::dtn_time_now(),
            created => created,
        };
        let lifetime = u64::try_from(bundle.primary.lifetime.as_millis()).unwrap_or(u64::MAX);
        let expires = created.saturating_add(lifetime);
        let id = bundle.id();
        self.ids.insert(id.clone());
        self.expiries.insert((expires, number));
        self.known.insert(number, Known { id, expires, to });
    }

    fn drop(&mut self, number: u64) {
        if let Some(Known { id, expires, .. }) = self.known.remove(&number) {
            self.ids.remove(&id);
            self.expiries.remove(&(expires, number));
        }
        self.store.remove(number);
    }

    /// Sends a status report if the bundle asks for one.
    fn report(&mut self, about: &Bundle, flag: BundleControlFlags, status: u32, reason: u32) {
        let wanted = about.primary.bundle_control_flags.contains(flag);
        if !wanted || about.is_administrative_record() || about.primary.report_to == EndpointID::none() {
            return;
        }
        let mut bundle = report::new_status_report_bundle(
            about,
            self.routes.node.clone(),
            bp7::crc::CRC_32,
            status,
            reason,
        );
        let bytes = bundle.to_cbor();
        if self.keep(&bytes, &bundle) == Verdict::Taken {
            self.counters.reports += 1;
        }
    }
}

/// A bundle whose checks hold.
fn parse(bytes: &[u8]) -> Option<Bundle> {
    let mut bundle = parse_unchecked(bytes)?;
    (bundle.crc_valid() && bundle.validate().is_ok()).then_some(bundle)
}

/// A bundle that has been checked when it came.
fn parse_unchecked(bytes: &[u8]) -> Option<Bundle> {
    Bundle::try_from(bytes).ok()
}
