//! Two rate three colour marker (RFC 2698): packets above the peak rate (PIR, bucket PBS) are red,
//! packets above the committed rate (CIR, bucket CBS) are yellow, and all other packets are green.
//!
//! ```toml
//! meter = { kind = "trtcm", committed = "1 Mbit/s", burst = "10 kB", peak = "2 Mbit/s", peak_burst = "20 kB" }
//! ```

use super::{Colour, Meter, Metering};
use bentpipe_core::{Problems, Rate, Sample, Size, Stream, Time};
use bentpipe_link::queue::bucket::Bucket;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The two rate three colour marker (RFC 2698).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Committed information rate (CIR), above which packets are yellow.
    pub committed: Rate,
    /// Committed burst size (CBS); at least 1500 B.
    pub burst: Size,
    /// Peak information rate (PIR), above which packets are red; at least `committed`.
    pub peak: Rate,
    /// Peak burst size (PBS); at least 1500 B.
    pub peak_burst: Size,
    /// True if the marker is colour-aware: a packet never gets a lower drop precedence than it had.
    /// False by default.
    #[serde(default)]
    pub colour_aware: bool,
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"committed = "200 kbit/s", burst = "6 kB", peak = "400 kbit/s", peak_burst = "6 kB""#;
}

impl Metering for Config {
    fn build(&self) -> Box<dyn Meter> {
        Box::new(TrTcm {
            committed: Bucket::new(self.committed, self.burst),
            peak: Bucket::new(self.peak, self.peak_burst),
            aware: self.colour_aware,
        })
    }

    fn check(&self, problems: &mut Problems) {
        super::check_burst("burst", self.burst, problems);
        super::check_burst("peak_burst", self.peak_burst, problems);
        super::check_peak(self.committed, self.peak, problems);
    }
}

struct TrTcm {
    committed: Bucket,
    peak: Bucket,
    aware: bool,
}

impl Meter for TrTcm {
    fn meter(&mut self, now: Time, size: u32, before: Colour, _stream: &mut Stream) -> Colour {
        self.committed.fill(now);
        self.peak.fill(now);
        let before = if self.aware { before } else { Colour::Green };
        if before == Colour::Red || !self.peak.try_take(size) {
            Colour::Red
        } else if before == Colour::Yellow || !self.committed.try_take(size) {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }
}
