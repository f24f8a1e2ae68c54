//! Schemes: how a terminal requests capacity, and how the network control centre turns requests
//! into demands. One file per scheme. A scheme is a capacity category of EN 301 790, section
//! 6.6.1.2, or a mix of several.
//!
//! A request counts slots; one slot is 752 bytes per superframe in the study's structure (see
//! [`super::frame`]). A terminal makes its request at the start of a superframe, before it sends
//! anything in it. The queue Q of the equations is everything that the terminal has accepted and
//! not yet sent at that moment, rounded up to slots. It includes what the constant slots (CRA) of
//! the coming superframes will carry, since the study's equations deduct nothing.

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
    /// Builds the terminal's half.
    fn requester(&self, context: &SchemeContext) -> Box<dyn Requester>;

    /// Builds the controller's half, for one terminal.
    fn account(&self, context: &SchemeContext) -> Box<dyn Account>;

    /// The most slots that a terminal gets by request.
    fn max_slots(&self, link: &Link) -> u32;

    /// Notes about keys that delay or limit a terminal beyond [`Scheme::max_slots`].
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Adds the problems of this configuration.
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
    /// Rate of `slots` slots together.
    pub rate: Rate,
    /// Number of slots that have this rate.
    pub slots: u64,
    /// Maximum number of slots of a terminal: those of the fastest carrier.
    pub longest: u64,
}

impl Link {
    /// Converts a rate to slots, if that is a whole number. A rate is whole bits per second, which
    /// slots need not be: it may differ by less than 1 bit/s from that of the slots.
    pub fn whole_slots(&self, rate: RateOrZero) -> Option<u32> {
        let slots = u128::from(rate.bits_per_second()) * u128::from(self.slots);
        let of = u128::from(self.rate.bits_per_second());
        let nearest = (slots + of / 2) / of;
        (slots.abs_diff(nearest * of) < u128::from(self.slots))
            .then(|| u32::try_from(nearest).unwrap_or(u32::MAX))
    }

    /// Rate of a number of slots in kbit/s, of whole bits per second.
    pub fn rate_of(&self, slots: f64) -> f64 {
        (slots * self.slot_rate() * 1e3).round() / 1e3
    }

    /// Rate of a slot in kbit/s.
    pub fn slot_rate(&self) -> f64 {
        self.rate.bits_per_second() as f64 / self.slots as f64 / 1e3
    }

    /// The message about a rate that is not a whole number of slots.
    pub fn not_whole(&self, rate: RateOrZero) -> String {
        let slots = rate.bits_per_second() as f64 / 1e3 / self.slot_rate();
        format!(
            "{rate} is {slots:.3} slots of {:.3} kbit/s; allowed: a whole number of slots, such as {} kbit/s",
            self.slot_rate(),
            self.rate_of(slots.ceil())
        )
    }

    /// Adds a problem unless the maximum is a whole number of slots, at least one and at most those
    /// of a carrier.
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

    /// The maximum in slots; all slots if it is unset.
    pub fn maximum(&self, max: Option<RateOrZero>) -> u32 {
        max.map_or(u32::MAX, |max| self.whole_slots(max).expect("check has passed"))
    }
}

impl SchemeContext {
    /// Returns the terms that follow from a network's return link, response time and frame.
    pub fn new(link: Link, response: u64, frame: &Frame) -> SchemeContext {
        SchemeContext { link, response, unit: frame.unit() }
    }
}

/// The data that a terminal has to send when it makes a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OfferedLoad {
    /// All data that waits.
    pub all: Load,
    /// The data of the classes that request by rate, and of those that request by volume; `None`
    /// without traffic classes.
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

    /// Returns true if there is no request to send.
    pub fn is_nothing(&self) -> bool {
        *self == CapacityRequest::NOTHING
    }

    /// The sum of the requested slots.
    pub fn slots(&self) -> u64 {
        [self.rate, self.volume, self.absolute].into_iter().flatten().map(u64::from).sum()
    }
}

/// The terminal's half of a scheme.
pub trait Requester: Send {
    /// The request in `superframe`; an empty one is not sent. Called in ascending order. In a
    /// superframe that is skipped the queue was empty and the requester [at rest](Self::is_idle).
    fn request(&mut self, superframe: u64, offered: &OfferedLoad) -> CapacityRequest;

    /// Informs the requester of the need in a superframe in which the terminal cannot send a
    /// request.
    fn observe(&mut self, _superframe: u64, _offered: &OfferedLoad) {}

    /// Adopts another configuration of the same kind.
    fn change(&mut self, _config: &Config) {}

    /// From now on one slot is so many bytes per superframe.
    fn resize(&mut self, _unit: u64) {}

    /// Returns true if no request is sent as long as the queue stays empty, so that the terminal
    /// may sleep.
    fn is_idle(&self) -> bool;

    /// Starts over, after the terminal has logged off.
    fn reset(&mut self);
}

/// The slots that an account wants assigned in a superframe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SlotDemand {
    /// Slots by rate requests, and constant slots.
    pub rate: u32,
    /// Slots by volume requests.
    pub volume: u32,
}

impl SlotDemand {
    /// Slots of both kinds.
    pub fn slots(self) -> u32 {
        self.rate.saturating_add(self.volume)
    }
}

/// The controller's half of a scheme: the account of one terminal.
pub trait Account: Send {
    /// Enters a request that was made in superframe `made` and may be served from `superframe` on.
    fn request(&mut self, superframe: u64, made: u64, capacity: CapacityRequest);

    /// The demand in `superframe`. A demand of nothing puts the account to rest until the next
    /// request.
    fn demand(&mut self, superframe: u64) -> SlotDemand;

    /// Enters what was assigned in `superframe` out of the last demand; rate is served before
    /// volume.
    fn grant(&mut self, superframe: u64, slots: u32);

    /// Returns true if the terminal takes spare slots (FCA).
    fn takes_spare(&self) -> bool {
        false
    }

    /// Adopts another configuration of the same kind.
    fn change(&mut self, _config: &Config) {}

    /// Starts over, after the terminal has logged off.
    fn reset(&mut self);
}
