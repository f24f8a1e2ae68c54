//! {Title}: the path of requests to the control centre, in a sentence.
//!
//! Procedure, source, deviations, limits.
//!
//! ```toml
//! dama = { requests = { kind = "{kebab}" } }
//! ```

use super::{Path, RequestChannel, RequestOpportunities};
use bentpipe_core::{Sample, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the path of requests to the control centre, in a sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Path for Config {
    fn build(&self, _terminal: u16, _response: u64) -> Box<dyn RequestOpportunities> {
        Box::new({Camel})
    }
}

struct {Camel};

impl RequestOpportunities for {Camel} {
    fn next_opportunity(
        &mut self,
        _superframe: u64,
        has_slots: bool,
        _stream: &mut Stream,
    ) -> Option<RequestChannel> {
        Some(if has_slots { RequestChannel::Piggybacked } else { RequestChannel::Dedicated })
    }
}
