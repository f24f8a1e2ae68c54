//! Error processes: the selection of the transmissions that a channel corrupts, and their treatment
//! ([`effect`]).

pub mod bit;
mod chain;
pub mod code;
pub mod coded;
pub mod effect;
mod facts;
pub mod fading;
pub mod gilbert;
pub mod gilbert_elliott;
pub mod hidden;
pub mod list;
pub mod load;
pub mod markov;
pub mod mode;
pub mod none;
pub mod packet;
pub mod snr;
pub mod states;
mod success;
pub mod trace;

pub use effect::{Effect, Errors, Fate, CORRUPTED};
pub use mode::{Coding, Frame, Mode, Modulation};

use bentpipe_core::{kinds, Problems, Stream, Time};

kinds! {
    /// The error process of a channel, which selects the packets, or units of the framing, to
    /// corrupt.
    #[schemars(rename = "Error")]
    pub enum Config: Channel {
        "none" => None(none::Config),
        "packet" => Packet(packet::Config),
        "bit" => Bit(bit::Config),
        "coded" => Coded(coded::Config),
        "gilbert" => Gilbert(gilbert::Config),
        "gilbert-elliott" => GilbertElliott(gilbert_elliott::Config),
        "markov" => Markov(markov::Config),
        "snr-states" => SnrStates(states::Config),
        "snr" => Snr(snr::Config),
        "trace" => Trace(trace::Config),
        "list" => List(list::Config),
        "load" => Load(load::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::None(none::Config {})
    }
}

/// The factory of an error process, implemented by its `Config`.
pub trait Channel {
    /// Builds the process, or returns `None` for a channel without errors.
    fn build(&self) -> Option<Box<dyn Process>>;

    /// Returns the treatment of corrupted packets.
    fn effect(&self) -> Effect {
        Effect::Drop
    }

    /// Returns the expected fraction of corrupted packets, for `packets` packets of `bytes` bytes
    /// on average.
    fn expected_loss(&self, packets: u64, bytes: f64) -> f64;

    /// Returns the expected fraction of corrupted radio frames of this kind. By default the mode
    /// makes no difference.
    fn expected_frame_loss(&self, frame: Frame) -> f64 {
        self.expected_loss(1, f64::from(frame.bytes))
    }

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// An error process: decides which transmission units are corrupted.
pub trait Process: Send {
    /// Returns true if a unit of `bytes`, whose last bit arrives at `now`, is corrupted. Called
    /// once per unit, in order.
    fn corrupts(&mut self, now: Time, bytes: u32, stream: &mut Stream) -> bool;

    /// Returns true if a radio frame whose last bit arrives at `now` is corrupted. Called once per
    /// frame on the air, with retransmissions and acknowledgments, in order of time. By default the
    /// mode makes no difference.
    #[inline]
    fn corrupts_frame(&mut self, now: Time, frame: Frame, stream: &mut Stream) -> bool {
        self.corrupts(now, frame.bytes, stream)
    }

    /// Returns the signal-to-noise ratio at `now` in dB, for a process that knows one. `now` never
    /// decreases.
    fn snr_db(&mut self, _now: Time, _stream: &mut Stream) -> Option<f64> {
        None
    }
}
