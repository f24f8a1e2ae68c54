//! Errors by signal-to-noise ratio: a frame survives with the probability that all its bits are
//! right at the current ratio, which fading and shadowing vary.
//!
//! ```text
//! SNR(t) = snr_db + shadowing(t) [dB],  times the power gain of the fading at t
//! ```
//!
//! The ratio is constant during a frame. `success.rs` has the probabilities by modulation, `fading`
//! the variations, both with their sources. `speed` is the speed of the station or of objects
//! around it; at 0 m/s fading and shadowing are drawn once and do not change.
//!
//! ```toml
//! error = { kind = "snr", snr_db = 18, fading = { kind = "rice", k_factor = 2 }, speed = "1 m/s",
//!           shadowing = { deviation_db = 4, distance = "3 m" }, mode = "cck-11" }
//! ```

use super::fading::shadowing::{self, Shadow};
use super::fading::{self, Gain};
use super::{Channel, Coding, Effect, Frame, Mode, Modulation, Process};
use bentpipe_core::{math, Distance, Problems, Real, Sample, Speed, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Errors by signal-to-noise ratio: with fading and shadowing at a speed, and by the modulation of
/// a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Ratio of the mean signal to the noise in the receiver's channel (22 MHz for DSSS and CCK),
    /// in dB, from -100 to 200.
    pub snr_db: Real<-100_000, 200_000>,
    /// Fast fading around the mean. Default none.
    #[serde(default)]
    pub fading: fading::Config,
    /// Slow variation of the mean. Default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadowing: Option<shadowing::Config>,
    /// Speed of the station or of objects around it. Default 1 m/s, a walking person.
    #[serde(default = "walking")]
    pub speed: Speed,
    /// Wavelength of the carrier. Default 0.123 m, channel 6 of the 2.4 GHz band (2.437 GHz).
    #[serde(default = "channel_6")]
    pub wavelength: Distance,
    /// Modulation of packets on a link without its own modulations. Default `"cck-11"`. The number
    /// is the rate in Mbit/s of the modulation in IEEE 802.11; the link keeps its own rate.
    #[serde(default)]
    pub mode: NamedMode,
    /// Treatment of corrupted packets: `"drop"` (the default) loses them. `"stale-checksum"`
    /// delivers them with a bit error, which the receiver detects and drops. `"valid-checksum"`
    /// delivers them with a bit error in the payload that no checksum reveals.
    #[serde(default)]
    pub effect: Effect,
}

const fn walking() -> Speed {
    Speed::from_metres_per_second(1.0)
}

const fn channel_6() -> Distance {
    Distance::from_metres(0.123)
}

/// A modulation of IEEE 802.11, named after its data rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Modulation")]
pub enum NamedMode {
    /// DBPSK with a Barker sequence, 1 Mbit/s.
    #[serde(rename = "dsss-1")]
    Dsss1,
    /// DQPSK with a Barker sequence, 2 Mbit/s.
    #[serde(rename = "dsss-2")]
    Dsss2,
    /// Complementary code keying with 4 bits per symbol.
    #[serde(rename = "cck-5.5")]
    Cck5,
    /// Complementary code keying with 8 bits per symbol.
    #[default]
    #[serde(rename = "cck-11")]
    Cck11,
    /// OFDM with BPSK, code rate 1/2.
    #[serde(rename = "ofdm-6")]
    Ofdm6,
    /// OFDM with BPSK, code rate 3/4.
    #[serde(rename = "ofdm-9")]
    Ofdm9,
    /// OFDM with QPSK, code rate 1/2.
    #[serde(rename = "ofdm-12")]
    Ofdm12,
    /// OFDM with QPSK, code rate 3/4.
    #[serde(rename = "ofdm-18")]
    Ofdm18,
    /// OFDM with 16-QAM, code rate 1/2.
    #[serde(rename = "ofdm-24")]
    Ofdm24,
    /// OFDM with 16-QAM, code rate 3/4.
    #[serde(rename = "ofdm-36")]
    Ofdm36,
    /// OFDM with 64-QAM, code rate 2/3.
    #[serde(rename = "ofdm-48")]
    Ofdm48,
    /// OFDM with 64-QAM, code rate 3/4.
    #[serde(rename = "ofdm-54")]
    Ofdm54,
}

impl NamedMode {
    /// Returns the modulation with its data rate.
    pub fn mode(self) -> Mode {
        let ofdm = |bits, coding| Modulation::Ofdm { bits, coding };
        let (kbit_s, modulation) = match self {
            NamedMode::Dsss1 => (1000, Modulation::Dbpsk),
            NamedMode::Dsss2 => (2000, Modulation::Dqpsk),
            NamedMode::Cck5 => (5500, Modulation::Cck4),
            NamedMode::Cck11 => (11_000, Modulation::Cck8),
            NamedMode::Ofdm6 => (6000, ofdm(1, Coding::Half)),
            NamedMode::Ofdm9 => (9000, ofdm(1, Coding::ThreeQuarters)),
            NamedMode::Ofdm12 => (12_000, ofdm(2, Coding::Half)),
            NamedMode::Ofdm18 => (18_000, ofdm(2, Coding::ThreeQuarters)),
            NamedMode::Ofdm24 => (24_000, ofdm(4, Coding::Half)),
            NamedMode::Ofdm36 => (36_000, ofdm(4, Coding::ThreeQuarters)),
            NamedMode::Ofdm48 => (48_000, ofdm(6, Coding::TwoThirds)),
            NamedMode::Ofdm54 => (54_000, ofdm(6, Coding::ThreeQuarters)),
        };
        Mode { kbit_s, modulation }
    }
}

/// The variations of the signal, drawn at the first frame.
struct Variation {
    gain: Box<dyn Gain>,
    shadow: Option<Shadow>,
}

struct Radio {
    config: Config,
    variation: Option<Variation>,
}

impl Sample for Config {
    const SAMPLE: &'static str = "snr_db = 14, fading = \"rayleigh\", speed = \"3 km/h\", shadowing = { deviation_db = 3, distance = \"2 m\" }";
}

fn ratio(db: f64) -> f64 {
    math::powf(10f64, db / 10.0)
}

impl Channel for Config {
    fn build(&self) -> Option<Box<dyn Process>> {
        Some(Box::new(Radio { config: self.clone(), variation: None }))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn expected_loss(&self, _packets: u64, bytes: f64) -> f64 {
        self.loss_with(self.mode.mode().modulation, bytes)
    }

    fn expected_frame_loss(&self, frame: Frame) -> f64 {
        self.loss_with(frame.mode.modulation, f64::from(frame.bytes))
    }

    fn check(&self, problems: &mut Problems) {
        if self.wavelength.metres() <= 0.0 {
            problems.add("wavelength", "must be more than 0 m".to_owned());
        }
        if let Some(shadowing) = &self.shadowing {
            problems.within("shadowing", |problems| shadowing.check(problems));
        }
    }
}

impl Config {
    fn loss_with(&self, modulation: Modulation, bytes: f64) -> f64 {
        let at = |db: f64| {
            let mean = ratio(self.snr_db.value() + db);
            self.fading.mean(&|gain| modulation.success(mean * gain, 8.0 * bytes))
        };
        1.0 - self.shadowing.as_ref().map_or_else(|| at(0.0), |shadowing| shadowing.mean(&at))
    }
}

impl Radio {
    /// Returns the current ratio, not in dB.
    fn snr(&mut self, now: Time, stream: &mut Stream) -> f64 {
        let config = &self.config;
        let variation = self.variation.get_or_insert_with(|| {
            let speed = config.speed.metres_per_second();
            let doppler = 2.0 * PI * speed / config.wavelength.metres();
            Variation {
                gain: config.fading.build(doppler, stream),
                shadow: config.shadowing.as_ref().map(|shadowing| Shadow::new(shadowing, speed)),
            }
        });
        let time = now.as_secs_f64();
        let shadow = variation.shadow.as_mut().map_or(0.0, |shadow| shadow.at(time, stream));
        ratio(config.snr_db.value() + shadow) * variation.gain.at(time)
    }
}

impl Process for Radio {
    fn corrupts(&mut self, now: Time, bytes: u32, stream: &mut Stream) -> bool {
        let mode = self.config.mode.mode();
        self.corrupts_frame(now, Frame { bytes, mode }, stream)
    }

    fn corrupts_frame(&mut self, now: Time, frame: Frame, stream: &mut Stream) -> bool {
        let snr = self.snr(now, stream);
        !stream.chance(frame.mode.modulation.success(snr, 8.0 * f64::from(frame.bytes)))
    }

    fn snr_db(&mut self, now: Time, stream: &mut Stream) -> Option<f64> {
        Some(10.0 * math::log10(self.snr(now, stream)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::{Span, Streams};

    #[test]
    fn the_loss_over_many_channels_equals_the_expectation() {
        for keys in [
            r#"{"snr_db": 6.5}"#,
            r#"{"snr_db": 15, "fading": {"rayleigh": {}}}"#,
            r#"{"snr_db": 12, "fading": {"rice": {"k_factor": 4}}, "mode": "ofdm-12"}"#,
            r#"{"snr_db": 9, "shadowing": {"deviation_db": 5, "distance": "2 m"}, "mode": "cck-5.5"}"#,
            r#"{"snr_db": 30, "fading": {"rayleigh": {}}, "shadowing": {"deviation_db": 5, "distance": "2 m"},
                "mode": "ofdm-54"}"#,
        ] {
            let config: Config = serde_json::from_str(keys).unwrap();
            let mut stream = Streams::new(3, 0).stream("radio");
            let (channels, frames) = (2000, 5);
            let mut lost = 0;
            for _ in 0..channels {
                let mut process = config.build().unwrap();
                // Far enough apart to be nearly independent.
                let at = |number: u64| Time::ZERO + Span::from_millis(7000 * number);
                lost += (0..frames).filter(|n| process.corrupts(at(*n), 1000, &mut stream)).count();
            }
            let (loss, expected) =
                (lost as f64 / (channels * frames as usize) as f64, config.expected_loss(1, 1000.0));
            assert!((loss - expected).abs() < 0.02, "{keys}: {loss} {expected}");
            assert!(expected > 0.01 && expected < 0.99, "{keys}: {expected}");
        }
    }

    #[test]
    fn the_expected_loss_of_frames_uses_their_own_mode() {
        let text = r#"{"snr_db": 25, "fading": {"rayleigh": {}}, "mode": "cck-11"}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        let mut stream = Streams::new(9, 0).stream("radio");
        let mut losses = Vec::new();
        for mode in [NamedMode::Cck11.mode(), NamedMode::Ofdm54.mode()] {
            let frame = Frame { bytes: 1000, mode };
            // Each channel is new, so that fades are independent.
            let lost = |_: &u32| config.build().unwrap().corrupts_frame(Time::ZERO, frame, &mut stream);
            let (loss, expected) =
                ((0..20_000).filter(lost).count() as f64 / 2e4, config.expected_frame_loss(frame));
            // Five standard deviations of a binomial.
            assert!((loss - expected).abs() < 5.0 * (expected / 2e4).sqrt(), "{mode:?}: {loss} {expected}");
            losses.push(expected);
        }
        assert!(losses[1] > 5.0 * losses[0], "{losses:?}");
    }

    #[test]
    fn losses_come_in_longer_bursts_when_the_station_moves_slowly() {
        let burst = |speed: &str| {
            let text = format!(r#"{{"snr_db": 14, "fading": {{"rayleigh": {{}}}}, "speed": "{speed}"}}"#);
            let config: Config = serde_json::from_str(&text).unwrap();
            let (mut process, mut stream) = (config.build().unwrap(), Streams::new(3, 0).stream("radio"));
            let at = |number: u64| Time::ZERO + Span::from_millis(5 * number);
            let lost: Vec<bool> = (0..100_000).map(|n| process.corrupts(at(n), 1000, &mut stream)).collect();
            let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
            lost.iter().filter(|lost| **lost).count() as f64 / bursts as f64
        };
        let (slow, fast) = (burst("0.1 m/s"), burst("10 m/s"));
        // The duration of a fade is inversely proportional to the speed; at 10 m/s, frames 5 ms
        // apart are nearly independent.
        assert!(slow > 10.0 * fast && fast < 2.0, "{slow} {fast}");
    }

    #[test]
    fn the_ratio_is_reported_and_constant_without_motion() {
        let text = r#"{"snr_db": 20, "fading": {"rayleigh": {}}, "speed": "0 m/s"}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        let (mut process, mut stream) = (config.build().unwrap(), Streams::new(3, 0).stream("radio"));
        let first = process.snr_db(Time::ZERO, &mut stream).unwrap();
        assert_eq!(process.snr_db(Time::ZERO + Span::from_secs(99), &mut stream), Some(first));
        let steady: Config = serde_json::from_str(r#"{"snr_db": 20}"#).unwrap();
        let ratio = steady.build().unwrap().snr_db(Time::ZERO, &mut stream).unwrap();
        assert!((ratio - 20.0).abs() < 1e-9);
    }
}
