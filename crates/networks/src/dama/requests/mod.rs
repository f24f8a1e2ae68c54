//! Request paths: the transmission of requests from the terminals to the control centre. Each path
//! has its own file.
//!
//! A request is made when it can be sent: in the terminal's own request slot ([`dedicated`]), in
//! the terminal's traffic bursts ([`piggyback`]), or in shared mini-slots, where requests may
//! collide ([`aloha`], [`crdsa`]). The control centre resolves collisions ([`contention`]).

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
    /// Builds the path's part at terminal number `terminal`, where requests take effect `response`
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

    /// Adds the problems of this configuration to `problems`.
    fn check(&self, _problems: &mut Problems) {}
}

/// The channel on which a request is sent in this superframe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestChannel {
    /// Immediately, in the terminal's own request slot.
    Dedicated,
    /// With the first traffic burst.
    Piggybacked,
    /// In mini-slots that several terminals share and where requests can collide.
    Shared(Contention),
}

/// A terminal's opportunities to send requests.
pub trait RequestOpportunities: Send {
    /// Returns the channel on which the terminal may send a request in `superframe`, if any.
    /// `has_slots` is true if the terminal has traffic slots in this superframe. The terminal uses
    /// every opportunity.
    fn next_opportunity(
        &mut self,
        superframe: u64,
        has_slots: bool,
        stream: &mut Stream,
    ) -> Option<RequestChannel>;

    /// Informs the terminal that a plan with slots for it has been received.
    fn answered(&mut self) {}
}
