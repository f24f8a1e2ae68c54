//! Packets, and their sources and sinks, for a bench and for the engine's event loop.

use bentpipe_core::{NodeId, Span, Time};
use bentpipe_stage::{Outbox, Packet, Port, Stage};

/// Returns a datagram from node 0 to node 1, created at time 0.
pub fn packet(number: u32, size: u32) -> Packet {
    Packet { number, size, destination: NodeId(1), ..Packet::default() }
}

/// A stage that sends a packet of 1500 bytes every `interval`, endlessly.
pub struct Source {
    /// The source and the destination of the packets.
    pub nodes: [NodeId; 2],
    /// Time at which the next packet is sent.
    pub next: Time,
    /// Time between consecutive packets.
    pub interval: Span,
    /// The number of packets sent so far.
    pub sent: u32,
}

impl Source {
    /// Returns a source whose first packet is sent at `first`.
    pub fn new(nodes: [NodeId; 2], first: Time, interval: Span) -> Source {
        Source { nodes, next: first, interval, sent: 0 }
    }
}

impl Stage for Source {
    fn receive(&mut self, _now: Time, _port: Port, _packet: Packet, _out: &mut Outbox) {
        panic!("a source receives nothing");
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        let [source, destination] = self.nodes;
        let packet = Packet { birth: now, source, destination, ..packet(self.sent, 1500) };
        self.sent += 1;
        self.next = now + self.interval;
        out.create(Port(0), packet);
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.next)
    }
}

/// A stage that consumes the packets that it receives.
pub struct Sink;

impl Stage for Sink {
    fn receive(&mut self, _now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        out.consume(packet);
    }

    fn wake(&mut self, _now: Time, _out: &mut Outbox) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }
}
