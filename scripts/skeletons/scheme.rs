//! {Title}: the requests and the capacity assigned for them, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! dama = { scheme = { kind = "{kebab}" } }
//! ```

use super::{Account, CapacityRequest, Link, OfferedLoad, Requester, Scheme, SchemeContext, SlotDemand};
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
    fn requester(&self, _context: &SchemeContext) -> Box<dyn Requester> {
        Box::new(QueueRequester)
    }

    fn account(&self, _context: &SchemeContext) -> Box<dyn Account> {
        Box::new(Owed::default())
    }

    fn max_slots(&self, _link: &Link) -> u32 {
        u32::MAX
    }
}

/// The terminal's half: requests capacity for the waiting data.
pub(super) struct QueueRequester;

impl Requester for QueueRequester {
    fn request(&mut self, _superframe: u64, offered: &OfferedLoad) -> CapacityRequest {
        let slots = u32::try_from(offered.all.queue).unwrap_or(u32::MAX);
        CapacityRequest { absolute: (slots > 0).then_some(slots), ..CapacityRequest::NOTHING }
    }

    fn is_idle(&self) -> bool {
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
    fn request(&mut self, _superframe: u64, _made: u64, capacity: CapacityRequest) {
        self.slots = capacity.absolute.unwrap_or(self.slots);
    }

    fn demand(&mut self, _superframe: u64) -> SlotDemand {
        SlotDemand { rate: 0, volume: self.slots }
    }

    fn grant(&mut self, _superframe: u64, slots: u32) {
        self.slots -= slots;
    }

    fn reset(&mut self) {
        self.slots = 0;
    }
}
