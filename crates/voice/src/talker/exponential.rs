//! Talk spurts and pauses with exponentially distributed lengths, independent for each side: the
//! usual model of packet voice (K. Sriram and W. Whitt, "Characterizing Superposition Arrival
//! Processes in Packet Multiplexers for Voice and Data", 1986). The defaults are the means of this
//! paper. A side begins within a pause; the remaining pause has the same exponential distribution.

use super::{Side, Spurt, Spurts, Talker};
use bentpipe_core::{Problems, Sample, Span, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Talk spurts and pauses with exponentially distributed lengths; the two sides of a call are
/// independent of each other.
///
/// ```toml
/// talker = { kind = "exponential", speech = "1.004 s", pause = "1.587 s" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Mean length of a talk spurt. Default 0.352 s (Sriram and Whitt 1986).
    pub speech: Span,
    /// Mean length of a pause. Default 0.65 s (Sriram and Whitt 1986).
    pub pause: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { speech: Span::from_millis(352), pause: Span::from_millis(650) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"speech = "1 s", pause = "1.5 s""#;
}

impl Talker for Config {
    fn spurts(&self, side: Side, mut plan: Stream) -> Spurts {
        let (speech, pause) = (self.speech.as_secs_f64(), self.pause.as_secs_f64());
        let mut end = Span::ZERO;
        Box::new(std::iter::from_fn(move || {
            // Each step makes four draws, two for each side, so the sides differ although their
            // streams are equal.
            let draws =
                [plan.exponential(1.0), plan.exponential(1.0), plan.exponential(1.0), plan.exponential(1.0)];
            let [silent, speaks] = match side {
                Side::Caller => [draws[0], draws[1]],
                Side::Callee => [draws[2], draws[3]],
            };
            let begin = end + Span::from_secs_f64(silent * pause);
            end = begin + Span::from_secs_f64(speaks * speech);
            Some(Spurt { begin, end })
        }))
    }

    fn activity(&self) -> Option<f64> {
        let (speech, pause) = (self.speech.as_secs_f64(), self.pause.as_secs_f64());
        Some(speech / (speech + pause))
    }

    fn check(&self, problems: &mut Problems) {
        for (key, span) in [("speech", self.speech), ("pause", self.pause)] {
            if span == Span::ZERO {
                problems.add(key, "must be longer than 0 s");
            }
        }
    }
}
