//! Free capacity assignment (FCA): slots left over when all requests have been served are assigned
//! without requests.
//!
//! The controller assigns them slot by slot, in turn, to all logged-on terminals of the scheme and
//! continues in the next superframe where it stopped. A terminal does not know in advance what it
//! will get (EN 301 790, section 6.6.1.2: "bonus capacity"). As long as there are spare slots, each
//! superframe has a burst time plan, and terminals with spare slots wake for it, whether they have
//! data or not.
//!
//! ```toml
//! dama = { scheme = "fca", cra = "64 kbit/s" }
//! ```

use super::{Account, Ask, Link, Requester, Scheme, Terms, Wanted};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Spare slots only (FCA): terminals request nothing and share the slots that are left over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Scheme for Config {
    fn requester(&self, _terms: &Terms) -> Box<dyn Requester> {
        Box::new(super::cra::Silent)
    }

    fn account(&self, _terms: &Terms) -> Box<dyn Account> {
        Box::new(Spare)
    }

    fn most(&self, _link: &Link) -> u32 {
        u32::MAX
    }
}

struct Spare;

impl Account for Spare {
    fn request(&mut self, _superframe: u64, _made: u64, _ask: Ask) {}

    fn demand(&mut self, _superframe: u64) -> Wanted {
        Wanted::default()
    }

    fn grant(&mut self, _superframe: u64, _slots: u32) {}

    fn takes_spare(&self) -> bool {
        true
    }

    fn reset(&mut self) {}
}
