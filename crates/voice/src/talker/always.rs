//! A talker who never pauses. The load is that of a call without silence suppression.

use super::{Side, Spurt, Spurts, Talker};
use bentpipe_core::{Sample, Span, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A talker who never pauses, as without silence suppression.
///
/// ```toml
/// talker = "always"
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Talker for Config {
    fn spurts(&self, _side: Side, _plan: Stream) -> Spurts {
        Box::new(std::iter::once(Spurt { begin: Span::ZERO, end: Span::MAX }))
    }

    fn activity(&self) -> Option<f64> {
        Some(1.0)
    }
}
