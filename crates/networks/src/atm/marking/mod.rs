//! Marking of ABR cells at a port: how the port tells sources about congestion (ATM Forum Traffic
//! Management 4.1, section 5.10.6). The standard leaves the method to the switch. Each method has
//! its own file.

pub mod efci;
pub mod explicit_rate;
pub mod relative_rate;

use super::abr::RmCell;
use super::contract::Category;
use bentpipe_core::{kinds, Problems, Time};

kinds! {
    /// The method by which a port marks the cells of ABR connections.
    #[schemars(rename = "AtmMarking")]
    pub enum Config: Marking {
        "explicit-rate" => ExplicitRate(explicit_rate::Config),
        "relative-rate" => RelativeRate(relative_rate::Config),
        "efci" => Efci(efci::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::ExplicitRate(explicit_rate::Config::default())
    }
}

/// The factory of a marking method, implemented by its `Config`.
pub trait Marking {
    /// Builds the method for a port that `connections` connections share.
    fn build(&self, connections: usize) -> Box<dyn Marker>;

    /// Returns the part of the rate of a line up to which connections send if they are the only
    /// ones; 1 by default.
    fn utilization(&self) -> f64 {
        1.0
    }

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// A cell that arrives at a port.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time at which the cell arrives.
    pub now: Time,
    /// Index of the cell's connection.
    pub connection: usize,
    /// Service category of the connection.
    pub category: Category,
    /// Number of cells of ABR that wait at the port.
    pub waiting: usize,
    /// Rate of the line in bit/s of cells.
    pub line_rate: f64,
}

/// The bits of a cell that a port can set.
pub struct Bits<'a> {
    /// Explicit forward congestion indication, in the header of the cell.
    pub efci: &'a mut bool,
    /// The content of an RM cell; `None` for a data cell.
    pub rm: Option<&'a mut RmCell>,
}

/// Marks the cells that arrive at one port.
pub trait Marker: Send {
    /// Handles an arriving cell of any category, in order of arrival. Changes only cells of ABR.
    fn arrive(&mut self, arrival: Arrival, bits: Bits<'_>);
}
