//! Time sliding window three colour marker (RFC 2859, section 4): on average, green packets have
//! the committed rate, and green and yellow packets together the peak rate.
//!
//! [`super::tsw`] estimates the rate r of all packets. CTR is the committed target rate, and PTR is
//! the peak target rate. The colour of a packet depends on r:
//!
//! | rate | red with probability | yellow with probability | green |
//! | --- | --- | --- | --- |
//! | r <= CTR | 0 | 0 | always |
//! | CTR < r <= PTR | 0 | (r - CTR) / r | otherwise |
//! | r > PTR | (r - PTR) / r | (PTR - CTR) / r | otherwise |
//!
//! ```toml
//! meter = { kind = "tsw3cm", committed = "185 kbit/s", peak = "190 kbit/s" }
//! ```

use super::tsw::{bytes_per_second, window, Estimator};
use super::{Colour, Meter, Metering};
use bentpipe_core::{Problems, Rate, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time sliding window three colour marker (RFC 2859).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Committed target rate (CTR), the rate of green packets.
    pub committed: Rate,
    /// Peak target rate (PTR), the rate of green and yellow packets together; at least `committed`.
    pub peak: Rate,
    /// Averaging window of the rate estimator, 1 s by default; must be longer than 0 s.
    #[serde(default = "window")]
    pub window: Span,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"committed = "200 kbit/s", peak = "400 kbit/s""#;
}

impl Metering for Config {
    fn build(&self) -> Box<dyn Meter> {
        Box::new(Tsw3cm {
            committed: bytes_per_second(self.committed),
            peak: bytes_per_second(self.peak),
            estimator: Estimator::new(self.window, self.committed),
        })
    }

    fn check(&self, problems: &mut Problems) {
        super::check_peak(self.committed, self.peak, problems);
        super::tsw::check(self.window, problems);
    }
}

struct Tsw3cm {
    committed: f64,
    peak: f64,
    estimator: Estimator,
}

impl Meter for Tsw3cm {
    fn meter(&mut self, now: Time, size: u32, _before: Colour, stream: &mut Stream) -> Colour {
        let rate = self.estimator.update(now, size);
        if rate <= self.committed {
            return Colour::Green;
        }
        // One draw decides: below the share of red packets, red; below that plus the share of
        // yellow packets, yellow.
        let (drawn, red) = (stream.uniform() * rate, (rate - self.peak).max(0.0));
        if drawn < red {
            Colour::Red
        } else if drawn < rate - self.committed {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }
}
