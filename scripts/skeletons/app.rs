//! {Title}: the data that the application sends, in a sentence.
//!
//! Source, deviations, limits.
//!
//! ```toml
//! app = { kind = "{kebab}", size = "12 MB" }
//! ```

use super::{Actions, App, End, Event, Workload};
use bentpipe_core::{Sample, Size, Stream, Tables, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the data that the application sends, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Total size of the sent data.
    pub size: Size,
}

impl Tables for Config {}

impl Sample for Config {
    const SAMPLE: &'static str = r#"size = "300 kB""#;
}

impl Workload for Config {
    fn build(&self, end: End, _plan: Stream) -> Box<dyn App> {
        match end {
            End::Source => Box::new(Source { bytes: self.size.bytes() }),
            End::Destination => Box::new(Destination),
        }
    }

    fn is_elastic(&self) -> bool {
        true
    }
}

struct Source {
    bytes: u64,
}

struct Destination;

impl App for Source {
    fn on(&mut self, _now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => actions.connect = true,
            Event::Connected => {
                actions.send = self.bytes;
                actions.close = true;
            }
            _ => {}
        }
    }
}

impl App for Destination {
    fn on(&mut self, _now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        if event == Event::PeerClosed {
            actions.close = true;
        }
    }
}
