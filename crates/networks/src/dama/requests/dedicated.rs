//! Dedicated request slots for each terminal, as in the synchronisation bursts of EN 301 790:
//! requests do not collide and use no traffic slots. With `every` above 1, terminals take turns,
//! which needs fewer request slots.

use super::{Path, RequestChannel, RequestOpportunities};
use bentpipe_core::{Count, Sample, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Dedicated request slots for each terminal, as in the synchronisation bursts of EN 301 790.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of superframes between two request slots of a terminal, 1 by default.
    pub every: Count<1, 10_000>,
}

impl Default for Config {
    fn default() -> Config {
        Config { every: Count::new(1) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "every = 3";
}

impl Path for Config {
    fn build(&self, terminal: u16, _response: u64) -> Box<dyn RequestOpportunities> {
        let every = self.every.value();
        Box::new(Periodic { every, at: u64::from(terminal) % every })
    }
}

struct Periodic {
    every: u64,
    at: u64,
}

impl RequestOpportunities for Periodic {
    #[inline]
    fn next_opportunity(
        &mut self,
        superframe: u64,
        _has_slots: bool,
        _stream: &mut Stream,
    ) -> Option<RequestChannel> {
        (self.every == 1 || superframe % self.every == self.at).then_some(RequestChannel::Dedicated)
    }
}
