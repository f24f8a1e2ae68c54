//! Bundles as blocks of LTP: how a network sends and receives for its engines, and what it decides
//! for them.

use super::ltp::LinkEvent;
use super::{config, Convergence, Event, Network};
use crate::contacts::{Contact, Node};

impl Network {
    /// Sends the next segment over a contact. New blocks begin when there is nothing else to send,
    /// so that they keep their order.
    pub(super) fn transmit_segment(&mut self, index: u32) {
        let contact = self.plan.contacts()[index as usize];
        let Convergence::Ltp { config, .. } = &self.config.convergence else { return };
        let longest = config.segment + config::DATAGRAM;
        if self.now + contact.rate.span_of(longest) > self.known_end(index) {
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
            let place = self.links.put_in_flight(segment);
            self.schedule(sent + contact.delay, Event::Segment(place, index));
        }
        self.link_events(from, to);
    }

    /// Processes a segment that has arrived.
    pub(super) fn segment(&mut self, place: u64, index: u32) {
        let Contact { from, to, .. } = self.plan.contacts()[index as usize];
        self.links.arrive(place, from, to);
        self.link_events(from, to);
        self.answer(to, from);
    }

    /// Lets the open contacts from one node to another send.
    fn answer(&mut self, from: Node, to: Node) {
        for place in 0..self.plan.outgoing(from, self.now).len() {
            let Some(&index) = self.plan.outgoing(from, self.now).get(place) else { break };
            if self.plan.contacts()[index as usize].to == to {
                self.transmit(index);
            }
        }
    }

    /// Handles expired timers of LTP.
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

    /// Gives up sessions to a neighbour that has no more contacts; their bundles get another route.
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

    /// Processes the events of LTP about bundles between two nodes.
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
