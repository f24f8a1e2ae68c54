//! One direction of one connection: its own parts before the shared legs, and its frames on the
//! way.
//!
//! Before the shared legs, cells pass the Ethernet segment, the shaper and the access line. Their
//! arrival times at the first switch are known when the packet enters. After the shared legs, they
//! pass the far end of the connection, or of several connections that begin at the same node
//! ([`super::multicast`]). Cells of ABR wait in the adapter until the source ([`super::abr`]) sends
//! them.

use super::abr::{self, Next, RmCell, Source};
use super::config::Config;
use super::contract::{Policer, Verdict};
use super::lan::Segment;
use super::leaf::{Arrival, Leaf};
use super::leg::Leg;
use super::transit::{Cell, CELLS_FULL};
use bentpipe_core::{Column, Report, Stream, Table, Time};
use bentpipe_link::queue::drop_tail::FULL;
use bentpipe_stage::{packet, DropReason, Packet};
use std::collections::VecDeque;

/// Drop reason: a cell of the packet exceeded the contract.
pub const EXCESS: DropReason = DropReason::new("cell exceeded the contract");
/// Counters of a connection in one direction.
pub static CONNECTION: Table = Table {
    name: "atm",
    entity: "connection",
    about: "at the end of the run, for each direction of an ATM connection (NETWORK.forward, NETWORK.back; of `others` NETWORK.forward.2, ...)",
    columns: &[
        Column::whole("frames", "frames", "packets that entered"),
        Column::whole("cells", "cells", "cells of the packets that entered"),
        Column::whole("tagged", "cells", "cells that exceeded the contract and continued with low priority"),
        Column::whole("discarded", "cells", "cells that exceeded the contract and were discarded"),
        Column::whole("lost", "frames", "packets that did not arrive, for any reason, including multicast copies that were lost after the last switch"),
        Column::whole("merged", "frames", "of them, those lost with a frame before whose end was missing"),
    ],
};

/// A frame with cells that have neither arrived nor been lost.
struct Frame {
    packet: Packet,
    /// Number of missing cells.
    missing_cells: u32,
    /// Time at which the last cell of the frame arrives at the first switch.
    ready: Time,
    /// True if a cell was corrupted or lost before the last switch.
    damaged: bool,
    /// True if the frame belongs to the point-to-multipoint connection.
    multicast: bool,
    /// The frame at its leaf, and at further leaves.
    first: Arrival,
    more: Vec<Arrival>,
}

/// The adapter of one direction of an ABR connection.
struct Adapter {
    source: Source,
    /// Data cells that wait for the source, with `at` as the time since which they wait.
    waiting: VecDeque<Cell>,
    /// Maximum number of waiting cells.
    buffer: usize,
    waiting_max: usize,
    /// EFCI bit of the latest data cell that arrived at the destination.
    efci: bool,
    /// RM cells that have arrived at the other end of this direction, in order of time.
    arrived: VecDeque<(Time, RmCell)>,
}

/// One direction of a connection.
pub struct Connection {
    /// Name of the connection in results.
    name: String,
    /// Number of the connection, and of its far end.
    index: usize,
    /// The Ethernet segment before the adapter.
    ethernet: Option<Segment>,
    shaper: Option<Policer>,
    policer: Option<Policer>,
    /// The access line before the shared legs.
    access: Option<Leg>,
    /// Cells that have not entered the first shared leg, in order.
    cells: VecDeque<Cell>,
    last_time: Time,
    reassembling: VecDeque<Frame>,
    /// The adapter of an ABR connection; `None` for other categories.
    adapter: Option<Adapter>,
    frames: u64,
    sent: u64,
    tagged: u64,
    discarded: u64,
}

impl Connection {
    /// Creates connection `index` of the network in the idle state.
    pub fn new(name: String, config: &Config, index: usize) -> Connection {
        let contract = config.contract_of(index);
        Connection {
            name,
            index,
            ethernet: config.lan.map(Segment::new),
            shaper: contract.shaper(),
            policer: contract.policer(),
            access: config.access.as_ref().map(|leg| Leg::new(leg, 1)),
            cells: VecDeque::new(),
            last_time: Time::ZERO,
            reassembling: VecDeque::new(),
            adapter: contract.source().map(|source| Adapter {
                source,
                waiting: VecDeque::new(),
                buffer: contract.flow_control().buffer.value() as usize,
                waiting_max: 0,
                efci: false,
                arrived: VecDeque::new(),
            }),
            frames: 0,
            sent: 0,
            tagged: 0,
            discarded: 0,
        }
    }

    /// Accepts a packet that fills `cells` cells. A packet of the point-to-multipoint connection
    /// has `copies`, each with its leaf and its leg. Returns the packet and the drop reason if it
    /// does not reach the adapter.
    pub fn enter(
        &mut self,
        now: Time,
        packet: Packet,
        cells: u32,
        copies: &[(usize, packet::Leg)],
        stream: &mut Stream,
    ) -> Option<(Packet, DropReason)> {
        let ready = match &mut self.ethernet {
            None => now,
            Some(near) => match near.send(now, packet.size) {
                Some(ready) => ready,
                None => return Some((packet, FULL)),
            },
        };
        let waiting = self.adapter.as_ref().map_or(0, |adapter| adapter.waiting.len());
        if self.adapter.as_ref().is_some_and(|adapter| waiting + cells as usize > adapter.buffer) {
            return Some((packet, CELLS_FULL));
        }
        let (number, multicast) = (self.frames, !copies.is_empty());
        self.frames += 1;
        self.sent += u64::from(cells);
        for index in 1..=cells {
            // After a change of the contract, cells must not overtake earlier ones.
            let mut at = ready.max(self.last_time);
            if let Some(shaper) = &mut self.shaper {
                at = at.max(shaper.earliest());
                shaper.arrive(at);
            }
            self.last_time = at;
            let cell = Cell { multicast, ..Cell::new(at, number, index == cells, None) };
            if let Some(adapter) = &mut self.adapter {
                adapter.waiting.push_back(cell);
                adapter.waiting_max = adapter.waiting_max.max(adapter.waiting.len());
                continue;
            }
            self.leave_adapter(cell, stream);
        }
        let ready = self.cells.back().map_or(ready, |cell| cell.at);
        let mut arrivals = copies.iter().map(|(leaf, leg)| Arrival::new(*leaf, *leg, ready));
        self.reassembling.push_back(Frame {
            missing_cells: cells,
            ready,
            damaged: false,
            multicast,
            first: arrivals.next().unwrap_or_else(|| Arrival::new(self.index, packet.leg, ready)),
            more: arrivals.collect(),
            packet,
        });
        None
    }

    /// Sends a cell over the first access line, if there is one, to the first shared leg.
    fn leave_adapter(&mut self, mut cell: Cell, stream: &mut Stream) {
        if let Some(near) = &mut self.access {
            cell = cell.traverse(near, 0, stream);
            let before = self.cells.back().map_or(Time::ZERO, |before| before.at);
            cell.at = cell.at.max(before);
        }
        self.cells.push_back(cell);
    }

    /// Returns the time at which the source of an ABR connection sends its next cell.
    pub fn next_emission(&self) -> Option<Time> {
        let adapter = self.adapter.as_ref()?;
        adapter.source.next(adapter.waiting.front().map(|cell| cell.at))
    }

    /// Sends the next cell of an ABR connection at `now`, its
    /// [`next_emission`](Self::next_emission).
    pub fn emit(&mut self, now: Time, stream: &mut Stream) {
        let Some(adapter) = &mut self.adapter else { return };
        let data = adapter.waiting.front().is_some_and(|cell| cell.at <= now);
        let cell = match adapter.source.send(now, data) {
            Next::Rm(rm) => Cell::new(now, 0, false, Some(rm)),
            Next::Data => match adapter.waiting.pop_front() {
                Some(cell) => Cell { at: now, ..cell },
                None => return,
            },
        };
        self.leave_adapter(cell, stream);
    }

    /// Accepts an RM cell that the destination of the opposite direction returns at `now`.
    pub fn turn(&mut self, now: Time, cell: RmCell) {
        if let Some(adapter) = &mut self.adapter {
            adapter.source.turn(now, cell);
        }
    }

    /// Applies a backward RM cell of this direction's source at `now`. Returns the values of its
    /// row of the trace.
    pub fn feedback(&mut self, now: Time, cell: RmCell) -> Option<[f64; 5]> {
        let adapter = self.adapter.as_mut()?;
        adapter.source.feedback(now, cell);
        let bits = [cell.congestion, cell.no_increase].map(|bit| f64::from(u8::from(bit)));
        let waiting = adapter.waiting.len() as f64;
        Some([adapter.source.rate(), cell.explicit_rate, bits[0], bits[1], waiting])
    }

    /// Returns the time at which the next RM cell arrives at the other end of this direction.
    pub fn next_rm(&self) -> Option<Time> {
        self.adapter.as_ref()?.arrived.front().map(|(time, _)| *time)
    }

    /// Removes and returns the RM cell that has arrived at the other end by `now`, if any.
    pub fn take_rm(&mut self, now: Time) -> Option<RmCell> {
        let arrived = &mut self.adapter.as_mut()?.arrived;
        arrived.pop_front_if(|(time, _)| *time <= now).map(|(_, cell)| cell)
    }

    /// Returns the time at which the next cell arrives at the first shared leg.
    pub fn next_cell(&self) -> Option<Time> {
        self.cells.front().map(|cell| cell.at)
    }

    /// Removes and returns the next cell for the first shared leg.
    pub fn take(&mut self) -> Option<Cell> {
        self.cells.pop_front()
    }

    /// Returns true if the connection has access lines. The policer then follows the first access
    /// line.
    pub fn has_access(&self) -> bool {
        self.access.is_some()
    }

    /// Applies the policer to a cell. Returns a conforming cell unchanged, and any other cell
    /// tagged or marked as discarded.
    pub fn police(&mut self, mut cell: Cell) -> Cell {
        let Some(policer) = self.policer.as_mut().filter(|_| !cell.lost) else { return cell };
        match policer.arrive(cell.at) {
            Verdict::Conforms => {}
            Verdict::Tagged => {
                cell.low_priority = true;
                self.tagged += 1;
            }
            Verdict::Discarded => {
                (cell.lost, cell.corruption) = (true, cell.corruption.or(Some(EXCESS)));
                self.discarded += 1;
            }
        }
        cell
    }

    /// Handles a cell that has left the shared legs, at `now` or later, or was lost on these legs.
    /// The cells that leave are in order, but the loss of a cell may be known before earlier cells
    /// have left.
    pub fn leave(&mut self, now: Time, cell: Cell, leaves: &mut [Leaf], stream: &mut Stream) {
        if let Some(rm) = cell.rm {
            return self.rm_arrives(leaves[self.index].carry(cell, stream), rm);
        }
        let oldest = self.frames - self.reassembling.len() as u64;
        let index = usize::try_from(cell.frame - oldest).unwrap_or(usize::MAX);
        let Some(frame) = self.reassembling.get_mut(index) else { return };
        frame.missing_cells -= 1;
        frame.damaged |= cell.corruption.is_some();
        for arrival in std::iter::once(&mut frame.first).chain(&mut frame.more) {
            let cell = leaves[arrival.leaf].carry(cell, stream);
            arrival.add(&cell);
            if let (Some(adapter), false) = (&mut self.adapter, cell.lost) {
                adapter.efci = cell.efci;
            }
        }
        while let Some(frame) = self.reassembling.pop_front_if(|frame| frame.missing_cells == 0) {
            self.reassemble(now, frame, leaves);
        }
    }

    /// Handles an RM cell at the end of this direction. A corrupted or lost RM cell has no effect.
    fn rm_arrives(&mut self, cell: Cell, mut rm: RmCell) {
        let Some(adapter) = &mut self.adapter else { return };
        if cell.corruption.is_some() {
            return;
        }
        if !rm.backward {
            rm.congestion |= std::mem::take(&mut adapter.efci);
        }
        adapter.arrived.push_back((cell.at, rm));
    }

    /// Handles a frame whose cells have all arrived or been lost. A damaged frame is one lost
    /// packet of this connection, however many leaves it has.
    fn reassemble(&mut self, now: Time, frame: Frame, leaves: &mut [Leaf]) {
        let Frame { packet, damaged, multicast, mut first, mut more, .. } = frame;
        for arrival in std::iter::once(&mut first).chain(&mut more) {
            leaves[arrival.leaf].reassemble(arrival, multicast);
        }
        if damaged {
            return leaves[self.index].deliver(now, &first, packet, false);
        }
        for arrival in &more {
            let copy = Packet { leg: arrival.leg, ..packet.clone() };
            leaves[arrival.leaf].deliver(now, arrival, copy, true);
        }
        let packet = Packet { leg: first.leg, ..packet };
        leaves[first.leaf].deliver(now, &first, packet, false);
    }

    /// Returns the time at which the last cell of the oldest frame arrives at the first shared leg.
    pub fn next_frame(&self) -> Option<Time> {
        self.reassembling.front().map(|frame| frame.ready)
    }

    /// Applies a change of the configuration from `before` to `after`.
    pub fn change(&mut self, before: &Config, after: &Config, index: usize) {
        let contract = after.contract_of(index);
        if contract != before.contract_of(index) {
            (self.shaper, self.policer) = (contract.shaper(), contract.policer());
        }
        if let (Some(near), Some(leg)) = (&mut self.access, &after.access) {
            near.change(leg);
        }
    }

    /// Writes the rows of the connection with its far end, and of its access lines.
    pub fn report(&self, now: Time, leaf: &Leaf, report: &mut Report) {
        let Connection { frames, sent, tagged, discarded, .. } = *self;
        let [lost, merged] = leaf.losses();
        let values = [frames, sent, tagged, discarded, lost, merged].map(|count| count as f64);
        report.row(&CONNECTION, &self.name, &values);
        if let Some(adapter) = &self.adapter {
            let values = adapter.source.report(now, adapter.waiting_max as u64);
            report.row(&abr::REPORT, &self.name, &values);
        }
        if let Some(near) = &self.access {
            near.report(&format!("{}.near", self.name), report);
        }
        leaf.report(&self.name, report);
    }
}
