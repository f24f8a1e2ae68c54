//! Talk spurts of recorded speech, as found by a voice activity detector. `bentpipe voice listen
//! --activity FILE.wav` prints them for a recording.

use super::{Side, Spurt, Spurts, Talker};
use bentpipe_core::{Problems, Sample, Span, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Talk spurts of recorded speech, as found by a voice activity detector.
///
/// ```toml
/// talker = { kind = "recorded", caller = [["0.2 s", "1.7 s"], ["4.1 s", "5 s"]], callee = [["2 s", "3.9 s"]], length = "6 s" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Start and end of each talk spurt of the caller (the flow's source), in order, from the
    /// beginning of the call.
    pub caller: Vec<[Span; 2]>,
    /// Start and end of each talk spurt of the callee (the flow's destination). If unset, the
    /// callee is silent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callee: Vec<[Span; 2]>,
    /// Length of the recording, after which it repeats. If unset, the recording is played once, and
    /// silence follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Span>,
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"caller = [["0 s", "1.2 s"], ["3 s", "3.5 s"]], callee = [["1.5 s", "2.6 s"]], length = "4 s""#;
}

impl Config {
    fn of(&self, side: Side) -> &[[Span; 2]] {
        match side {
            Side::Caller => &self.caller,
            Side::Callee => &self.callee,
        }
    }
}

impl Talker for Config {
    fn spurts(&self, side: Side, _plan: Stream) -> Spurts {
        let spurts = self.of(side).to_vec();
        let repeats = if self.length.is_some() && !spurts.is_empty() { u64::MAX } else { 1 };
        let length = self.length.unwrap_or(Span::ZERO);
        let round = move |round: u64| {
            let start = length * round;
            let shift = move |[begin, end]: [Span; 2]| Spurt { begin: start + begin, end: start + end };
            spurts.clone().into_iter().map(shift)
        };
        Box::new((0..repeats).flat_map(round))
    }

    fn activity(&self) -> Option<f64> {
        let speaks: f64 =
            self.caller.iter().map(|[begin, end]| end.saturating_sub(*begin).as_secs_f64()).sum();
        self.length.map(|length| speaks / length.as_secs_f64())
    }

    fn check(&self, problems: &mut Problems) {
        for (key, side) in [("caller", Side::Caller), ("callee", Side::Callee)] {
            let mut last = None;
            for [begin, end] in self.of(side) {
                if begin >= end || last.is_some_and(|last| *begin <= last) {
                    let message = format!(
                        "{} to {} is out of order; allowed: talk spurts that begin after the end of the one before",
                        begin.as_secs_f64(),
                        end.as_secs_f64()
                    );
                    problems.add(key, message);
                }
                last = Some(*end);
            }
            if let (Some(length), Some(last)) = (self.length, last) {
                if last >= length {
                    problems.add(
                        "length",
                        format!("must be longer than {} s, the last talk spurt", last.as_secs_f64()),
                    );
                }
            }
        }
    }
}
