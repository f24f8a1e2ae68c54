//! Traffic classes of a terminal. Each class has its own queue, and its own kind of request for
//! slots.
//!
//! The scenario lists the classes in order of priority. A packet belongs to the class that lists
//! its DSCP, or to the last class. If the scenario lists classes, each slot is filled when it
//! starts: first with data of the first class that has waiting packets, then with data of the next.
//! An EF packet therefore waits at most for the slot in transmission. The queue of a class may have
//! any discipline; those that decide at departure ([`super::buffered`]) choose a packet when a slot
//! starts. Each class frames its packets
//! separately (with its own virtual channel, PID or fragment identifier); classes do not share
//! units.
//!
//! ```toml
//! [[network.sat.return.classes]]
//! name = "ef"
//! dscp = [46]
//! asks = "nothing"      # CRA is for these
//!
//! [[network.sat.return.classes]]
//! name = "af"
//! dscp = [10, 12, 14]
//! asks = "rate"         # RBDC
//!
//! [[network.sat.return.classes]]
//! name = "be"
//! asks = "volume"       # VBDC or AVBDC
//! ```

use super::buffered::Buffered;
use super::slots::Placement;
use bentpipe_core::{Dscp, Problems, Time};
use bentpipe_link::framing::{Added, Framer, Verdicts};
use bentpipe_link::queue::classes::{self, Named};
use bentpipe_link::queue::unlimited::Unlimited;
use bentpipe_link::queue::{self, Admission, Backlog, Queue};
use bentpipe_stage::Packet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A traffic class of the terminals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Name of the class, for messages.
    pub name: String,
    /// Code points (DSCP) of packets of the class (RFC 2474). The last class also includes all code
    /// points that no class lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<Dscp>,
    /// Requests for slots for the data of this class: by volume (the default), by rate, or none.
    #[serde(default)]
    pub asks: Asks,
    /// Queue discipline of the class. If unset, the return link's discipline applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<queue::Config>,
}

/// Requests for slots for the data of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Asks {
    /// No requests: the class uses the constant slots.
    Nothing,
    /// Capacity is requested as a rate (RBDC).
    Rate,
    /// Capacity is requested as a volume (VBDC, AVBDC).
    #[default]
    Volume,
}

impl Named for Class {
    fn name(&self) -> &str {
        &self.name
    }

    fn dscp(&self) -> &[Dscp] {
        &self.dscp
    }
}

/// Adds the problems of a list of classes to `problems`.
pub fn check(classes: &[Class], problems: &mut Problems) {
    classes::check(classes, problems);
    for (index, class) in classes.iter().enumerate() {
        let Some(queue) = &class.queue else { continue };
        problems.within(index.to_string(), |problems| {
            problems.within("queue", |problems| queue.check(problems));
        });
    }
}

/// A packet of which some bytes do not have a slot yet.
pub(super) struct QueuedPacket {
    pub arrival: Time,
    /// Bytes without a slot.
    pub unsent_bytes: u64,
    /// Bytes and units that the packet takes with its framing.
    pub added: Added,
    pub begun: bool,
    pub packet: Packet,
}

/// The packets of one class.
pub(super) struct Traffic {
    pub asks: Asks,
    pub admission: Box<dyn Admission>,
    /// Waiting packets of a discipline that decides at departure. `waiting` then has the packet
    /// that is being sent, and all further packets wait here.
    pub buffered: Option<Box<Buffered>>,
    pub framer: Option<Box<dyn Framer>>,
    pub verdicts: Verdicts,
    pub waiting: VecDeque<QueuedPacket>,
    /// Number of unsent bytes in `waiting`.
    pub unsent: u64,
    /// Bytes that have arrived from the host.
    pub arrived: u64,
    /// Packets whose first slot has not started.
    pub backlog: Backlog,
    /// Start of the first slot and size of the packets in `backlog` that have a slot.
    pub beginning: VecDeque<(Time, u32)>,
    /// Placement of the last bytes that have a slot.
    pub last: Option<Placement>,
}

impl Traffic {
    pub fn new(asks: Asks, queue: Queue, framer: impl Fn() -> Option<Box<dyn Framer>>) -> Traffic {
        let (admission, buffered) = parts(queue, framer());
        Traffic {
            asks,
            admission,
            buffered,
            framer: framer(),
            verdicts: Verdicts::default(),
            waiting: VecDeque::new(),
            unsent: 0,
            arrived: 0,
            backlog: Backlog::default(),
            beginning: VecDeque::new(),
            last: None,
        }
    }

    /// Replaces the discipline. Returns the packets that waited in a buffer; they no longer count
    /// as arrived.
    pub fn set_queue(&mut self, queue: Queue, framer: Option<Box<dyn Framer>>) -> Vec<Packet> {
        let before = self.buffered.take();
        (self.admission, self.buffered) = parts(queue, framer);
        let Some(mut before) = before else { return Vec::new() };
        self.arrived = self.arrived.saturating_sub(before.bytes());
        before.drain()
    }

    /// Appends a packet that arrived at `arrival` to those that wait for slots. Returns the bytes
    /// that it takes in slots.
    #[inline(always)]
    pub fn wait_for_slots(&mut self, now: Time, arrival: Time, packet: Packet, closed_from: Time) -> u64 {
        let (left, added) = self.frame(now, packet.size, closed_from);
        self.unsent += left;
        self.waiting.push_back(QueuedPacket { arrival, unsent_bytes: left, added, begun: false, packet });
        left
    }

    /// Returns true if the last unit of the previous packet lies in a slot that starts now, and has
    /// room for another packet.
    pub fn has_room(&self, now: Time) -> bool {
        let open = self.last.is_some_and(|last| last.last_begin >= now);
        open && self.framer.as_ref().is_some_and(|framer| framer.has_room())
    }

    /// Returns true if the class has data that may be sent now.
    #[inline]
    pub fn may_send(&self, now: Time, closed_from: Time) -> bool {
        self.first(closed_from).is_some() || self.buffered.as_ref().is_some_and(|queue| queue.is_ready(now))
    }

    /// Returns the bytes in slots of the packets that have no slot yet.
    pub fn queue_bytes(&mut self) -> u64 {
        self.unsent + self.buffered.as_mut().map_or(0, |queue| queue.bytes())
    }

    /// Returns the time of arrival of the packet that has waited longest.
    pub fn oldest(&self) -> Option<Time> {
        let buffered = self.buffered.iter().flat_map(|queue| queue.waiting()).map(|packet| packet.arrival);
        self.waiting.front().map(|waiting| waiting.arrival).into_iter().chain(buffered).min()
    }

    /// Returns the first waiting packet, if it may be sent: if it arrived before `closed_from`.
    #[inline]
    pub fn first(&self, closed_from: Time) -> Option<&QueuedPacket> {
        self.waiting.front().filter(|first| first.arrival < closed_from)
    }

    /// Returns the cost of a packet: bytes in slots and, with a framing, units. Packets that arrive
    /// at `closed_from` or later do not share a unit with earlier packets.
    #[inline]
    pub fn frame(&mut self, now: Time, size: u32, closed_from: Time) -> (u64, Added) {
        let Some(framer) = &mut self.framer else { return (u64::from(size), Added::default()) };
        let open = match closed_from <= now {
            true => self.waiting.back().is_some_and(|last| last.arrival >= closed_from),
            // The last unit can still be filled if it has no slot yet, or one that has not started.
            false => !self.waiting.is_empty() || self.last.is_some_and(|last| last.last_begin >= now),
        };
        let added = framer.add(size, open);
        (u64::from(added.units) * u64::from(framer.unit()), added)
    }

    /// Frames the waiting packets again for bursts of another size. Only the unsent part of a
    /// packet is framed again.
    pub fn reframe(&mut self, now: Time, framer: Option<Box<dyn Framer>>) {
        let before = self.framer.as_ref().map(|framer| u64::from(framer.unit()));
        let (Some(before), Some(_)) = (before, &framer) else { return };
        (self.framer, self.last) = (framer, None);
        let mut waiting = std::mem::take(&mut self.waiting);
        self.unsent = 0;
        for one in &mut waiting {
            let whole = u64::from(one.added.units) * before;
            let size = match one.begun && whole > 0 {
                true => (u64::from(one.packet.size) * one.unsent_bytes).div_ceil(whole).max(1) as u32,
                false => one.packet.size,
            };
            let framer = self.framer.as_mut().expect("it has just been set");
            let (unit, added) = (framer.unit(), framer.add(size, self.unsent > 0));
            (one.unsent_bytes, one.added) = (u64::from(added.units) * u64::from(unit), added);
            self.unsent += one.unsent_bytes;
        }
        self.waiting = waiting;
        // The next packet may share the last unit of these packets.
        self.release_begun(now);
    }

    /// Removes all packets that wait for slots.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.unsent = 0;
        self.beginning.clear();
        self.backlog = Backlog::default();
    }

    pub fn release_begun(&mut self, now: Time) {
        while let Some(&(start, size)) = self.beginning.front() {
            if start > now {
                break;
            }
            self.beginning.pop_front();
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(size);
            self.backlog.empty_since = start;
        }
    }

    /// Moves the next bytes of the first packet to `placed`. Returns the packet if it is complete.
    #[inline]
    pub fn commit(&mut self, placed: Placement) -> Option<QueuedPacket> {
        let first = &mut self.waiting[0];
        if !first.begun {
            first.begun = true;
            if self.buffered.is_none() {
                self.beginning.push_back((placed.begin, first.packet.size));
            }
        }
        first.unsent_bytes -= placed.bytes;
        self.unsent -= placed.bytes;
        self.last = Some(placed);
        let through = self.waiting[0].unsent_bytes == 0;
        through.then(|| self.waiting.pop_front().expect("there is a first packet"))
    }
}

/// Splits a discipline into its part at arrival and its part at departure.
fn parts(queue: Queue, framer: Option<Box<dyn Framer>>) -> (Box<dyn Admission>, Option<Box<Buffered>>) {
    match queue {
        Queue::Arrival(admission) => (admission, None),
        Queue::Departure(buffer) => (Box::new(Unlimited), Some(Box::new(Buffered::new(buffer, framer)))),
    }
}
