//! The far end of one direction of a connection: after the shared legs, cells pass an access line,
//! the reassembly of frames and an Ethernet segment.

use super::config::Config;
use super::lan::Segment;
use super::leg::Leg;
use super::transit::Cell;
use bentpipe_core::{Report, Stream, Time};
use bentpipe_link::queue::drop_tail::FULL;
use bentpipe_stage::{packet, DropReason, Packet};
use std::collections::VecDeque;

/// Drop reason: the end of the previous frame was lost, so the receiver merged both frames.
pub const MERGED: DropReason = DropReason::new("merged with a frame whose end was lost");

/// A frame at a leaf: a packet, or its copy at one leaf of a point-to-multipoint connection.
pub struct Arrival {
    /// The leaf, by the number of its connection.
    pub leaf: usize,
    /// The leg of the packet or copy.
    pub leg: packet::Leg,
    /// Time at which the last cell arrived or was lost.
    end: Time,
    /// Reason for the loss of the frame, if it is lost.
    reason: Option<DropReason>,
    /// Number of cells that have arrived.
    arrived: u32,
    last_cell_arrived: bool,
}

impl Arrival {
    /// Creates a frame without cells, which cannot end before `ready`.
    pub fn new(leaf: usize, leg: packet::Leg, ready: Time) -> Arrival {
        Arrival { leaf, leg, end: ready, reason: None, arrived: 0, last_cell_arrived: false }
    }

    /// Adds a cell of the frame.
    pub fn add(&mut self, cell: &Cell) {
        self.end = self.end.max(cell.at);
        self.reason = self.reason.or(cell.corruption);
        self.arrived += u32::from(!cell.lost);
        self.last_cell_arrived |= cell.last && !cell.lost;
    }
}

/// A packet that leaves the network.
pub struct Delivery {
    at: Time,
    /// The drop reason of a lost packet.
    pub reason: Option<DropReason>,
    /// The packet, or a copy of it.
    pub packet: Packet,
    /// True for a copy beyond the first, which is a created packet in the balance of packets.
    pub created: bool,
}

/// The far end of one direction of a connection.
pub struct Leaf {
    access: Option<Leg>,
    ethernet: Option<Segment>,
    /// True if the receiver holds cells of a frame whose end was lost: of the connection to this
    /// leaf, and of the point-to-multipoint connection.
    holds_merged_cells: [bool; 2],
    /// Packets in the order of their times of arrival.
    in_flight: VecDeque<Delivery>,
    lost: u64,
    merged: u64,
}

impl Leaf {
    /// Creates the idle far end of a connection.
    pub fn new(config: &Config) -> Leaf {
        Leaf {
            access: config.access.as_ref().map(|leg| Leg::new(leg, 1)),
            ethernet: config.lan.map(Segment::new),
            holds_merged_cells: [false; 2],
            in_flight: VecDeque::new(),
            lost: 0,
            merged: 0,
        }
    }

    /// Sends a cell that has left the shared legs over the access line, if there is one.
    pub fn carry(&mut self, cell: Cell, stream: &mut Stream) -> Cell {
        match &mut self.access {
            Some(leg) => cell.traverse(leg, 0, stream),
            None => cell,
        }
    }

    /// Reassembles a frame whose cells have all arrived or been lost. `multicast` is true for the
    /// point-to-multipoint connection. The frame is lost if its cells are merged with those of a
    /// frame before.
    pub fn reassemble(&mut self, frame: &mut Arrival, multicast: bool) {
        let holds_merged_cells = &mut self.holds_merged_cells[usize::from(multicast)];
        if *holds_merged_cells && frame.reason.is_none() {
            frame.reason = Some(MERGED);
            self.merged += 1;
        }
        *holds_merged_cells = !frame.last_cell_arrived && (*holds_merged_cells || frame.arrived > 0);
    }

    /// Delivers the packet of a frame, no earlier than `now`, or drops it. `created` is true for a
    /// copy beyond the first.
    pub fn deliver(&mut self, now: Time, frame: &Arrival, packet: Packet, created: bool) {
        let mut reason = frame.reason;
        let mut at = frame.end.max(now);
        if let (Some(far), None) = (&mut self.ethernet, reason) {
            match far.send(frame.end, packet.size) {
                Some(sent) => at = sent,
                None => reason = Some(FULL),
            }
        }
        self.lost += u64::from(reason.is_some());
        // Lost packets keep their position in the order of packets.
        let at = self.in_flight.back().map_or(at, |before| at.max(before.at));
        self.in_flight.push_back(Delivery { at, reason, packet, created });
    }

    /// Returns the time of the next delivery or loss.
    pub fn next(&self) -> Option<Time> {
        self.in_flight.front().map(|delivery| delivery.at)
    }

    /// Removes and returns the next packet to deliver or drop.
    pub fn take(&mut self) -> Option<Delivery> {
        self.in_flight.pop_front()
    }

    /// Applies a changed configuration.
    pub fn change(&mut self, after: &Config) {
        if let (Some(access), Some(leg)) = (&mut self.access, &after.access) {
            access.change(leg);
        }
    }

    /// Returns the number of lost packets, and the number of packets that were lost because a frame
    /// before had no end.
    pub fn losses(&self) -> [u64; 2] {
        [self.lost, self.merged]
    }

    /// Writes the row of the access line of the connection `name`, if there is one.
    pub fn report(&self, name: &str, report: &mut Report) {
        if let Some(access) = &self.access {
            access.report(&format!("{name}.far"), report);
        }
    }
}
