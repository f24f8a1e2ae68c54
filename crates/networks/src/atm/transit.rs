//! A cell in transit: where it is in time, its marks, and its fate on the legs.

use super::abr::RmCell;
use super::leg::{Fate, Leg};
use bentpipe_core::{Stream, Time};
use bentpipe_link::channel::CORRUPTED;
use bentpipe_stage::DropReason;

/// Drop reason: a cell of the packet arrived at a full buffer.
pub const CELLS_FULL: DropReason = DropReason::new("cell buffer full");
/// Drop reason: the complete frame of the packet was dropped (early packet discard).
pub const EARLY: DropReason = DropReason::new("early packet discard");

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
    /// True if the cell belongs to the point-to-multipoint connection ([`super::multicast`]).
    pub multicast: bool,
    /// True if a port marked the cell (explicit forward congestion indication).
    pub efci: bool,
    /// The content of an RM cell, which belongs to no frame; `None` for a data cell.
    pub rm: Option<RmCell>,
}

impl Cell {
    /// Creates a cell of the frame with this number that leaves the adapter at `at`.
    pub fn new(at: Time, frame: u64, last: bool, rm: Option<RmCell>) -> Cell {
        Cell {
            at,
            last,
            low_priority: false,
            corruption: None,
            lost: false,
            frame,
            multicast: false,
            efci: false,
            rm,
        }
    }

    /// Returns true if the cell ends its frame; `None` for an RM cell.
    pub fn end_of_frame(&self) -> Option<bool> {
        self.rm.is_none().then_some(self.last)
    }

    /// Returns the virtual channel of a cell of connection `connection` on a leg, by which frame
    /// discard finds the cell's frame. Each connection has two: one for its own cells, and one for
    /// those of the point-to-multipoint connection.
    pub fn channel(&self, connection: usize) -> usize {
        2 * connection + usize::from(self.multicast)
    }

    /// Sends the cell over a leg. Returns the cell at the end of the leg, with its fate on the leg.
    pub fn traverse(mut self, leg: &mut Leg, connection: usize, stream: &mut Stream) -> Cell {
        if !self.lost {
            let channel = self.channel(connection);
            self.meet(leg.send(self.at, channel, self.end_of_frame(), self.low_priority, stream));
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
