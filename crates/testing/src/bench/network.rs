//! The stages on a bench, and their connections.

use super::Left;
use bentpipe_core::{Span, Time};
use bentpipe_stage::{Held, Outbox, Packet, Port, Sent, Stage};
use std::collections::BTreeMap;

/// Stages on a bench, numbered from 0, and their wires. A single stage is also a network: every
/// packet that it sends leaves the bench.
pub trait Network {
    /// Returns the number of stages in the network.
    fn stages(&self) -> usize;

    /// Returns stage number `index`.
    fn stage(&mut self, index: usize) -> &mut dyn Stage;

    /// Called with each packet before stage number `index` receives it.
    fn arriving(&mut self, _now: Time, _index: usize, _packet: &Packet) {}

    /// Carries the packets that stage number `from` sent in one call. It is called after every
    /// call, even if no packets were sent.
    fn carry(&mut self, from: usize, sent: Vec<Sent>, wires: &mut Wires<'_>);
}

impl<S: Stage> Network for S {
    fn stages(&self) -> usize {
        1
    }

    fn stage(&mut self, _index: usize) -> &mut dyn Stage {
        self
    }

    fn carry(&mut self, _from: usize, sent: Vec<Sent>, wires: &mut Wires<'_>) {
        sent.into_iter().for_each(|sent| wires.leave(sent));
    }
}

/// The possible destinations of a packet that a network carries.
pub struct Wires<'a> {
    /// Time at which the packets leave their stage.
    pub now: Time,
    pub(super) out: &'a mut Outbox,
    pub(super) left: &'a mut Vec<Left>,
    pub(super) flights: &'a mut Flights,
}

impl Wires<'_> {
    /// Passes a packet to a stage at the present time, after the packets that were passed before.
    pub fn to(&mut self, index: usize, port: Port, packet: Packet) {
        self.after(Span::ZERO, index, port, packet);
    }

    /// Passes a packet to a stage after a delay, after the packets that arrive at the same time and
    /// were sent before.
    pub fn after(&mut self, delay: Span, index: usize, port: Port, packet: Packet) {
        self.flights.launch(self.now + delay, (index, port, packet));
    }

    /// Records that a packet leaves the bench.
    pub fn leave(&mut self, sent: Sent) {
        let packet = self.out.consume(sent.packet);
        self.left.push(Left { at: self.now, port: sent.port, packet });
    }

    /// Discards a packet without recording it, like a wire that loses it. The packet counts as
    /// consumed.
    pub fn discard(&mut self, packet: Packet) {
        self.out.consume(packet);
    }

    /// Returns a copy of a packet and counts it as created.
    pub fn copy(&mut self, packet: &Packet) -> Packet {
        self.out.create_held(packet);
        packet.clone()
    }
}

/// A packet on a wire: the stage and port that it reaches.
type Flight = (usize, Port, Packet);

/// The packets on all wires, by time of arrival and order of sending.
#[derive(Default)]
pub(super) struct Flights {
    flying: BTreeMap<(Time, u64), Flight>,
    launched: u64,
}

impl Flights {
    fn launch(&mut self, arrival: Time, flight: Flight) {
        self.launched += 1;
        self.flying.insert((arrival, self.launched), flight);
    }

    /// Returns the time of the next arrival.
    pub(super) fn next(&self) -> Option<Time> {
        self.flying.first_key_value().map(|((time, _), _)| *time)
    }

    /// Removes the packet that arrives next, and returns it with its stage and port.
    pub(super) fn arrive(&mut self) -> Option<Flight> {
        self.flying.pop_first().map(|(_, flight)| flight)
    }

    pub(super) fn held(&self) -> Held {
        let mut held = Held::default();
        self.flying.values().for_each(|(_, _, packet)| held.add(packet));
        held
    }
}
