//! Continuous rate assignment (CRA): fixed slots from logon on, nothing is asked for. The access delay is the
//! wait for the slot.
//!
//! Every terminal has its CRA, whatever the scheme (`cra` of the network's `dama`); with this scheme it has
//! nothing else.
//!
//! ```toml
//! dama = { scheme = "cra", cra = "2048 kbit/s" }
//! ```

use super::{Account, Category, Requester};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Constant slots only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Category for Config {
    fn requester(&self, _response: u64) -> Box<dyn Requester> {
        Box::new(Silent)
    }

    fn account(&self) -> Box<dyn Account> {
        Box::new(Nothing)
    }
}

pub(super) struct Silent;

impl Requester for Silent {
    fn request(&mut self, _superframe: u64, _queue: u64) -> Option<u32> {
        None
    }

    fn rests(&self) -> bool {
        true
    }
}

pub(super) struct Nothing;

impl Account for Nothing {
    fn request(&mut self, _superframe: u64, _slots: u32) {}

    fn demand(&mut self, _superframe: u64) -> u32 {
        0
    }

    fn grant(&mut self, _slots: u32) {}
}
