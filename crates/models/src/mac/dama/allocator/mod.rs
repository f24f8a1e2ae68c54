//! Allocators: who gets which share of the slots that are left when every terminal has its CRA. One file
//! each.

pub mod proportional;

use bentpipe_core::kinds;

kinds! {
    /// How the network control centre divides the slots.
    pub enum Config: Allocation {
        "proportional" => Proportional(proportional::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::Proportional(proportional::Config {})
    }
}

/// What an allocator's `Config` can do.
pub trait Allocation {
    /// The allocator for a network of `terminals` terminals.
    fn build(&self, terminals: usize) -> Box<dyn Allocator>;
}

/// What one terminal is to have in a superframe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The terminal.
    pub terminal: u16,
    /// Slots, more than none.
    pub slots: u32,
}

/// Divides the slots of one superframe.
pub trait Allocator: Send {
    /// Appends to `grants` the slots of each demand, in the order of `demands` (ascending terminals): none
    /// more than demanded, and together at most `capacity`.
    fn allocate(&mut self, capacity: u32, demands: &[Demand], grants: &mut Vec<u32>);
}
