//! Transport of bundles as LTP blocks. A network transmits the segments of its LTP engines and
//! handles their events.

use super::ltp::LinkEvent;
use super::{config, Convergence, Event, Network};
use crate::contacts::{Contact, Node};

impl Network {
    /// Sends the next segment over a contact. A new block starts only when no other segment is
    /// ready, so that blocks keep their order.
    pub(super) fn transmit_segment(&mut self, index: u32) {
        let contact = self.plan.contacts()[index as usize];
        let Convergence::Ltp { config, .. } = &self.config.convergence else { return };
        let max_bytes = config.segment + config::DATAGRAM;
        if self.now + contact.rate.span_of(max_bytes) > self.known_end(index) {
            return;
        }
        let (from, to) = (contact.from, contact.to);
        let segment = loop {
            if let Some(segment) = self.links.next_segment(&self.plan, self.now, from, to, contact.delay) {
                break segment;
            }
            let Some(bundle) = self.next_bundle(index) else { return };
            let (size, hops) = (self.bundles[&bundle].size, self.hops(bundle, from));
            self.router.departed(bundle, from);
            self.links.send(from, to, bundle, size, hops);
        };
        let bytes = segment.length() + config::DATAGRAM;
        let sent = self.start(index, bytes);
        if sent <= contact.end && !(self.errors)(sent, bytes) {
            let number = self.links.put_in_flight(segment);
            self.schedule(sent + contact.delay, Event::Segment(number, index));
        }
        self.link_events(from, to);
    }

    /// Processes the arrival of a segment.
    pub(super) fn segment(&mut self, number: u64, index: u32) {
        let Contact { from, to, .. } = self.plan.contacts()[index as usize];
        self.links.arrive(number, from, to);
        self.link_events(from, to);
        self.answer(to, from);
    }

    /// Sends segments over the open contacts from one node to another.
    fn answer(&mut self, from: Node, to: Node) {
        for position in 0..self.plan.outgoing(from, self.now).len() {
            let Some(&index) = self.plan.outgoing(from, self.now).get(position) else { break };
            if self.plan.contacts()[index as usize].to == to {
                self.transmit(index);
            }
        }
    }

    /// Processes expired timers of the LTP engines, and sends the resulting segments.
    pub(super) fn timers(&mut self) {
        self.timers = None;
        self.links.wake(self.now);
        for index in 0..self.channels.len() as u32 {
            if self.channels[index as usize].open {
                self.transmit(index);
                let Contact { from, to, .. } = self.plan.contacts()[index as usize];
                self.link_events(from, to);
            }
        }
        self.set_timer();
    }

    fn set_timer(&mut self) {
        if let Some(wake) =
            self.links.next_wake().filter(|wake| self.timers.is_none_or(|timer| *wake < timer))
        {
            let wake = wake.max(self.now);
            self.timers = Some(wake);
            self.schedule(wake, Event::Timers);
        }
    }

    /// If there are no more contacts to a neighbour, cancels the sessions to it and reroutes their
    /// bundles.
    pub(super) fn cancel_sessions(&mut self, from: Node, to: Node) {
        let later = self
            .plan
            .outgoing(from, self.now)
            .iter()
            .any(|index| self.plan.contacts()[*index as usize].to == to);
        if later {
            return;
        }
        for bundle in self.links.cancel_bundles(from, to) {
            self.router.release(bundle, from);
            if self.agents[from.0 as usize].contains(bundle) {
                self.route(bundle, from);
            }
        }
    }

    /// Processes the events of the LTP engines of two nodes.
    fn link_events(&mut self, node: Node, other: Node) {
        for events in self.links.link_events(node, other) {
            match events {
                LinkEvent::Received(bundle, at, hops) => {
                    if self.bundles.contains_key(&bundle) {
                        self.bundle_mut(bundle).copies += 1;
                        self.arrived_at(bundle, at, hops);
                    }
                }
                LinkEvent::Acknowledged(bundle, at) => {
                    if self.agents[at.0 as usize].contains(bundle) {
                        self.agents[at.0 as usize].drop(bundle);
                        self.router.release(bundle, at);
                        self.end_copy(bundle);
                    }
                }
                LinkEvent::Failed(bundle, at) => {
                    self.router.release(bundle, at);
                    if self.agents[at.0 as usize].contains(bundle) {
                        self.route(bundle, at);
                    }
                }
            }
        }
        self.set_timer();
    }
}
