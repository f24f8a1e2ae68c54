//! Error processes: which transmissions a channel spoils, and what becomes of those ([`effect`]).

pub mod bit;
pub mod effect;
pub mod gilbert;
pub mod list;
pub mod none;
pub mod packet;

pub use effect::{Effect, Errors, Fate, SPOILED};

use bentpipe_core::{kinds, Problems, Stream, Time};

kinds! {
    /// An error process.
    pub enum Config: Channel {
        "none" => None(none::Config),
        "packet" => Packet(packet::Config),
        "bit" => Bit(bit::Config),
        "gilbert" => Gilbert(gilbert::Config),
        "list" => List(list::Config),
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

    /// What becomes of what it spoils.
    fn effect(&self) -> Effect {
        Effect::Drop
    }

    /// Part of so many packets that is to be expected to be spoiled, of `bytes` in the mean.
    fn expected_loss(&self, _packets: u64, _bytes: f64) -> f64 {
        0.0
    }

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// Decides which transmission units arrive.
pub trait Process: Send {
    /// Whether a unit of `bytes`, whose last bit arrives at `now`, is spoiled. Called once per unit, in order.
    fn spoils(&mut self, now: Time, bytes: u32, stream: &mut Stream) -> bool;
}
