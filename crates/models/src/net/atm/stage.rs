//! One direction of a connection as a stage: what happens to all cells of a packet is computed when the packet arrives, cell by cell
//! and leg by leg. That is exact, since all cells of a direction enter at one adapter: nothing that arrives later changes what
//! happens to earlier cells. A packet costs one wake, at its delivery.

use super::contract::{self, Policer, Verdict};
use super::leg::{self, Fate, Leg};
use crate::channel::SPOILED;
use crate::link::framing::atm::Encapsulation;
use crate::link::framing::TOO_LONG;
use crate::queue::drop_tail::{DEFAULT_PACKETS, FULL};
use crate::{DropReason, Held, Outbox, Packet, Port, Stage};
use bentpipe_core::{Column, Rate, Report, Span, Stream, Table, Time};
use std::collections::VecDeque;

/// A cell of the packet exceeded the contract.
pub const EXCESS: DropReason = DropReason::new("cell exceeded the contract");
/// A cell of the packet found a buffer full.
pub const CELLS_FULL: DropReason = DropReason::new("cell buffer full");
/// The packet's frame was dropped as a whole.
pub const EARLY: DropReason = DropReason::new("early packet discard");
/// The end of the frame before was lost, so that the receiver took both for one.
pub const MERGED: DropReason = DropReason::new("merged with a frame whose end was lost");

/// Counters of a leg in one direction.
pub static LEG: Table = Table {
    name: "atm_leg",
    entity: "leg",
    about: "at the end of the run, for each leg of an ATM network (NETWORK.forward.1, NETWORK.back.1, ...)",
    columns: &[
        Column::whole("cells", "cells", "cells that were sent"),
        Column::whole("dropped", "cells", "cells that the buffer dropped"),
        Column::whole("dropped_low", "cells", "of them, cells of low priority"),
        Column::whole("dropped_early", "cells", "cells of frames that were dropped as a whole"),
        Column::whole("spoiled", "cells", "cells that the line corrupted or lost"),
        Column::whole("queue_max", "cells", "maximum number of cells that waited at once"),
        Column::real("wait_mean", "s", "mean time that a cell waited"),
        Column::real("wait_deviation", "s", "standard deviation of that time (cell delay variation)"),
    ],
};

/// Counters of a connection in one direction.
pub static CONNECTION: Table = Table {
    name: "atm",
    entity: "connection",
    about: "at the end of the run, for each direction of an ATM network (NETWORK.forward, NETWORK.back)",
    columns: &[
        Column::whole("frames", "frames", "packets that entered"),
        Column::whole("cells", "cells", "cells of the packets that entered"),
        Column::whole("tagged", "cells", "cells that exceeded the contract and continued with low priority"),
        Column::whole("discarded", "cells", "cells that exceeded the contract and were discarded"),
        Column::whole("lost", "frames", "packets that did not arrive, for whatever reason"),
        Column::whole("merged", "frames", "of them, those lost with a frame before whose end was missing"),
    ],
};

/// Bytes that Ethernet adds to a packet: preamble 8, header 14, checksum 4, gap 12; and the least payload (IEEE 802.3).
const ETHERNET: (u32, u32) = (38, 46);

/// An Ethernet segment, which carries frames one after the other and each as a whole.
struct Segment {
    rate: Rate,
    free_at: Time,
    /// When the transmission of each waiting packet starts.
    waiting: VecDeque<Time>,
}

/// Time that a packet takes on an Ethernet segment.
pub fn on_ethernet(rate: Rate, size: u32) -> Span {
    let (more, least) = ETHERNET;
    rate.span_of(u64::from(size.max(least) + more))
}

impl Segment {
    fn new(rate: Rate) -> Segment {
        Segment { rate, free_at: Time::ZERO, waiting: VecDeque::new() }
    }

    /// When a packet that comes at `now` will have been sent; nothing if too many wait.
    fn send(&mut self, now: Time, size: u32) -> Option<Time> {
        while self.waiting.front().is_some_and(|start| *start <= now) {
            self.waiting.pop_front();
        }
        if self.waiting.len() as u64 >= DEFAULT_PACKETS {
            return None;
        }
        let start = now.max(self.free_at);
        if start > now {
            self.waiting.push_back(start);
        }
        self.free_at = start + on_ethernet(self.rate, size);
        Some(self.free_at)
    }
}

/// What both directions of a connection have in common.
#[derive(Clone, Copy)]
pub struct Common<'a> {
    /// What precedes a packet in its frame.
    pub encapsulation: Encapsulation,
    /// Rate of the Ethernet segments, if there are any.
    pub lan: Option<Rate>,
    /// The traffic contract.
    pub contract: &'a contract::Config,
}

/// One direction of the connection. Input port 0, output port 0.
pub struct Direction {
    name: String,
    encapsulation: Encapsulation,
    /// The Ethernet segments before and behind the connection.
    islands: Option<(Segment, Segment)>,
    shaper: Option<Policer>,
    policer: Option<Policer>,
    legs: Vec<Leg>,
    stream: Stream,
    /// Whether the receiver holds cells of a frame whose end was lost.
    stale: bool,
    /// Packets by when they arrive, or would have, with the reason if they are lost.
    flying: VecDeque<(Time, Option<DropReason>, Packet)>,
    held_bytes: u64,
    frames: u64,
    cells: u64,
    tagged: u64,
    discarded: u64,
    lost: u64,
    merged: u64,
}

impl Direction {
    /// An idle connection in the direction whose legs come in this order.
    pub fn new<'a>(
        name: &str,
        common: Common<'_>,
        legs: impl Iterator<Item = &'a leg::Config>,
        stream: Stream,
    ) -> Direction {
        Direction {
            name: name.to_owned(),
            encapsulation: common.encapsulation,
            islands: common.lan.map(|rate| (Segment::new(rate), Segment::new(rate))),
            shaper: common.contract.shaper(),
            policer: common.contract.policer(),
            legs: legs.map(Leg::new).collect(),
            stream,
            stale: false,
            flying: VecDeque::new(),
            held_bytes: 0,
            frames: 0,
            cells: 0,
            tagged: 0,
            discarded: 0,
            lost: 0,
            merged: 0,
        }
    }

    /// What happens to the frame of a packet that the adapter has at `ready`: when the last of it arrives, or would have, and
    /// why it is lost, if it is.
    fn carry(&mut self, ready: Time, cells: u32) -> (Time, Option<DropReason>) {
        let (mut end, mut reason, mut arrived) = (ready, None, 0);
        let mut end_arrived = false;
        for cell in 0..cells {
            let last = cell + 1 == cells;
            match self.carry_cell(ready, last) {
                Ok((time, cause)) => {
                    end = time;
                    reason = reason.or(cause);
                    arrived += 1;
                    end_arrived = last;
                }
                Err((time, cause)) => {
                    end = end.max(time);
                    reason = reason.or(Some(cause));
                }
            }
        }
        if self.stale && reason.is_none() {
            reason = Some(MERGED);
            self.merged += 1;
        }
        self.stale = !end_arrived && (self.stale || arrived > 0);
        (end, reason)
    }

    /// Carries one cell: when it arrives, and why its frame is lost nevertheless, or when and why it is lost.
    fn carry_cell(
        &mut self,
        ready: Time,
        last: bool,
    ) -> Result<(Time, Option<DropReason>), (Time, DropReason)> {
        let (mut now, mut low, mut spoiled) = (ready, false, None);
        if let Some(shaper) = &mut self.shaper {
            now = now.max(shaper.earliest());
            shaper.arrive(now);
        }
        for (place, leg) in self.legs.iter_mut().enumerate() {
            match leg.send(now, last, low, &mut self.stream) {
                Fate::Arrives(time) => now = time,
                Fate::Spoiled(time) => (now, spoiled) = (time, Some(SPOILED)),
                Fate::Lost(time) => return Err((time, SPOILED)),
                Fate::Full => return Err((now, CELLS_FULL)),
                Fate::Early => return Err((now, EARLY)),
            }
            // The policer stands at the first switch: behind the line from the user's adapter.
            let Some(policer) = self.policer.as_mut().filter(|_| place == 0) else { continue };
            match policer.arrive(now) {
                Verdict::Conforms => {}
                Verdict::Tagged => {
                    low = true;
                    self.tagged += 1;
                }
                Verdict::Discarded => {
                    self.discarded += 1;
                    return Err((now, EXCESS));
                }
            }
        }
        Ok((now, spoiled))
    }
}

impl Stage for Direction {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        if packet.size > self.encapsulation.longest() {
            return out.drop(packet, TOO_LONG);
        }
        let ready = match &mut self.islands {
            None => now,
            Some((near, _)) => match near.send(now, packet.size) {
                Some(ready) => ready,
                None => return out.drop(packet, FULL),
            },
        };
        let cells = self.encapsulation.cells(packet.size);
        self.frames += 1;
        self.cells += u64::from(cells);
        let (end, mut reason) = self.carry(ready, cells);
        let mut delivery = end;
        if let (Some((_, far)), None) = (&mut self.islands, reason) {
            match far.send(end, packet.size) {
                Some(sent) => delivery = sent,
                None => reason = Some(FULL),
            }
        }
        self.lost += u64::from(reason.is_some());
        // What is lost leaves in its turn.
        let delivery = self.flying.back().map_or(delivery, |(before, ..)| delivery.max(*before));
        self.held_bytes += u64::from(packet.size);
        self.flying.push_back((delivery, reason, packet));
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while self.flying.front().is_some_and(|(time, ..)| *time <= now) {
            let Some((_, reason, packet)) = self.flying.pop_front() else { return };
            self.held_bytes -= u64::from(packet.size);
            match reason {
                Some(reason) => out.drop(packet, reason),
                None => out.send(Port(0), packet),
            }
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        self.flying.front().map(|(time, ..)| *time)
    }

    fn held(&self) -> Held {
        Held { packets: self.flying.len() as u64, bytes: self.held_bytes }
    }

    fn report(&self, _now: Time, report: &mut Report) {
        let Direction { frames, cells, tagged, discarded, lost, merged, .. } = self;
        let values = [frames, cells, tagged, discarded, lost, merged].map(|count| *count as f64);
        report.row(&CONNECTION, &self.name, &values);
        for (place, leg) in self.legs.iter().enumerate() {
            let counters = &leg.counters;
            let (mean, square) = match counters.sent {
                0 => (f64::NAN, f64::NAN),
                sent => (counters.waits.0 / sent as f64, counters.waits.1 / sent as f64),
            };
            let values = [
                counters.sent as f64,
                counters.dropped as f64,
                counters.dropped_low as f64,
                counters.dropped_early as f64,
                counters.spoiled as f64,
                counters.most as f64,
                mean,
                (square - mean * mean).max(0.0).sqrt(),
            ];
            report.row(&LEG, &format!("{}.{}", self.name, place + 1), &values);
        }
    }
}
