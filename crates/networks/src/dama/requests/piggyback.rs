//! Requests in the terminal's traffic bursts, in the satellite access control field that EN 301
//! 790, section 6.6.1.1 defines in front of a burst's payload. The field takes nothing from the
//! payload and needs no slot. A terminal without slots cannot send requests: give it constant slots
//! (`cra`), or use a path with shared slots. The request arrives with the first burst of the
//! superframe.

use super::{Path, RequestChannel, RequestOpportunities};
use bentpipe_core::{Sample, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests in the terminal's traffic bursts (EN 301 790, section 6.6.1.1). A terminal without
/// slots cannot send any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Path for Config {
    fn build(&self, _terminal: u16, _response: u64) -> Box<dyn RequestOpportunities> {
        Box::new(Piggybacked)
    }
}

struct Piggybacked;

impl RequestOpportunities for Piggybacked {
    fn next_opportunity(
        &mut self,
        _superframe: u64,
        has_slots: bool,
        _stream: &mut Stream,
    ) -> Option<RequestChannel> {
        has_slots.then_some(RequestChannel::Piggybacked)
    }
}
