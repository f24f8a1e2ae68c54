//! Bulk transfer: the source sends as much as possible, or a given number of bytes, or for a given
//! time, and then closes.
//!
//! ```toml
//! app = { kind = "bulk", size = "12 MB" }
//! app = { kind = "bulk", duration = "50 s" }
//! ```

use super::{Actions, App, End, Event, Workload};
use bentpipe_core::{Problems, Sample, Size, Span, Stream, Tables, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A bulk transfer: the source sends as fast as the transport allows, without end or up to a size
/// or a duration, and then closes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of bytes to send, at least 1 B. Unlimited if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Time for which the application writes, from the start of the flow; longer than 0 s. Data
    /// then in the send buffer (`send_memory`, `send_buffer`) is still sent; without a limited
    /// buffer, unsent data is discarded. Unlimited if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
}

impl Tables for Config {}

impl Sample for Config {
    const SAMPLE: &'static str = r#"size = "300 kB""#;
}

impl Workload for Config {
    fn build(&self, end: End, _plan: Stream) -> Box<dyn App> {
        match end {
            End::Source => Box::new(Sender {
                bytes: self.size.map_or(u64::MAX, Size::bytes),
                duration: self.duration,
                over: false,
            }),
            End::Destination => Box::new(Receiver),
        }
    }

    fn is_elastic(&self) -> bool {
        true
    }

    fn check(&self, problems: &mut Problems) {
        if self.size.is_some_and(|size| size.bytes() == 0) {
            problems.add("size", "must be at least 1 B; leave it out for an endless transfer");
        }
        if self.duration == Some(Span::ZERO) {
            problems.add("duration", "must be longer than 0 s");
        }
    }
}

struct Sender {
    bytes: u64,
    duration: Option<Span>,
    over: bool,
}

struct Receiver;

impl App for Sender {
    fn on(&mut self, now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => {
                actions.connect = true;
                actions.timer = self.duration.map(|duration| now + duration);
            }
            Event::Timer => {
                actions.stop = true;
                self.over = true;
            }
            Event::Connected if self.over => actions.close = true,
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

    fn ignores_received(&self) -> bool {
        true
    }
}
