//! Queues that keep their packets until the next one is requested: the common part of links,
//! schedulers and disciplines that decide at departure.

use super::{Admission, Backlog, Queue, Verdict};
use bentpipe_core::{Rate, Stream, Time, Whole};
use bentpipe_stage::{DropReason, Held, Outbox, Packet};
use std::collections::VecDeque;

/// A queue that selects the departing packet when the link is free.
pub trait Buffer: Send {
    /// Handles an arriving packet: keeps it or drops it, or drops others to make room.
    fn enqueue(&mut self, now: Time, packet: Packet, effects: &mut Effects<'_>);

    /// Returns the next packet to transmit and the time of its arrival, if a packet is ready. May
    /// drop other packets before it.
    fn dequeue(&mut self, now: Time, effects: &mut Effects<'_>) -> Option<(Packet, Time)>;

    /// Returns the packet that would leave next without further arrivals; `None` if the queue is
    /// empty.
    fn head(&self, now: Time) -> Option<Head>;

    /// Returns the packets and bytes that are waiting.
    fn held(&self) -> Held;

    /// Returns the waiting packets, by class and then by order of arrival.
    fn waiting(&self) -> Box<dyn Iterator<Item = Waiting> + '_>;

    /// Removes all waiting packets and returns them, in the order of [`waiting`](Self::waiting).
    fn drain(&mut self) -> Vec<Packet>;

    /// Adopts a new rate of the link.
    fn set_rate(&mut self, _rate: Rate) {}
}

/// The packet that leaves next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Earliest time of departure, not before now.
    pub at: Time,
    /// Size of the packet in bytes. A different packet may leave instead if this one is dropped at
    /// departure.
    pub size: u32,
}

/// A packet that waits in a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Time at which the packet arrived.
    pub arrival: Time,
    /// Size of the packet in bytes.
    pub size: u32,
}

/// The random stream of a buffer and the destination of its drops.
pub struct Effects<'a> {
    /// The random stream of the link.
    pub stream: &'a mut Stream,
    out: &'a mut Outbox,
    /// Number of drops so far in this call.
    pub drops: u64,
}

impl<'a> Effects<'a> {
    /// Creates the effects of one call, with no drops.
    pub fn new(stream: &'a mut Stream, out: &'a mut Outbox) -> Effects<'a> {
        Effects { stream, out, drops: 0 }
    }

    /// Drops `packet` and records the reason.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.drops += 1;
        self.out.drop(packet, reason);
    }
}

/// Packets in order of arrival, with their arrival times.
#[derive(Default)]
pub struct Line {
    packets: VecDeque<(Whole<Packet>, u32, Time)>,
    bytes: u64,
}

impl Line {
    /// Appends a packet that arrives now.
    pub fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += u64::from(packet.size);
        let size = packet.size;
        self.packets.push_back((Whole::new(packet), size, now));
    }

    /// Removes the first packet and returns it with its arrival time.
    pub fn pop(&mut self) -> Option<(Packet, Time)> {
        let (packet, size, arrived) = self.packets.pop_front()?;
        self.bytes -= u64::from(size);
        Some((packet.into_inner(), arrived))
    }

    /// Returns the size of the first packet in bytes.
    pub fn first(&self) -> Option<u32> {
        self.packets.front().map(|(_, size, _)| *size)
    }

    /// Returns the packets and bytes that are waiting.
    pub fn held(&self) -> Held {
        Held { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    /// Returns the first packet, in the form that [`Buffer::head`] returns.
    pub fn head(&self, now: Time) -> Option<Head> {
        self.first().map(|size| Head { at: now, size })
    }

    /// Returns the waiting packets in order of arrival.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting> + '_ {
        self.packets.iter().map(|(_, size, arrival)| Waiting { arrival: *arrival, size: *size })
    }

    /// Removes and returns all packets.
    pub fn drain(&mut self) -> Vec<Packet> {
        self.bytes = 0;
        self.packets.drain(..).map(|(packet, ..)| packet.into_inner()).collect()
    }
}

/// A discipline that decides at arrival, wrapped as a first-in, first-out buffer.
pub struct Fifo {
    admission: Box<dyn Admission>,
    line: Line,
    /// Time since which the queue has been empty.
    empty_since: Time,
}

impl Fifo {
    /// Creates an empty buffer.
    pub fn new(admission: Box<dyn Admission>) -> Fifo {
        Fifo { admission, line: Line::default(), empty_since: Time::ZERO }
    }
}

impl Buffer for Fifo {
    fn enqueue(&mut self, now: Time, mut packet: Packet, effects: &mut Effects<'_>) {
        let Held { packets, bytes } = self.line.held();
        let backlog = Backlog { packets, bytes, empty_since: self.empty_since };
        match self.admission.admit(now, &mut packet, backlog, effects.stream) {
            Verdict::Admit => self.line.push(now, packet),
            Verdict::Drop(reason) => effects.drop(packet, reason),
        }
    }

    fn dequeue(&mut self, now: Time, _effects: &mut Effects<'_>) -> Option<(Packet, Time)> {
        let first = self.line.pop()?;
        self.empty_since = now;
        Some(first)
    }

    fn head(&self, now: Time) -> Option<Head> {
        self.line.head(now)
    }

    fn held(&self) -> Held {
        self.line.held()
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = Waiting> + '_> {
        Box::new(self.line.waiting())
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.line.drain()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.admission.set_rate(rate);
    }
}

impl Queue {
    /// Returns the discipline as a buffer. A discipline that decides at arrival is wrapped.
    pub fn buffer(self) -> Box<dyn Buffer> {
        match self {
            Queue::Arrival(admission) => Box::new(Fifo::new(admission)),
            Queue::Departure(buffer) => buffer,
        }
    }
}
