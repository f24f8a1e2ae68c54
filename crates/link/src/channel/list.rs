//! Listed errors: the packets with the given numbers are corrupted. The first packet (or unit of
//! the framing) has the number 1.
//!
//! Use: transcripts, and comparisons of two stacks or two clocks that must lose the same packets.
//!
//! ```toml
//! error = { kind = "list", packets = [40, 41, 300] }
//! ```

use super::{Channel, Effect, Process};
use bentpipe_core::{Count, Problems, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Listed errors: corrupts exactly the listed packets, for example to compare two TCP stacks under
/// the same losses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Numbers of the corrupted packets (or units of the framing), in ascending order. The first
    /// packet of the direction has the number 1.
    pub packets: Vec<Count<1, 1_000_000_000_000>>,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

struct Listed {
    /// Number of packets so far.
    count: u64,
    /// Remaining numbers, the next one last.
    left: Vec<u64>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "packets = [7, 8, 30]";
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        let left = self.packets.iter().rev().map(|number| number.value()).collect();
        Some(Box::new(Listed { count: 0, left }))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn expected_loss(&self, packets: u64, _bytes: f64) -> f64 {
        self.packets.iter().filter(|number| number.value() <= packets).count() as f64 / packets.max(1) as f64
    }

    fn check(&self, problems: &mut Problems) {
        if let Some(pair) = self.packets.windows(2).find(|pair| pair[0].value() >= pair[1].value()) {
            let (before, after) = (pair[0].value(), pair[1].value());
            problems.add("packets", format!("{after} follows {before}; allowed: ascending order"));
        }
    }
}

impl Process for Listed {
    fn corrupts(&mut self, _now: Time, _bytes: u32, _stream: &mut Stream) -> bool {
        self.count += 1;
        let chosen = self.left.last() == Some(&self.count);
        if chosen {
            self.left.pop();
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    fn config(packets: &[u64]) -> Config {
        serde_json::from_value(serde_json::json!({ "packets": packets })).unwrap()
    }

    #[test]
    fn only_the_listed_packets_are_corrupted() {
        let (mut stream, mut process) =
            (Streams::new(5, 0).stream("channel"), config(&[1, 3, 4]).build().unwrap());
        let corrupted = (1..=6).filter(|_| process.corrupts(Time::ZERO, 1500, &mut stream));
        assert_eq!(corrupted.collect::<Vec<_>>(), [1, 3, 4]);
    }

    #[test]
    fn numbers_out_of_order_are_refused() {
        for (packets, refused) in [(&[2, 5][..], false), (&[], false), (&[5, 2], true), (&[5, 5], true)] {
            let mut problems = Problems::default();
            config(packets).check(&mut problems);
            assert_eq!(problems.count() > 0, refused, "{packets:?}");
        }
    }
}
