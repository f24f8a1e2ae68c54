//! {Title}: the packets that conform to the profile, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! meter = { kind = "{kebab}", longest = "1 kB" }
//! ```

use super::{Colour, Meter, Metering};
use bentpipe_core::{Sample, Size, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// {Title}: the packets that conform to the profile, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Maximum size of a packet that is marked green.
    pub longest: Size,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"longest = "1 kB""#;
}

impl Metering for Config {
    fn build(&self) -> Box<dyn Meter> {
        Box::new({Camel} { longest: self.longest.bytes() })
    }
}

struct {Camel} {
    longest: u64,
}

impl Meter for {Camel} {
    fn meter(&mut self, _now: Time, size: u32, _before: Colour, _stream: &mut Stream) -> Colour {
        match u64::from(size) <= self.longest {
            true => Colour::Green,
            false => Colour::Red,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn short_packets_are_green() {
        let config: Config = serde_json::from_str(r#"{"longest": "1 kB"}"#).unwrap();
        let (mut meter, mut stream) = (config.build(), Streams::new(1, 0).stream("test"));
        let mut colour = |size| meter.meter(Time::ZERO, size, Colour::Green, &mut stream);
        assert_eq!([colour(1000), colour(1001)], [Colour::Green, Colour::Red]);
    }
}
