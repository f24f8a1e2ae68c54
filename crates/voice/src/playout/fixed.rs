//! A de-jitter buffer of a fixed length. The first packet of a talk spurt is held for this time;
//! the following packets are played at the intervals at which they were generated.

use super::{Buffer, Playout};
use bentpipe_core::{Sample, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A de-jitter buffer of a fixed length.
///
/// ```toml
/// playout = { kind = "fixed", delay = "100 ms" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Time for which the first packet of a talk spurt is held. Default 60 ms.
    pub delay: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { delay: Span::from_millis(60) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"delay = "100 ms""#;
}

impl Playout for Config {
    fn build(&self) -> Box<dyn Buffer> {
        Box::new(Fixed { held: self.delay.as_nanos() as i64, transit: 0 })
    }
}

struct Fixed {
    held: i64,
    transit: i64,
}

impl Buffer for Fixed {
    fn observe(&mut self, transit: i64, _first: bool) {
        self.transit = transit;
    }

    fn delay(&self) -> i64 {
        self.transit + self.held
    }
}
