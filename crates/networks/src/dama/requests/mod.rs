//! The request path: how requests get from the terminals to the control centre. One file per path.
//!
//! A request is made when it can be sent: in a request slot of the terminal's own ([`dedicated`]),
//! in the terminal's traffic bursts ([`piggyback`]), or in shared mini-slots, where requests may
//! collide ([`aloha`], [`crdsa`]). Collisions are resolved in the controller's half
//! ([`contention`]).

pub mod aloha;
pub mod contention;
pub mod crdsa;
pub mod dedicated;
pub mod piggyback;

use self::contention::Contention;
use bentpipe_core::{kinds, Problems, Stream};

kinds! {
    /// The path on which requests reach the control centre.
    #[schemars(rename = "Requests")]
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

/// The factory of a request path, implemented by its `Config`.
pub trait Path {
    /// Builds the half of terminal number `terminal`, whose requests take effect `response`
    /// superframes later.
    fn build(&self, terminal: u16, response: u64) -> Box<dyn RequestOpportunities>;

    /// Number of shared mini-slots in a superframe.
    fn shared_slots(&self) -> u32 {
        0
    }

    /// Maximum number of data bytes that are sent in shared slots without a request.
    fn data(&self) -> u32 {
        0
    }

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// Transmission of a request in this superframe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestChannel {
    /// At once, in a request slot of the terminal's own.
    Dedicated,
    /// With the first traffic burst.
    Piggybacked,
    /// In mini-slots that several terminals share, where requests can collide.
    Shared(Contention),
}

/// A terminal's opportunities to send requests.
pub trait RequestOpportunities: Send {
    /// Returns whether and how the terminal may send a request in `superframe`, given whether it
    /// has traffic slots in it. It uses every opportunity.
    fn next_opportunity(
        &mut self,
        superframe: u64,
        has_slots: bool,
        stream: &mut Stream,
    ) -> Option<RequestChannel>;

    /// Called when a plan that names the terminal has been received.
    fn answered(&mut self) {}
}
