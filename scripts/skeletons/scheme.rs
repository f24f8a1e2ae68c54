//! {Title}: what is asked for and what comes of it, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! dama = { scheme = { kind = "{kebab}" } }
//! ```

use super::{Account, Category, Requester};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Category for Config {
    fn requester(&self, _response: u64) -> Box<dyn Requester> {
        Box::new(Asking)
    }

    fn account(&self) -> Box<dyn Account> {
        Box::new(Owed::default())
    }
}

/// The terminal's half: asks for what waits.
pub(super) struct Asking;

impl Requester for Asking {
    fn request(&mut self, _superframe: u64, queue: u64) -> Option<u32> {
        (queue > 0).then(|| u32::try_from(queue).unwrap_or(u32::MAX))
    }

    fn rests(&self) -> bool {
        true
    }
}

/// The controller's half: what the last request left.
#[derive(Default)]
pub(super) struct Owed {
    slots: u32,
}

impl Account for Owed {
    fn request(&mut self, _superframe: u64, slots: u32) {
        self.slots = slots;
    }

    fn demand(&mut self, _superframe: u64) -> u32 {
        self.slots
    }

    fn grant(&mut self, slots: u32) {
        self.slots -= slots;
    }
}
