//! Continuous rate assignment (CRA): a fixed number of slots from logon on, without requests. The
//! access delay is the wait for the slot.
//!
//! Every terminal has its CRA with any scheme (`cra` of the network's `dama`). With this scheme it
//! has nothing else.
//!
//! ```toml
//! dama = { scheme = "cra", cra = "2048 kbit/s" }
//! ```

use super::{Account, Ask, Link, Need, Requester, Scheme, Terms, Wanted};
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
    fn requester(&self, _terms: &Terms) -> Box<dyn Requester> {
        Box::new(Silent)
    }

    fn account(&self, _terms: &Terms) -> Box<dyn Account> {
        Box::new(Nothing)
    }

    fn most(&self, _link: &Link) -> u32 {
        0
    }
}

pub(super) struct Silent;

impl Requester for Silent {
    fn request(&mut self, _superframe: u64, _need: &Need) -> Ask {
        Ask::NOTHING
    }

    fn rests(&self) -> bool {
        true
    }

    fn reset(&mut self) {}
}

pub(super) struct Nothing;

impl Account for Nothing {
    fn request(&mut self, _superframe: u64, _made: u64, _ask: Ask) {}

    fn demand(&mut self, _superframe: u64) -> Wanted {
        Wanted::default()
    }

    fn grant(&mut self, _superframe: u64, _slots: u32) {}

    fn reset(&mut self) {}
}
