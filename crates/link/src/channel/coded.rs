//! Errors after the decoder of a space link: a frame is lost with the probability that its code
//! cannot correct it. The input is the bit error rate before decoding or Eb/N0.
//!
//! [`bentpipe_dtn::coding`] contains the equations of the codes, their sources and their limits. A
//! unit of n sent bytes contains n / x bytes of information, where x is the expansion of the code.
//! The channel has no memory beyond a frame.
//!
//! ```toml
//! framing = { kind = "space", frame = "tm", length = 1115, code = { kind = "reed-solomon" } }
//! error = { kind = "coded", ber = 4e-3, code = { kind = "reed-solomon" } }
//! ```

use super::code::Code;
use super::{Channel, Process};
use bentpipe_core::{Fraction, Problems, Sample, Stream, Time};
use bentpipe_dtn::coding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frame errors of a space link after its decoder, given by the bit error rate before decoding or
/// by Eb/N0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bit error rate before decoding, 0 to 1, with hard decisions. Give either this or `eb_n0_db`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ber: Option<Fraction>,
    /// Energy per information bit over noise density (Eb/N0) in dB, with coherent BPSK and soft
    /// decisions. Give either this or `ber`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eb_n0_db: Option<f64>,
    /// Channel code. Default none, or the code of the link's framing if it has one.
    #[serde(default)]
    pub code: Code,
}

impl Config {
    fn channel(&self) -> coding::Channel {
        match (self.ber, self.eb_n0_db) {
            (Some(ber), _) => coding::Channel::Binary(ber.value()),
            (_, db) => coding::Channel::EbN0(db.unwrap_or_default()),
        }
    }

    /// Returns the probability that a unit of `sent` bytes cannot be decoded.
    fn frame_error(&self, sent: f64) -> f64 {
        let code = self.code.code();
        code.frame_error((sent / code.expansion()).round().max(1.0) as u32, self.channel())
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"eb_n0_db = 4.0, code = { kind = "convolutional" }"#;
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Coded { config: self.clone(), last: (0, 0.0) }))
    }

    fn expected_loss(&self, _packets: u64, bytes: f64) -> f64 {
        self.frame_error(bytes)
    }

    fn check(&self, problems: &mut Problems) {
        match (self.ber, self.eb_n0_db) {
            (None, None) => problems.add("ber", "is missing; allowed: ber or eb_n0_db"),
            (Some(_), Some(_)) => {
                problems.add("ber", "cannot be combined with eb_n0_db; allowed: one of them")
            }
            (None, Some(db)) if !(-20.0..=60.0).contains(&db) => {
                problems.add("eb_n0_db", format!("{db} dB is out of range; allowed: -20 to 60"));
            }
            _ => {}
        }
    }
}

struct Coded {
    config: Config,
    /// Size of the last unit and its error probability: most units have the size of the previous
    /// one.
    last: (u32, f64),
}

impl Process for Coded {
    fn corrupts(&mut self, _now: Time, bytes: u32, stream: &mut Stream) -> bool {
        if self.last.0 != bytes {
            self.last = (bytes, self.config.frame_error(f64::from(bytes)));
        }
        stream.uniform() < self.last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    /// The row of 5e-3 in `tests/authorities/dtn/rs_frame_failure.csv`: RS(255,223), interleaving
    /// depth 5.
    #[test]
    fn frames_are_lost_with_the_probability_of_uncorrectable_codewords() {
        let table = include_str!("../../../../tests/authorities/dtn/rs_frame_failure.csv");
        let row = table.lines().find(|row| row.starts_with("0.005,")).expect("a row of 5e-3");
        let expected: f64 = row.split(',').nth(3).unwrap().parse().unwrap();
        let text = r#"{"ber": 5e-3, "code": {"reed-solomon": {"correctable": 16, "interleave": 5}}}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        let mut process = config.build().unwrap();
        let mut stream = Streams::new(1, 0).stream("channel");
        let trials = 100_000;
        let lost = (0..trials).filter(|_| process.corrupts(Time::ZERO, 1279, &mut stream)).count() as f64;
        // Four standard errors.
        let bound = 4.0 * (expected * (1.0 - expected) / f64::from(trials)).sqrt();
        assert!((lost / f64::from(trials) - expected).abs() < bound, "{lost} {expected}");
        assert!((config.expected_loss(1, 1279.0) / expected - 1.0).abs() < 1e-4);
    }
}
