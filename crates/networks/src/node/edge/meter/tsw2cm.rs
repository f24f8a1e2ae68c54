//! Time sliding window two colour marker (Fang, Seddigh and Nandy, RFC 2859 without its middle
//! colour): packets above the committed rate are red with a probability that limits green packets
//! to the committed rate.
//!
//! [`super::tsw`] estimates the rate r of all packets. If r <= CTR (the committed target rate), a
//! packet is green. Otherwise, it is red with probability (r - CTR) / r.
//!
//! ```toml
//! meter = { kind = "tsw2cm", committed = "185 kbit/s" }
//! ```

use super::tsw::{bytes_per_second, window, Estimator};
use super::{Colour, Meter, Metering};
use bentpipe_core::{Problems, Rate, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time sliding window two colour marker: RFC 2859 without its middle colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Committed target rate (CTR), the rate of green packets.
    pub committed: Rate,
    /// Averaging window of the rate estimator, 1 s by default; must be longer than 0 s.
    #[serde(default = "window")]
    pub window: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"committed = "200 kbit/s", window = "500 ms""#;
}

impl Metering for Config {
    fn build(&self) -> Box<dyn Meter> {
        let estimator = Estimator::new(self.window, self.committed);
        Box::new(Tsw2cm { committed: bytes_per_second(self.committed), estimator })
    }

    fn check(&self, problems: &mut Problems) {
        super::tsw::check(self.window, problems);
    }
}

struct Tsw2cm {
    committed: f64,
    estimator: Estimator,
}

impl Meter for Tsw2cm {
    fn meter(&mut self, now: Time, size: u32, _before: Colour, stream: &mut Stream) -> Colour {
        let rate = self.estimator.update(now, size);
        if rate > self.committed && stream.chance((rate - self.committed) / rate) {
            Colour::Red
        } else {
            Colour::Green
        }
    }
}
