//! {Title}: the requests and the capacity assigned for them, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! dama = { scheme = { kind = "{kebab}" } }
//! ```

use super::{Account, Ask, Link, Need, Requester, Scheme, Terms, Wanted};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the requests and the capacity assigned for them, in a sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Scheme for Config {
    fn requester(&self, _terms: &Terms) -> Box<dyn Requester> {
        Box::new(Asking)
    }

    fn account(&self, _terms: &Terms) -> Box<dyn Account> {
        Box::new(Owed::default())
    }

    fn most(&self, _link: &Link) -> u32 {
        u32::MAX
    }
}

/// The terminal's half: requests capacity for the waiting data.
pub(super) struct Asking;

impl Requester for Asking {
    fn request(&mut self, _superframe: u64, need: &Need) -> Ask {
        let slots = u32::try_from(need.all.queue).unwrap_or(u32::MAX);
        Ask { absolute: (slots > 0).then_some(slots), ..Ask::NOTHING }
    }

    fn rests(&self) -> bool {
        true
    }

    fn reset(&mut self) {}
}

/// The controller's half: slots of the last request that are still unassigned.
#[derive(Default)]
pub(super) struct Owed {
    slots: u32,
}

impl Account for Owed {
    fn request(&mut self, _superframe: u64, _made: u64, ask: Ask) {
        self.slots = ask.absolute.unwrap_or(self.slots);
    }

    fn demand(&mut self, _superframe: u64) -> Wanted {
        Wanted { rate: 0, volume: self.slots }
    }

    fn grant(&mut self, _superframe: u64, slots: u32) {
        self.slots -= slots;
    }

    fn reset(&mut self) {
        self.slots = 0;
    }
}
