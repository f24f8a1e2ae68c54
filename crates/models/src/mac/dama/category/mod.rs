//! Capacity categories (EN 301 790, section 6.6.1.2), one file each: how a terminal asks for capacity, and
//! what the network control centre makes of it.
//!
//! A request counts slots; one slot is 752 bytes per superframe in the study's structure (see
//! [`super::frame`]). A terminal makes its request at the start of a superframe, before it sends anything in
//! it. The queue that the equations call Q is everything that the terminal has accepted and not yet sent at
//! that moment, rounded up to slots; it includes what the constant slots (CRA) of the coming superframes will
//! carry, since the study's equations deduct nothing.

pub mod cra;
pub mod rbdc;
pub mod vbdc;

use bentpipe_core::{kinds, Problems};

kinds! {
    /// How terminals get capacity beyond their constant slots.
    pub enum Config: Category {
        "cra" => Cra(cra::Config),
        "rbdc" => Rbdc(rbdc::Config),
        "vbdc" => Vbdc(vbdc::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::Cra(cra::Config {})
    }
}

/// What a category's `Config` can do.
pub trait Category {
    /// The terminal's half; `response` is the number of superframes from a request to its assignment (L).
    fn requester(&self, response: u64) -> Box<dyn Requester>;

    /// The controller's half, for one terminal.
    fn account(&self) -> Box<dyn Account>;

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// The terminal's half of a category.
pub trait Requester: Send {
    /// The request at the start of `superframe`, when `queue` slots' worth of data wait; `None` sends no
    /// message. Called once per superframe in ascending order; a superframe that is left out had an empty
    /// queue while the requester was [at rest](Self::rests).
    fn request(&mut self, superframe: u64, queue: u64) -> Option<u32>;

    /// Goes on with another configuration of the same kind.
    fn change(&mut self, _config: &Config) {}

    /// Whether it would send nothing as long as the queue stays empty, so that the terminal may sleep.
    fn rests(&self) -> bool;
}

/// The controller's half of a category: the account of one terminal.
pub trait Account: Send {
    /// A request that may be served from `superframe` on.
    fn request(&mut self, superframe: u64, slots: u32);

    /// What is to be assigned in `superframe`, in slots. Zero puts the account to rest until the next
    /// request.
    fn demand(&mut self, superframe: u64) -> u32;

    /// Goes on with another configuration of the same kind.
    fn change(&mut self, _config: &Config) {}

    /// What was assigned of the last demand.
    fn grant(&mut self, slots: u32);
}
