//! One direction of one connection: its own parts before and after the shared legs.
//!
//! Before the shared legs, cells pass the Ethernet segment, the shaper and the access line. Their
//! arrival times at the first switch are known when the packet enters. After the shared legs, they
//! pass an access line, the reassembly of frames and an Ethernet segment. Cells of ABR wait in the
//! adapter until the source ([`super::abr`]) sends them.

use super::abr::{self, Next, RmCell, Source};
use super::config::Config;
use super::contract::{Policer, Verdict};
use super::lan::Segment;
use super::leg::{Fate, Leg};
use bentpipe_core::{Column, Report, Stream, Table, Time};
use bentpipe_link::channel::CORRUPTED;
use bentpipe_link::queue::drop_tail::FULL;
use bentpipe_stage::{DropReason, Packet};
use std::collections::VecDeque;

/// Drop reason: a cell of the packet exceeded the contract.
pub const EXCESS: DropReason = DropReason::new("cell exceeded the contract");
/// Drop reason: a cell of the packet arrived at a full buffer.
pub const CELLS_FULL: DropReason = DropReason::new("cell buffer full");
/// Drop reason: the complete frame of the packet was dropped (early packet discard).
pub const EARLY: DropReason = DropReason::new("early packet discard");
/// Drop reason: the end of the previous frame was lost, so the receiver merged both frames.
pub const MERGED: DropReason = DropReason::new("merged with a frame whose end was lost");

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
        Column::whole("lost", "frames", "packets that did not arrive, for any reason"),
        Column::whole("merged", "frames", "of them, those lost with a frame before whose end was missing"),
    ],
};

/// A cell on its path through the network.
#[derive(Clone, Copy)]
pub struct Cell {
    /// Time at which the cell arrived at the current point of its path, or was lost.
    pub at: Time,
    /// True if the cell marks the end of its frame.
    pub last: bool,
    /// True if the cell has low priority (CLP = 1).
    pub low_priority: bool,
    /// Reason for the loss of the cell's frame, if already known.
    pub corruption: Option<DropReason>,
    /// True if the channel lost the cell; `corruption` is the reason.
    pub lost: bool,
    /// Number of the cell's frame in its connection.
    pub frame: u64,
    /// True if a port marked the cell (explicit forward congestion indication).
    pub efci: bool,
    /// The content of an RM cell, which belongs to no frame; `None` for a data cell.
    pub rm: Option<RmCell>,
}

impl Cell {
    fn new(at: Time, frame: u64, last: bool, rm: Option<RmCell>) -> Cell {
        Cell { at, last, low_priority: false, corruption: None, lost: false, frame, efci: false, rm }
    }

    /// Returns true if the cell ends its frame; `None` for an RM cell.
    pub fn end_of_frame(&self) -> Option<bool> {
        self.rm.is_none().then_some(self.last)
    }

    /// Sends the cell over a leg. Returns the cell at the end of the leg, with its fate on the leg.
    pub fn traverse(mut self, leg: &mut Leg, connection: usize, stream: &mut Stream) -> Cell {
        if !self.lost {
            self.meet(leg.send(self.at, connection, self.end_of_frame(), self.low_priority, stream));
        }
        self
    }

    /// Applies the fate of the cell on a leg.
    pub fn meet(&mut self, fate: Fate) {
        let (at, reason, lost) = match fate {
            Fate::Arrives(at) => (at, None, false),
            Fate::Corrupted(at) => (at, Some(CORRUPTED), false),
            Fate::Lost(at) => (at, Some(CORRUPTED), true),
            Fate::Full => (self.at, Some(CELLS_FULL), true),
            Fate::Early => (self.at, Some(EARLY), true),
        };
        (self.at, self.lost) = (at, lost);
        self.corruption = self.corruption.or(reason);
    }
}

/// A frame with cells that have neither arrived nor been lost.
struct Frame {
    packet: Packet,
    /// Number of missing cells.
    missing_cells: u32,
    /// Time at which the last cell of the frame arrives at the first switch.
    ready: Time,
    end: Time,
    reason: Option<DropReason>,
    arrived: u32,
    last_cell_arrived: bool,
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
    /// The Ethernet segments before and after the connection.
    ethernet: Option<(Segment, Segment)>,
    shaper: Option<Policer>,
    policer: Option<Policer>,
    /// The access lines before and after the shared legs.
    access: Option<(Leg, Leg)>,
    /// Cells that have not entered the first shared leg, in order.
    cells: VecDeque<Cell>,
    last_time: Time,
    reassembling: VecDeque<Frame>,
    /// True if the receiver holds cells of a frame whose end was lost.
    holds_merged_cells: bool,
    /// Packets by their time of arrival, with the reason if they are lost.
    in_flight: VecDeque<(Time, Option<DropReason>, Packet)>,
    /// The adapter of an ABR connection; `None` for other categories.
    adapter: Option<Adapter>,
    frames: u64,
    sent: u64,
    tagged: u64,
    discarded: u64,
    lost: u64,
    merged: u64,
}

impl Connection {
    /// Creates connection `index` of the network in the idle state.
    pub fn new(name: String, config: &Config, index: usize) -> Connection {
        let contract = config.contract_of(index);
        Connection {
            name,
            ethernet: config.lan.map(|rate| (Segment::new(rate), Segment::new(rate))),
            shaper: contract.shaper(),
            policer: contract.policer(),
            access: config.access.as_ref().map(|leg| (Leg::new(leg, 1), Leg::new(leg, 1))),
            cells: VecDeque::new(),
            last_time: Time::ZERO,
            reassembling: VecDeque::new(),
            holds_merged_cells: false,
            in_flight: VecDeque::new(),
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
            lost: 0,
            merged: 0,
        }
    }

    /// Accepts a packet that fills `cells` cells. Returns the packet and the drop reason if it does
    /// not reach the adapter.
    pub fn enter(
        &mut self,
        now: Time,
        packet: Packet,
        cells: u32,
        stream: &mut Stream,
    ) -> Option<(Packet, DropReason)> {
        let ready = match &mut self.ethernet {
            None => now,
            Some((near, _)) => match near.send(now, packet.size) {
                Some(ready) => ready,
                None => return Some((packet, FULL)),
            },
        };
        let waiting = self.adapter.as_ref().map_or(0, |adapter| adapter.waiting.len());
        if self.adapter.as_ref().is_some_and(|adapter| waiting + cells as usize > adapter.buffer) {
            return Some((packet, CELLS_FULL));
        }
        let number = self.frames;
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
            let cell = Cell::new(at, number, index == cells, None);
            if let Some(adapter) = &mut self.adapter {
                adapter.waiting.push_back(cell);
                adapter.waiting_max = adapter.waiting_max.max(adapter.waiting.len());
                continue;
            }
            self.leave_adapter(cell, stream);
        }
        let ready = self.cells.back().map_or(ready, |cell| cell.at);
        self.reassembling.push_back(Frame {
            packet,
            missing_cells: cells,
            ready,
            end: ready,
            reason: None,
            arrived: 0,
            last_cell_arrived: false,
        });
        None
    }

    /// Sends a cell over the first access line, if there is one, to the first shared leg.
    fn leave_adapter(&mut self, mut cell: Cell, stream: &mut Stream) {
        if let Some((near, _)) = &mut self.access {
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
    pub fn leave(&mut self, now: Time, mut cell: Cell, stream: &mut Stream) {
        if let Some((_, far)) = &mut self.access {
            cell = cell.traverse(far, 0, stream);
        }
        if let Some(rm) = cell.rm {
            return self.rm_arrives(cell, rm);
        }
        if let (Some(adapter), false) = (&mut self.adapter, cell.lost) {
            adapter.efci = cell.efci;
        }
        let oldest = self.frames - self.reassembling.len() as u64;
        let index = usize::try_from(cell.frame - oldest).unwrap_or(usize::MAX);
        let Some(frame) = self.reassembling.get_mut(index) else { return };
        frame.missing_cells -= 1;
        frame.end = frame.end.max(cell.at);
        frame.reason = frame.reason.or(cell.corruption);
        frame.arrived += u32::from(!cell.lost);
        frame.last_cell_arrived |= cell.last && !cell.lost;
        while let Some(frame) = self.reassembling.pop_front_if(|frame| frame.missing_cells == 0) {
            self.reassemble(now, frame);
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

    /// Handles a frame whose cells have all arrived or been lost.
    fn reassemble(&mut self, now: Time, mut frame: Frame) {
        if self.holds_merged_cells && frame.reason.is_none() {
            frame.reason = Some(MERGED);
            self.merged += 1;
        }
        self.holds_merged_cells = !frame.last_cell_arrived && (self.holds_merged_cells || frame.arrived > 0);
        let mut delivery = frame.end.max(now);
        if let (Some((_, far)), None) = (&mut self.ethernet, frame.reason) {
            match far.send(frame.end, frame.packet.size) {
                Some(sent) => delivery = sent,
                None => frame.reason = Some(FULL),
            }
        }
        self.lost += u64::from(frame.reason.is_some());
        // Lost packets keep their position in the order of packets.
        let delivery = self.in_flight.back().map_or(delivery, |(before, ..)| delivery.max(*before));
        self.in_flight.push_back((delivery, frame.reason, frame.packet));
    }

    /// Returns the time of the next event of a connection whose cells pass the shared legs in order
    /// of arrival: the arrival of a frame's last cell at the first shared leg, or a delivery.
    pub fn next(&self) -> Option<Time> {
        let ready = self.reassembling.front().map(|frame| frame.ready);
        ready.into_iter().chain(self.delivery()).min()
    }

    /// Returns the time of the next delivery or loss.
    pub fn delivery(&self) -> Option<Time> {
        self.in_flight.front().map(|(time, ..)| *time)
    }

    /// Removes and returns the next packet to deliver. A lost packet has a drop reason.
    pub fn deliver(&mut self) -> Option<(Option<DropReason>, Packet)> {
        self.in_flight.pop_front().map(|(_, reason, packet)| (reason, packet))
    }

    /// Returns the number of packets in the connection.
    pub fn held(&self) -> usize {
        self.reassembling.len() + self.in_flight.len()
    }

    /// Applies a change of the configuration from `before` to `after`.
    pub fn change(&mut self, before: &Config, after: &Config, index: usize) {
        let contract = after.contract_of(index);
        if contract != before.contract_of(index) {
            (self.shaper, self.policer) = (contract.shaper(), contract.policer());
        }
        if let (Some((near, far)), Some(leg)) = (&mut self.access, &after.access) {
            near.change(leg);
            far.change(leg);
        }
    }

    /// Writes the rows of the connection and of its access lines.
    pub fn report(&self, now: Time, report: &mut Report) {
        let Connection { frames, sent, tagged, discarded, lost, merged, .. } = self;
        let values = [frames, sent, tagged, discarded, lost, merged].map(|count| *count as f64);
        report.row(&CONNECTION, &self.name, &values);
        if let Some(adapter) = &self.adapter {
            let values = adapter.source.report(now, adapter.waiting_max as u64);
            report.row(&abr::REPORT, &self.name, &values);
        }
        if let Some((near, far)) = &self.access {
            near.report(&format!("{}.near", self.name), report);
            far.report(&format!("{}.far", self.name), report);
        }
    }
}
