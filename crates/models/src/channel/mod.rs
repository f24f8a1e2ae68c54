//! Error processes: which transmissions a channel spoils.

pub mod bit;
pub mod none;
pub mod packet;

use bentpipe_core::{kinds, DropReason, Stream, Time};

/// The channel spoiled the packet.
pub const SPOILED: DropReason = DropReason::new("channel error");

kinds! {
    /// An error process.
    pub enum Config {
        "none" => None(none::Config),
        "packet" => Packet(packet::Config),
        "bit" => Bit(bit::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::None(none::Config {})
    }
}

/// Decides which transmission units arrive.
pub trait Process: Send {
    /// Whether a unit of `bytes`, whose last bit arrives at `now`, is spoiled. Called once per unit, in order.
    fn spoils(&mut self, now: Time, bytes: u32, stream: &mut Stream) -> bool;
}

impl Config {
    /// The process, or nothing for a channel without errors.
    pub fn build(&self) -> Option<Box<dyn Process>> {
        match self {
            Config::None(_) => None,
            Config::Packet(config) => Some(packet::build(config)),
            Config::Bit(config) => Some(bit::build(config)),
        }
    }
}
