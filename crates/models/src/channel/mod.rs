//! Error processes: which transmissions a channel spoils.

pub mod bit;
pub mod none;
pub mod packet;

use bentpipe_core::{kinds, DropReason, Problems, Stream, Time};

/// The channel spoiled the packet.
pub const SPOILED: DropReason = DropReason::new("channel error");

kinds! {
    /// An error process.
    pub enum Config: Channel {
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

/// What an error process' `Config` can do.
pub trait Channel {
    /// The process, or nothing for a channel without errors.
    fn build(&self) -> Option<Box<dyn Process>>;

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// Decides which transmission units arrive.
pub trait Process: Send {
    /// Whether a unit of `bytes`, whose last bit arrives at `now`, is spoiled. Called once per unit, in order.
    fn spoils(&mut self, now: Time, bytes: u32, stream: &mut Stream) -> bool;
}
