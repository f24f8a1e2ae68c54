//! The request path: how requests get from the terminals to the control centre. One file each.
//!
//! A request is made where it can be sent: in a slot of the terminal's own that is there for requests ([`dedicated`]), in the
//! terminal's traffic bursts ([`piggyback`]), or in mini-slots that all share, where several may collide ([`aloha`],
//! [`crdsa`]). Collisions are found by the controller's half ([`contention`]).

pub mod aloha;
pub mod contention;
pub mod crdsa;
pub mod dedicated;
pub mod piggyback;

use self::contention::Contention;
use bentpipe_core::{kinds, Problems, Stream};

kinds! {
    /// How requests reach the control centre.
    pub enum Config: Path {
        "dedicated" => Dedicated(dedicated::Config),
        "piggyback" => Piggyback(piggyback::Config),
        "aloha" => Aloha(aloha::Config),
        "crdsa" => Crdsa(crdsa::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::Dedicated(dedicated::Config::default())
    }
}

/// What a path's `Config` can do.
pub trait Path {
    /// The half of terminal number `terminal`, whose requests take effect `response` superframes later.
    fn build(&self, terminal: u16, response: u64) -> Box<dyn Turns>;

    /// Mini-slots in a superframe that all terminals share.
    fn shared_slots(&self) -> u32 {
        0
    }

    /// Most bytes of data that are sent in shared slots without being asked for.
    fn data(&self) -> u32 {
        0
    }

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// How a request can be sent in this superframe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// At once, in a slot of the terminal's own.
    Own,
    /// With its first traffic burst.
    Burst,
    /// In shared mini-slots.
    Shared(Contention),
}

/// A terminal's turns to ask.
pub trait Turns: Send {
    /// Whether and how the terminal may ask in `superframe`, in which it has traffic slots or not. What it may, it does.
    fn turn(&mut self, superframe: u64, has_slots: bool, stream: &mut Stream) -> Option<Via>;

    /// A plan that names the terminal was heard.
    fn heard(&mut self) {}
}
