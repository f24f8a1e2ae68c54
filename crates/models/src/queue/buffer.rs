//! Queues that keep their packets until they are asked for the next: what links, schedulers and disciplines that decide at
//! departure have in common.

use super::{Admission, Backlog, Queue, Verdict};
use crate::{DropReason, Held, Outbox, Packet};
use bentpipe_core::{Rate, Stream, Time, Whole};
use std::collections::VecDeque;

/// A queue that decides when a packet leaves.
pub trait Buffer: Send {
    /// A packet arrives. It is kept or dropped, or others are.
    fn enqueue(&mut self, now: Time, packet: Packet, effects: &mut Effects<'_>);

    /// The next packet to be sent, if there is one now. Others may be dropped on the way.
    fn dequeue(&mut self, now: Time, effects: &mut Effects<'_>) -> Option<Packet>;

    /// What would leave next if nothing else came; nothing when it is empty.
    fn head(&self, now: Time) -> Option<Head>;

    /// What waits.
    fn held(&self) -> Held;

    /// Takes out all that waits, in the order of the classes and of arrival.
    fn drain(&mut self) -> Vec<Packet>;

    /// The link goes on with another rate.
    fn set_rate(&mut self, _rate: Rate) {}
}

/// The packet that leaves next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// When it can, not before now.
    pub at: Time,
    /// Its bytes; another may leave in its place if it is dropped then.
    pub size: u32,
}

/// What a buffer draws from, and where its drops go.
pub struct Effects<'a> {
    /// The link's random stream.
    pub stream: &'a mut Stream,
    out: &'a mut Outbox,
    /// How many packets have been dropped.
    pub drops: u64,
}

impl<'a> Effects<'a> {
    /// Nothing dropped yet.
    pub fn new(stream: &'a mut Stream, out: &'a mut Outbox) -> Effects<'a> {
        Effects { stream, out, drops: 0 }
    }

    /// Drops a packet.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.drops += 1;
        self.out.drop(packet, reason);
    }
}

/// Packets in order of arrival, with the times at which they came.
#[derive(Default)]
pub struct Line {
    packets: VecDeque<(Whole<Packet>, u32, Time)>,
    bytes: u64,
}

impl Line {
    /// A packet comes.
    pub fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += u64::from(packet.size);
        let size = packet.size;
        self.packets.push_back((Whole::new(packet), size, now));
    }

    /// The first one, and when it came.
    pub fn pop(&mut self) -> Option<(Packet, Time)> {
        let (packet, size, arrived) = self.packets.pop_front()?;
        self.bytes -= u64::from(size);
        Some((packet.into_inner(), arrived))
    }

    /// Bytes of the first.
    pub fn first(&self) -> Option<u32> {
        self.packets.front().map(|(_, size, _)| *size)
    }

    /// What waits.
    pub fn held(&self) -> Held {
        Held { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    /// The first as [`Buffer::head`] gives it.
    pub fn head(&self, now: Time) -> Option<Head> {
        self.first().map(|size| Head { at: now, size })
    }

    /// All of them.
    pub fn drain(&mut self) -> Vec<Packet> {
        self.bytes = 0;
        self.packets.drain(..).map(|(packet, ..)| packet.into_inner()).collect()
    }
}

/// A discipline that decides at arrival, as a buffer: first in, first out.
pub struct Fifo {
    admission: Box<dyn Admission>,
    line: Line,
    /// Since when nothing waits.
    empty_since: Time,
}

impl Fifo {
    /// An empty one.
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

    fn dequeue(&mut self, now: Time, _effects: &mut Effects<'_>) -> Option<Packet> {
        let (packet, _) = self.line.pop()?;
        self.empty_since = now;
        Some(packet)
    }

    fn head(&self, now: Time) -> Option<Head> {
        self.line.head(now)
    }

    fn held(&self) -> Held {
        self.line.held()
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.line.drain()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.admission.set_rate(rate);
    }
}

impl Queue {
    /// The discipline as a buffer, whenever it decides.
    pub fn buffer(self) -> Box<dyn Buffer> {
        match self {
            Queue::Arrival(admission) => Box::new(Fifo::new(admission)),
            Queue::Departure(buffer) => buffer,
        }
    }
}
