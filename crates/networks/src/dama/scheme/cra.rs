//! Continuous rate assignment (CRA): a fixed number of slots from logon on, without requests. The
//! access delay is the wait for the next slot.
//!
//! With every scheme a terminal has its constant slots (`cra` of the network's `dama`). With this
//! scheme it has no others.
//!
//! ```toml
//! dama = { scheme = "cra", cra = "2048 kbit/s" }
//! ```

use super::{Account, CapacityRequest, Link, OfferedLoad, Requester, Scheme, SchemeContext, SlotDemand};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Constant slots only (CRA): terminals request nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Scheme for Config {
    fn requester(&self, _context: &SchemeContext) -> Box<dyn Requester> {
        Box::new(NoRequests)
    }

    fn account(&self, _context: &SchemeContext) -> Box<dyn Account> {
        Box::new(NoAccount)
    }

    fn max_slots(&self, _link: &Link) -> u32 {
        0
    }
}

pub(super) struct NoRequests;

impl Requester for NoRequests {
    fn request(&mut self, _superframe: u64, _offered: &OfferedLoad) -> CapacityRequest {
        CapacityRequest::NOTHING
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn reset(&mut self) {}
}

pub(super) struct NoAccount;

impl Account for NoAccount {
    fn request(&mut self, _superframe: u64, _made: u64, _capacity: CapacityRequest) {}

    fn demand(&mut self, _superframe: u64) -> SlotDemand {
        SlotDemand::default()
    }

    fn grant(&mut self, _superframe: u64, _slots: u32) {}

    fn reset(&mut self) {}
}
