//! Packet errors whose probability rises with the sending rate, as measured on the uplink of a
//! low-orbit access.
//!
//! The sending rate is the mean of an exponential window over the packets that cross the link. The
//! probability is linear in it, from `idle` at 0 to `loaded` at `rate` and above.
//!
//! ```toml
//! error = { kind = "load", idle = 0.002, loaded = 0.005, rate = "20 Mbit/s" }
//! ```

use super::{Channel, Effect, Process};
use bentpipe_core::{math, Fraction, Problems, Rate, Sample, Span, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent packet errors with a probability that rises linearly with the sending rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Corruption probability of a packet at a sending rate of 0, 0 to 1.
    pub idle: Fraction,
    /// Corruption probability of a packet from the sending rate `rate` on, 0 to 1.
    pub loaded: Fraction,
    /// The sending rate at which the probability is `loaded`.
    pub rate: Rate,
    /// Time constant of the mean of the sending rate. Default 1 s.
    #[serde(default = "window")]
    pub window: Span,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

fn window() -> Span {
    Span::from_secs(1)
}

struct Load {
    idle: f64,
    more: f64,
    rate: f64,
    window: f64,
    /// Mean sending rate in bit/s, and its time.
    mean: f64,
    at: Time,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"idle = 0.005, loaded = 0.02, rate = "1 Mbit/s""#;
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        let (idle, loaded) = (self.idle.value(), self.loaded.value());
        let (rate, window) = (self.rate.bits_per_second() as f64, self.window.as_secs_f64());
        Some(Box::new(Load { idle, more: loaded - idle, rate, window, mean: 0.0, at: Time::ZERO }))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    /// The loss at the rate of the key: flows that are predicted fill the link.
    fn expected_loss(&self, _packets: u64, _bytes: f64) -> f64 {
        self.loaded.value()
    }

    fn check(&self, problems: &mut Problems) {
        if self.window == Span::ZERO {
            problems.add("window", "0 s is out of range; allowed: above 0 s");
        }
    }
}

impl Process for Load {
    fn corrupts(&mut self, now: Time, bytes: u32, stream: &mut Stream) -> bool {
        let kept = math::exp(-now.since(self.at).as_secs_f64() / self.window);
        self.mean = self.mean * kept + f64::from(bytes) * 8.0 / self.window;
        self.at = now;
        stream.chance(self.idle + self.more * (self.mean / self.rate).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn the_loss_is_linear_in_the_sending_rate() {
        let config: Config =
            serde_json::from_str(r#"{"idle": 0.1, "loaded": 0.5, "rate": "8 Mbit/s"}"#).unwrap();
        for (share, expected) in [(0.25, 0.2), (0.5, 0.3), (1.0, 0.5), (2.0, 0.5)] {
            let (mut process, mut stream) = (config.build().unwrap(), Streams::new(1, 0).stream("load"));
            // Packets of 1000 bytes: 1000 per second are 8 Mbit/s.
            let count = 200_000u64;
            let spacing = (1e6 / share) as u64;
            let lost = (0..count)
                .filter(|number| {
                    let now = Time::from_nanos(number * spacing);
                    process.corrupts(now, 1000, &mut stream) && *number >= count / 10
                })
                .count();
            let loss = lost as f64 / (count - count / 10) as f64;
            assert!((loss - expected).abs() < 0.01, "{share}: {loss}, not {expected}");
        }
    }
}
