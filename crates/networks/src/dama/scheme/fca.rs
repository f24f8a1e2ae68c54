//! Free capacity assignment (FCA): slots that remain when all requests have been served are
//! assigned without requests.
//!
//! The controller assigns these spare slots one at a time, in turn, to all logged-on terminals of
//! the scheme, and continues in the next superframe where it stopped. A terminal does not know in
//! advance how many it will get (EN 301 790, section 6.6.1.2: "bonus capacity"). As long as there
//! are spare slots, a burst time plan is sent for each superframe. Terminals with spare slots wake
//! for it even if they have no data.
//!
//! ```toml
//! dama = { scheme = "fca", cra = "64 kbit/s" }
//! ```

use super::{Account, CapacityRequest, Link, Requester, Scheme, SchemeContext, SlotDemand};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Spare slots only (FCA): terminals request nothing and share the slots that remain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Scheme for Config {
    fn requester(&self, _context: &SchemeContext) -> Box<dyn Requester> {
        Box::new(super::cra::NoRequests)
    }

    fn account(&self, _context: &SchemeContext) -> Box<dyn Account> {
        Box::new(SpareAccount)
    }

    fn max_slots(&self, _link: &Link) -> u32 {
        u32::MAX
    }
}

struct SpareAccount;

impl Account for SpareAccount {
    fn request(&mut self, _superframe: u64, _made: u64, _capacity: CapacityRequest) {}

    fn demand(&mut self, _superframe: u64) -> SlotDemand {
        SlotDemand::default()
    }

    fn grant(&mut self, _superframe: u64, _slots: u32) {}

    fn takes_spare(&self) -> bool {
        true
    }

    fn reset(&mut self) {}
}
