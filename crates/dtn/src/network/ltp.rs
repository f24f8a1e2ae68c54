//! LTP between neighbours. Each pair of nodes with contacts has an engine at both nodes.

use super::{Config, Convergence};
use crate::chunk::Chunk;
use crate::contacts::{Node, Plan};
use crate::ltp::contacts::ContactDeadlines;
use crate::ltp::engine::{Engine, Event};
use crate::ltp::segment::{reason, Segment, Session};
use crate::ltp::sender::End;
use bentpipe_core::{Span, Time};
use std::collections::BTreeMap;

/// The client service number of bundles.
const BUNDLES: u64 = 1;

/// The engine at one node of a pair of neighbours.
struct Link {
    engine: Engine,
    /// Bundles that are being sent, by session number.
    sessions: BTreeMap<u64, Sending>,
}

/// A bundle that is being sent.
struct Sending {
    bundle: u64,
    /// Number of contacts that the bundle has crossed.
    hops: u32,
    /// True if the session was cancelled and the bundle gets another route.
    cancelled: bool,
}

/// An event about a bundle at a node.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// A bundle has arrived at a node, after this number of contacts.
    Received(u64, Node, u32),
    /// The neighbour of a node has acknowledged a bundle.
    Acknowledged(u64, Node),
    /// A bundle cannot reach the neighbour of a node.
    Failed(u64, Node),
}

#[derive(Default)]
pub(crate) struct Links {
    links: BTreeMap<(Node, Node), Link>,
    /// Segments in flight by number.
    in_flight: BTreeMap<u64, Segment>,
    last_segment: u64,
    margin: Span,
}

impl Links {
    pub fn new(plan: &Plan, config: &Config) -> Links {
        let Convergence::Ltp { config, margin } = &config.convergence else { return Links::default() };
        let pairs = plan
            .contacts()
            .iter()
            .flat_map(|contact| [(contact.from, contact.to), (contact.to, contact.from)]);
        let link = |(from, _): &(Node, Node)| Link {
            engine: Engine::new(u64::from(from.0) + 1, config.clone()),
            sessions: BTreeMap::new(),
        };
        let links = pairs.map(|pair| (pair, link(&pair))).collect();
        Links { links, margin: *margin, ..Links::default() }
    }

    /// Starts a session that sends a bundle of `size` bytes.
    pub fn send(&mut self, from: Node, to: Node, bundle: u64, size: u64, hops: u32) {
        let link = self.links.get_mut(&(from, to)).expect("every pair of nodes with contacts has engines");
        let session = link.engine.send(u64::from(to.0) + 1, BUNDLES, Chunk::Zeros(size), size);
        link.sessions.insert(session.number, Sending { bundle, hops, cancelled: false });
    }

    /// Returns the next segment from one node to another that leaves at `now`.
    pub fn next_segment(
        &mut self,
        plan: &Plan,
        now: Time,
        from: Node,
        to: Node,
        delay: Span,
    ) -> Option<Segment> {
        let clock = ContactDeadlines { plan, from, to, delay, margin: self.margin };
        let link = self.links.get_mut(&(from, to)).expect("every pair of nodes with contacts has engines");
        link.engine.next_segment(now, &clock).map(|(_, segment)| segment)
    }

    /// Stores a segment until it arrives, and returns the segment's number.
    pub fn put_in_flight(&mut self, segment: Segment) -> u64 {
        self.last_segment += 1;
        self.in_flight.insert(self.last_segment, segment);
        self.last_segment
    }

    /// Processes the arrival of the segment with this number.
    pub fn arrive(&mut self, number: u64, from: Node, to: Node) {
        let Some(segment) = self.in_flight.remove(&number) else { return };
        let link = self.links.get_mut(&(to, from)).expect("every pair of nodes with contacts has engines");
        link.engine.receive(u64::from(from.0) + 1, &segment);
    }

    /// Processes the timers that expire until `now`.
    pub fn wake(&mut self, now: Time) {
        self.links.values_mut().for_each(|link| link.engine.wake(now));
    }

    /// Returns the time at which the next timer expires.
    pub fn next_wake(&self) -> Option<Time> {
        self.links.values().filter_map(|link| link.engine.next_wake()).min().filter(|time| *time < Time::MAX)
    }

    /// Cancels all sessions that send from one node to another, and returns their bundles. Segments
    /// in flight still arrive.
    pub fn cancel_bundles(&mut self, from: Node, to: Node) -> Vec<u64> {
        let Some(link) = self.links.get_mut(&(from, to)) else { return Vec::new() };
        let engine = link.engine.number();
        let mut bundles = Vec::new();
        for (number, sending) in link.sessions.iter_mut().filter(|(_, sending)| !sending.cancelled) {
            sending.cancelled = true;
            bundles.push(sending.bundle);
            link.engine.cancel(Session { engine, number: *number }, reason::UNREACHABLE);
        }
        bundles
    }

    /// Cancels the sessions that send a bundle, because its node has dropped it.
    pub fn release_copy(&mut self, bundle: u64, node: Node) {
        for ((from, _), link) in self.links.range_mut((node, Node(0))..=(node, Node(u32::MAX))) {
            debug_assert_eq!(*from, node);
            let numbers: Vec<u64> = link
                .sessions
                .iter()
                .filter(|(_, sending)| sending.bundle == bundle)
                .map(|(number, _)| *number)
                .collect();
            for number in numbers {
                link.sessions.remove(&number);
                link.engine.cancel(Session { engine: link.engine.number(), number }, reason::USER);
            }
        }
    }

    /// Returns the events about bundles between two nodes since the last call.
    pub fn link_events(&mut self, node: Node, other: Node) -> Vec<LinkEvent> {
        let mut link_events = Vec::new();
        for (here, there) in [(node, other), (other, node)] {
            let mut events = Vec::new();
            if let Some(link) = self.links.get_mut(&(here, there)) {
                events.extend(std::iter::from_fn(|| link.engine.next_event()));
            }
            for event in events {
                match event {
                    Event::Red { session, .. } => {
                        let sender = self.links.get(&(there, here));
                        let sending = sender.and_then(|link| link.sessions.get(&session.number));
                        // The bundle is unknown if its sender has dropped it in the meantime.
                        link_events.extend(
                            sending
                                .map(|sending| LinkEvent::Received(sending.bundle, here, sending.hops + 1)),
                        );
                    }
                    Event::Sent { session, end } => {
                        let link = self.links.get_mut(&(here, there)).expect("a link with events exists");
                        let sending = link.sessions.remove(&session.number);
                        let sending = sending.filter(|sending| !sending.cancelled || end == End::Complete);
                        link_events.extend(sending.map(|Sending { bundle, .. }| match end {
                            End::Complete => LinkEvent::Acknowledged(bundle, here),
                            End::Cancelled(_) => LinkEvent::Failed(bundle, here),
                        }));
                    }
                    Event::Green { .. } | Event::Abandoned { .. } => {}
                }
            }
        }
        link_events
    }
}
