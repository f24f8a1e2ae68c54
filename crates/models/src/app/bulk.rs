//! Bulk transfer: the source sends as much as it can, or a given number of bytes, and then closes.
//!
//! ```toml
//! app = { kind = "bulk", size = "12 MB" }
//! ```

use super::{Actions, App, End, Event, Workload};
use bentpipe_core::{Problems, Size, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A bulk transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How much to send; endless when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
}

impl Workload for Config {
    fn build(&self, end: End, _plan: Stream) -> Box<dyn App> {
        match end {
            End::Source => Box::new(Sender { bytes: self.size.map_or(u64::MAX, Size::bytes) }),
            End::Destination => Box::new(Receiver),
        }
    }

    fn is_elastic(&self) -> bool {
        true
    }

    fn check(&self, problems: &mut Problems) {
        if self.size.is_some_and(|size| size.bytes() == 0) {
            problems.add(
                "size",
                "0 B is nothing to send; allowed: 1 B or more, or no size for an endless transfer",
            );
        }
    }
}

struct Sender {
    bytes: u64,
}

struct Receiver;

impl App for Sender {
    fn on(&mut self, _now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => actions.connect = true,
            Event::Connected => {
                actions.send = self.bytes;
                actions.close = self.bytes != u64::MAX;
            }
            _ => {}
        }
    }
}

impl App for Receiver {
    fn on(&mut self, _now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        if event == Event::PeerClosed {
            actions.close = true;
        }
    }
}
