//! No de-jitter buffer: every packet is played on arrival, as in a telephone system without
//! buffers. A packet that arrives after its successor is late. The gaps and overlaps that jitter
//! causes in the speech are not rated.

use super::{Buffer, Playout};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No de-jitter buffer: every packet is played on arrival.
///
/// ```toml
/// playout = "none"
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Playout for Config {
    fn build(&self) -> Box<dyn Buffer> {
        Box::new(Direct { transit: 0 })
    }
}

struct Direct {
    transit: i64,
}

impl Buffer for Direct {
    fn observe(&mut self, transit: i64, _first: bool) {
        self.transit = transit;
    }

    fn delay(&self) -> i64 {
        self.transit
    }

    fn holds(&self) -> bool {
        false
    }
}
