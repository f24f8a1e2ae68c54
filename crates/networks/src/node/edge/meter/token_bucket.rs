//! Token bucket: a packet is green if the bucket has enough tokens for the complete packet, and red
//! otherwise.
//!
//! In any time t, no more than `burst` + `rate` t bytes are green.
//!
//! ```toml
//! meter = { kind = "token-bucket", rate = "1 Mbit/s", burst = "10 kB" }
//! ```

use super::{Colour, Meter, Metering};
use bentpipe_core::{Problems, Rate, Sample, Size, Stream, Time};
use bentpipe_link::queue::bucket::Bucket;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token bucket: a packet is green if the bucket has enough tokens for it, and red otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate at which the bucket is filled.
    pub rate: Rate,
    /// Size of the bucket; at least 1500 B.
    pub burst: Size,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"rate = "200 kbit/s", burst = "6 kB""#;
}

impl Metering for Config {
    fn build(&self) -> Box<dyn Meter> {
        Box::new(TokenBucket(Bucket::new(self.rate, self.burst)))
    }

    fn check(&self, problems: &mut Problems) {
        super::check_burst("burst", self.burst, problems);
    }
}

struct TokenBucket(Bucket);

impl Meter for TokenBucket {
    fn meter(&mut self, now: Time, size: u32, _before: Colour, _stream: &mut Stream) -> Colour {
        self.0.fill(now);
        if self.0.try_take(size) {
            Colour::Green
        } else {
            Colour::Red
        }
    }
}
