//! Time sliding window three colour marker (RFC 2859, section 4): green packets come at the committed rate, green and yellow ones
//! together at the peak rate, by chance.
//!
//! With the estimate r of [`super::tsw`]: green if r <= CTR; up to PTR, yellow with probability (r - CTR) / r; beyond, red with
//! (r - PTR) / r and yellow with (PTR - CTR) / r; else green.
//!
//! ```toml
//! meter = { kind = "tsw3cm", committed = "185 kbit/s", peak = "190 kbit/s" }
//! ```

use super::tsw::{bytes_per_second, window, Estimator};
use super::{Colour, Meter, Metering};
use bentpipe_core::{Problems, Rate, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time sliding window three colour marker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// CTR, the committed target rate.
    pub committed: Rate,
    /// PTR, the peak target rate.
    pub peak: Rate,
    /// Window of the rate estimator.
    #[serde(default = "window")]
    pub window: Span,
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
        // One number decides: below the share of red, red; below that and the share of yellow, yellow.
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
