//! Single rate three colour marker (RFC 2697). Tokens arrive at the committed rate (CIR). They fill
//! the committed bucket (CBS), and when this bucket is full, the excess bucket (EBS). Packets that
//! get their tokens from the committed bucket are green. Packets that get their tokens from the
//! excess bucket are yellow. All other packets are red.
//!
//! ```toml
//! meter = { kind = "srtcm", committed = "1 Mbit/s", burst = "10 kB", excess = "20 kB" }
//! ```

use super::{Colour, Meter, Metering};
use bentpipe_core::{Problems, Rate, Sample, Size, Stream, Time};
use bentpipe_link::queue::bucket::Bucket;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The single rate three colour marker (RFC 2697).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Committed information rate (CIR), at which tokens arrive.
    pub committed: Rate,
    /// Committed burst size (CBS), the size of the bucket for green packets; at least 1500 B.
    pub burst: Size,
    /// Excess burst size (EBS), the size of the bucket for yellow packets.
    pub excess: Size,
    /// True if the marker is colour-aware: a packet never gets a lower drop precedence than it had.
    /// False by default.
    #[serde(default)]
    pub colour_aware: bool,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"committed = "200 kbit/s", burst = "6 kB", excess = "12 kB""#;
}

impl Metering for Config {
    fn build(&self) -> Box<dyn Meter> {
        Box::new(SrTcm {
            committed: Bucket::new(self.committed, self.burst),
            excess: Bucket::new(self.committed, self.excess),
            aware: self.colour_aware,
        })
    }

    fn check(&self, problems: &mut Problems) {
        // Section 2 requires that one of the two buckets is larger than 0. Here, the committed
        // bucket must hold a packet.
        super::check_burst("burst", self.burst, problems);
    }
}

struct SrTcm {
    committed: Bucket,
    excess: Bucket,
    aware: bool,
}

impl Meter for SrTcm {
    fn meter(&mut self, now: Time, size: u32, before: Colour, _stream: &mut Stream) -> Colour {
        let over = self.committed.fill(now);
        self.excess.add(over);
        let before = if self.aware { before } else { Colour::Green };
        if before == Colour::Green && self.committed.try_take(size) {
            Colour::Green
        } else if before <= Colour::Yellow && self.excess.try_take(size) {
            Colour::Yellow
        } else {
            Colour::Red
        }
    }
}
