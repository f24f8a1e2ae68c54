//! Capacity categories (EN 301 790, section 6.6.1.2), one file each: how a terminal asks for capacity, and
//! what the network control centre makes of it.
//!
//! A request counts slots; one slot is 752 bytes per superframe in the study's structure (see
//! [`super::frame`]). A terminal makes its request at the start of a superframe, before it sends anything in
//! it. The queue that the equations call Q is everything that the terminal has accepted and not yet sent at
//! that moment, rounded up to slots; it includes what the constant slots (CRA) of the coming superframes will
//! carry, since the study's equations deduct nothing.

pub mod avbdc;
pub mod cra;
pub mod fca;
pub mod mix;
pub mod rbdc;
pub mod vbdc;

use super::frame::Frame;
use bentpipe_core::{kinds, Problems, Rate, RateOrZero};

kinds! {
    /// How terminals get capacity beyond their constant slots.
    pub enum Config: Category {
        "cra" => Cra(cra::Config),
        "rbdc" => Rbdc(rbdc::Config),
        "vbdc" => Vbdc(vbdc::Config),
        "avbdc" => Avbdc(avbdc::Config),
        "fca" => Fca(fca::Config),
        "mix" => Mix(mix::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::Cra(cra::Config {})
    }
}

/// What a category's `Config` can do.
pub trait Category {
    /// The terminal's half.
    fn requester(&self, terms: &Terms) -> Box<dyn Requester>;

    /// The controller's half, for one terminal.
    fn account(&self, terms: &Terms) -> Box<dyn Account>;

    /// Adds what is wrong.
    fn check(&self, _link: &Link, _problems: &mut Problems) {}
}

/// What a category has to know of its network.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The return link.
    pub link: Link,
    /// Superframes from a request to its assignment (L).
    pub response: u64,
    /// Bytes per superframe of one slot.
    pub unit: u64,
}

/// The return link's slots.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Rate of `slots` slots together.
    pub rate: Rate,
    /// How many slots have this rate.
    pub slots: u64,
    /// The most slots that a terminal can have: those of the fastest carrier.
    pub longest: u64,
}

impl Link {
    /// A rate in slots, when that is a whole number.
    pub fn whole_slots(&self, rate: RateOrZero) -> Option<u32> {
        let slots = u128::from(rate.bits_per_second()) * u128::from(self.slots);
        let of = u128::from(self.rate.bits_per_second());
        (slots % of == 0).then(|| u32::try_from(slots / of).unwrap_or(u32::MAX))
    }

    /// Rate of a slot in kbit/s.
    pub fn slot_rate(&self) -> f64 {
        self.rate.bits_per_second() as f64 / self.slots as f64 / 1e3
    }

    /// Why a rate that is not a whole number of slots is refused.
    pub fn not_whole(&self, rate: RateOrZero) -> String {
        let slots = rate.bits_per_second() as f64 / 1e3 / self.slot_rate();
        format!(
            "{rate} is {slots:.3} slots of {:.3} kbit/s; allowed: a whole number of slots, such as {} kbit/s",
            self.slot_rate(),
            slots.ceil() * self.slot_rate()
        )
    }

    /// Adds what is wrong with a maximum: it must be a whole number of slots, more than none, and no more than there are.
    pub fn check_maximum(&self, max: Option<RateOrZero>, problems: &mut Problems) {
        let Some(max) = max else { return };
        match self.whole_slots(max) {
            None => problems.add("max", self.not_whole(max)),
            Some(slots) if slots == 0 || u64::from(slots) > self.longest => {
                let message = format!(
                    "{max} is {slots} slots, but a carrier has {}; allowed: 1 to {0} slots",
                    self.longest
                );
                problems.add("max", message);
            }
            Some(_) => {}
        }
    }

    /// A maximum in slots; all of them when there is none.
    pub fn maximum(&self, max: Option<RateOrZero>) -> u32 {
        max.map_or(u32::MAX, |max| self.whole_slots(max).expect("check has passed"))
    }
}

impl Terms {
    /// Of a network.
    pub fn new(link: Link, response: u64, frame: &Frame) -> Terms {
        Terms { link, response, unit: frame.unit() }
    }
}

/// What a terminal has to send at the moment at which it makes a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Need {
    /// Everything.
    pub all: Load,
    /// What the traffic classes that ask by rate have, and those that ask by volume; without classes nothing tells them
    /// apart.
    pub by_class: Option<(Load, Load)>,
}

/// Data of one or more traffic classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Slots' worth of data that wait, rounded up (Q of the equations).
    pub queue: u64,
    /// Bytes that have arrived since the run began.
    pub arrived: u64,
}

/// What a message asks for, by the kinds of capacity request of EN 301 790, section 8.5.5.2, in slots. `None` does not ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ask {
    /// A rate, which replaces the one before (RBDC).
    pub rate: Option<u32>,
    /// A volume, which adds to what is pending (VBDC).
    pub volume: Option<u32>,
    /// A volume, which replaces what is pending (AVBDC).
    pub absolute: Option<u32>,
}

impl Ask {
    /// No message.
    pub const NOTHING: Ask = Ask { rate: None, volume: None, absolute: None };

    /// Whether there is nothing to send.
    pub fn is_nothing(&self) -> bool {
        *self == Ask::NOTHING
    }

    /// The sum of what it asks for.
    pub fn slots(&self) -> u64 {
        [self.rate, self.volume, self.absolute].into_iter().flatten().map(u64::from).sum()
    }
}

/// The terminal's half of a category.
pub trait Requester: Send {
    /// The request in `superframe`; one that asks for nothing is no message. Called in ascending order; a superframe that
    /// is left out had an empty queue while the requester was [at rest](Self::rests).
    fn request(&mut self, superframe: u64, need: &Need) -> Ask;

    /// What there is to ask for in a superframe in which the terminal cannot ask.
    fn observe(&mut self, _superframe: u64, _need: &Need) {}

    /// Goes on with another configuration of the same kind.
    fn change(&mut self, _config: &Config) {}

    /// Whether it would send nothing as long as the queue stays empty, so that the terminal may sleep.
    fn rests(&self) -> bool;

    /// Begins anew: the terminal has logged off.
    fn reset(&mut self);
}

/// What an account wants assigned in a superframe, in slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// By requests of rate, and constant ones.
    pub rate: u32,
    /// By requests of volume.
    pub volume: u32,
}

impl Wanted {
    /// Both.
    pub fn slots(self) -> u32 {
        self.rate.saturating_add(self.volume)
    }
}

/// The controller's half of a category: the account of one terminal.
pub trait Account: Send {
    /// A request that was made in superframe `made` and may be served from `superframe` on.
    fn request(&mut self, superframe: u64, made: u64, ask: Ask);

    /// What is to be assigned in `superframe`. Nothing puts the account to rest until the next request.
    fn demand(&mut self, superframe: u64) -> Wanted;

    /// What was assigned in `superframe` of its last demand; rate is served before volume.
    fn grant(&mut self, superframe: u64, slots: u32);

    /// Whether the terminal takes spare slots (FCA).
    fn takes_spare(&self) -> bool {
        false
    }

    /// Goes on with another configuration of the same kind.
    fn change(&mut self, _config: &Config) {}

    /// Begins anew: the terminal has logged off.
    fn reset(&mut self);
}
