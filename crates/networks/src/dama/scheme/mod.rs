//! Schemes: the rules by which a terminal requests capacity and by which the network control centre
//! turns requests into demands. Each scheme has its own file. A scheme is a capacity category of EN
//! 301 790, section 6.6.1.2, or a mix of several.
//!
//! A request counts slots; one slot is 752 bytes per superframe in the study's structure (see
//! [`super::frame`]). A terminal makes its request at the start of a superframe, before it sends
//! any data. The queue Q of the equations is all the data that the terminal has accepted and not
//! yet sent at that time, rounded up to slots. Q includes the data that the constant slots (CRA) of
//! the next superframes will carry, because the study's equations deduct nothing.

pub mod avbdc;
pub mod cra;
pub mod fca;
pub mod mix;
pub mod rbdc;
pub mod vbdc;

use super::estimator::Load;
use super::frame::Frame;
use bentpipe_core::{kinds, Problems, Rate, RateOrZero};

kinds! {
    /// The scheme by which terminals get capacity beyond their constant slots: a capacity category
    /// of EN 301 790, section 6.6.1.2, or a mix of several.
    #[schemars(rename = "Scheme")]
    pub enum Config: Scheme {
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

/// The factory of a scheme, implemented by its `Config`.
pub trait Scheme {
    /// Builds the scheme's part at a terminal.
    fn requester(&self, context: &SchemeContext) -> Box<dyn Requester>;

    /// Builds the scheme's part at the controller, for one terminal.
    fn account(&self, context: &SchemeContext) -> Box<dyn Account>;

    /// Returns the maximum number of slots that a terminal gets by request.
    fn max_slots(&self, link: &Link) -> u32;

    /// Returns notes about keys that delay or limit a terminal beyond [`Scheme::max_slots`].
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Adds the problems of this configuration to `problems`.
    fn check(&self, _link: &Link, _problems: &mut Problems) {}
}

/// Properties of the network that a scheme depends on.
#[derive(Clone, Copy, Debug)]
pub struct SchemeContext {
    /// The return link whose capacity is requested.
    pub link: Link,
    /// Number of superframes from a request to its assignment (L).
    pub response: u64,
    /// Bytes per superframe of one slot.
    pub unit: u64,
}

/// The slots of the return link.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Total rate of `slots` slots.
    pub rate: Rate,
    /// Number of slots that have this rate.
    pub slots: u64,
    /// Maximum number of slots of a terminal: the number of slots of the fastest carrier.
    pub longest: u64,
}

impl Link {
    /// Converts a rate to slots, or returns `None` if it is not a whole number of slots. A slot's
    /// rate may include a fraction of 1 bit/s, so the rate may differ from the rate of the slots by
    /// less than 1 bit/s.
    pub fn whole_slots(&self, rate: RateOrZero) -> Option<u32> {
        let slots = u128::from(rate.bits_per_second()) * u128::from(self.slots);
        let of = u128::from(self.rate.bits_per_second());
        let nearest = (slots + of / 2) / of;
        (slots.abs_diff(nearest * of) < u128::from(self.slots))
            .then(|| u32::try_from(nearest).unwrap_or(u32::MAX))
    }

    /// Returns the rate of a number of slots in kbit/s, rounded to whole bits per second.
    pub fn rate_of(&self, slots: f64) -> f64 {
        (slots * self.slot_rate() * 1e3).round() / 1e3
    }

    /// Returns the rate of a slot in kbit/s.
    pub fn slot_rate(&self) -> f64 {
        self.rate.bits_per_second() as f64 / self.slots as f64 / 1e3
    }

    /// Returns the message about a rate that is not a whole number of slots.
    pub fn not_whole(&self, rate: RateOrZero) -> String {
        let slots = rate.bits_per_second() as f64 / 1e3 / self.slot_rate();
        format!(
            "{rate} is {slots:.3} slots of {:.3} kbit/s; allowed: a whole number of slots, such as {} kbit/s",
            self.slot_rate(),
            self.rate_of(slots.ceil())
        )
    }

    /// Adds a problem unless the maximum is a whole number of slots, from one to the number of
    /// slots of a carrier.
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

    /// Returns the maximum in slots, or `u32::MAX` if it is unset.
    pub fn maximum(&self, max: Option<RateOrZero>) -> u32 {
        max.map_or(u32::MAX, |max| self.whole_slots(max).expect("check has passed"))
    }
}

impl SchemeContext {
    /// Creates the context from a network's return link, response time and frame.
    pub fn new(link: Link, response: u64, frame: &Frame) -> SchemeContext {
        SchemeContext { link, response, unit: frame.unit() }
    }
}

/// The data that a terminal has to send when it makes a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OfferedLoad {
    /// All waiting data.
    pub all: Load,
    /// The data of the classes that request by rate, and the data of the classes that request by
    /// volume; `None` without traffic classes.
    pub by_class: Option<(Load, Load)>,
}

/// The contents of a request message, by the kinds of capacity request of EN 301 790, section
/// 8.5.5.2, in slots. `None` makes no request of that kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CapacityRequest {
    /// A rate, which replaces the previous one (RBDC).
    pub rate: Option<u32>,
    /// A volume, which adds to the pending volume (VBDC).
    pub volume: Option<u32>,
    /// A volume, which replaces the pending volume (AVBDC).
    pub absolute: Option<u32>,
}

impl CapacityRequest {
    /// A message that requests nothing.
    pub const NOTHING: CapacityRequest = CapacityRequest { rate: None, volume: None, absolute: None };

    /// Returns true if the message requests nothing.
    pub fn is_nothing(&self) -> bool {
        *self == CapacityRequest::NOTHING
    }

    /// Returns the sum of the requested slots.
    pub fn slots(&self) -> u64 {
        [self.rate, self.volume, self.absolute].into_iter().flatten().map(u64::from).sum()
    }
}

/// The terminal's part of a scheme.
pub trait Requester: Send {
    /// Returns the request in `superframe`; an empty request is not sent. Called in ascending order
    /// of superframes. If a superframe is skipped, the queue was empty and the requester
    /// [idle](Self::is_idle).
    fn request(&mut self, superframe: u64, offered: &OfferedLoad) -> CapacityRequest;

    /// Informs the requester of the load in a superframe in which the terminal cannot send a
    /// request.
    fn observe(&mut self, _superframe: u64, _offered: &OfferedLoad) {}

    /// Adopts another configuration of the same kind.
    fn change(&mut self, _config: &Config) {}

    /// Sets the number of bytes per superframe of one slot, the unit of later requests.
    fn resize(&mut self, _unit: u64) {}

    /// Returns true if no request will be sent while the queue stays empty, so that the terminal
    /// may sleep.
    fn is_idle(&self) -> bool;

    /// Returns to the initial state after the terminal has logged off.
    fn reset(&mut self);
}

/// The slots that an account demands in a superframe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SlotDemand {
    /// Slots demanded by rate requests.
    pub rate: u32,
    /// Slots demanded by volume requests.
    pub volume: u32,
}

impl SlotDemand {
    /// Slots demanded by rate and by volume.
    pub fn slots(self) -> u32 {
        self.rate.saturating_add(self.volume)
    }
}

/// The controller's part of a scheme: the account of one terminal.
pub trait Account: Send {
    /// Records a request that was made in superframe `made` and may be served from `superframe` on.
    fn request(&mut self, superframe: u64, made: u64, capacity: CapacityRequest);

    /// Returns the demand in `superframe`. After a demand of zero, the account is not asked again
    /// until the next request.
    fn demand(&mut self, superframe: u64) -> SlotDemand;

    /// Records the slots assigned in `superframe` for the last demand. Rate is served before
    /// volume.
    fn grant(&mut self, superframe: u64, slots: u32);

    /// Returns true if the terminal takes spare slots (FCA).
    fn takes_spare(&self) -> bool {
        false
    }

    /// Adopts another configuration of the same kind.
    fn change(&mut self, _config: &Config) {}

    /// Returns to the initial state after the terminal has logged off.
    fn reset(&mut self);
}
