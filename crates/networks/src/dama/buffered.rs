//! The waiting packets of a traffic class whose queue discipline decides at departure.
//!
//! The discipline chooses the next packet when a slot starts that has room for it, and may drop or
//! mark packets then. The sojourn time that it sees lasts from the arrival of a packet at the
//! terminal to the start of the slot with the packet's first byte. A packet is framed when it
//! leaves the discipline, since the order of departure is unknown before.
//!
//! Requests need the bytes in the queue. They are the bytes that all waiting packets take in slots
//! if they leave in the order of [`Buffer::waiting`] without further drops.
//!
//! With access per superframe, a packet joins the discipline at the start of the next superframe,
//! with the time of its arrival. Limits of the discipline therefore apply at that time.

use bentpipe_core::{Rate, Time};
use bentpipe_link::framing::Framer;
use bentpipe_link::queue::buffer::{Buffer, Effects, Waiting};
use bentpipe_stage::{Held, Packet};

/// A queue whose discipline decides at departure.
pub(super) struct Buffered {
    buffer: Box<dyn Buffer>,
    /// Counts the bytes that waiting packets will take in slots.
    framer: Option<Box<dyn Framer>>,
    /// Packets that wait for the start of the next superframe, with their times of arrival.
    closed: Vec<(Packet, Time)>,
}

impl Buffered {
    pub fn new(buffer: Box<dyn Buffer>, framer: Option<Box<dyn Framer>>) -> Buffered {
        Buffered { buffer, framer, closed: Vec::new() }
    }

    /// Handles an arriving packet. Returns the bytes that it takes in slots; 0 if a packet was
    /// dropped. Packets that arrive at `closed_from` or later wait for the next superframe.
    pub fn enqueue(
        &mut self,
        now: Time,
        packet: Packet,
        closed_from: Time,
        effects: &mut Effects<'_>,
    ) -> u64 {
        let (size, alone) = (packet.size, self.held().packets == 0);
        if now >= closed_from {
            self.closed.push((packet, now));
        } else {
            self.buffer.enqueue(now, packet, effects);
        }
        if effects.drops > 0 {
            return 0;
        }
        count(&mut self.framer, size, !alone)
    }

    /// Passes the packets that waited for a superframe to the discipline.
    pub fn open(&mut self, effects: &mut Effects<'_>) {
        for (packet, arrival) in self.closed.drain(..) {
            self.buffer.enqueue(arrival, packet, effects);
        }
    }

    /// Returns the earliest time at which a packet can leave.
    pub fn ready_at(&self, now: Time) -> Option<Time> {
        self.buffer.head(now).map(|head| head.at)
    }

    /// Returns true if a packet can leave now.
    pub fn is_ready(&self, now: Time) -> bool {
        self.ready_at(now).is_some_and(|at| at <= now)
    }

    /// Removes the packet that leaves now and returns it with the time of its arrival.
    pub fn next(&mut self, now: Time, effects: &mut Effects<'_>) -> Option<(Packet, Time)> {
        while self.is_ready(now) {
            let next = self.buffer.dequeue(now, effects);
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// Returns the waiting packets, in the order that [`bytes`](Self::bytes) assumes.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting> + '_ {
        let closed =
            self.closed.iter().map(|(packet, arrival)| Waiting { arrival: *arrival, size: packet.size });
        self.buffer.waiting().chain(closed)
    }

    /// Returns the bytes that the waiting packets take in slots.
    pub fn bytes(&mut self) -> u64 {
        let Some(mut framer) = self.framer.take() else { return self.held().bytes };
        let units = self.waiting().enumerate().map(|(index, packet)| {
            let added = framer.add(packet.size, index > 0);
            u64::from(added.units)
        });
        let units: u64 = units.sum();
        let bytes = units * u64::from(framer.unit());
        self.framer = Some(framer);
        bytes
    }

    /// Returns the packets and bytes that are waiting.
    pub fn held(&self) -> Held {
        let mut held = self.buffer.held();
        self.closed.iter().for_each(|(packet, _)| held.add(packet));
        held
    }

    /// Removes and returns all waiting packets.
    pub fn drain(&mut self) -> Vec<Packet> {
        let mut packets = self.buffer.drain();
        packets.extend(self.closed.drain(..).map(|(packet, _)| packet));
        packets
    }

    /// Adopts a new granted rate.
    pub fn set_rate(&mut self, rate: Rate) {
        self.buffer.set_rate(rate);
    }

    /// Counts bytes for bursts of another size.
    pub fn reframe(&mut self, framer: Option<Box<dyn Framer>>) {
        self.framer = framer;
    }
}

/// Returns the bytes of the units that a packet of `size` bytes starts.
fn count(framer: &mut Option<Box<dyn Framer>>, size: u32, open: bool) -> u64 {
    match framer {
        None => u64::from(size),
        Some(framer) => u64::from(framer.add(size, open).units) * u64::from(framer.unit()),
    }
}
