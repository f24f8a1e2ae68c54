//! Algorithm 4 of Ramjee et al. 1994 ([`ramjee`](super::ramjee)): follows delay spikes.
//!
//! Packet i has the network delay n_i. The estimates of the delay and of its variation are d_i and
//! v_i. Times are in units of 125 us.
//!
//! - A spike begins if the absolute value of n_i - n_{i-1} exceeds 2 v_{i-1} + 800 (100 ms).
//! - During a spike, each packet halves a measure of the slope and adds an eighth of the absolute
//!   value of 2 n_i - n_{i-1} - n_{i-2} to it. The spike ends when this measure is at most 63
//!   (7.875 ms). The last packet of a spike changes neither d nor v.
//! - During a spike, d_i = d_{i-1} + n_i - n_{i-1}. Otherwise, d_i = 0.125 n_i + 0.875 d_{i-1}.
//! - In both cases, v_i = 0.125 |n_i - d_i| + 0.875 v_{i-1}.

use super::ramjee::{initial, Estimates};
use super::{Buffer, Playout};
use bentpipe_core::{Sample, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An adaptive de-jitter buffer: algorithm 4 of Ramjee et al. 1994, with detection of delay spikes.
///
/// ```toml
/// playout = "ramjee-4"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Playout delay of the first talk spurt. Default 20 ms.
    pub initial: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { initial: initial() }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"initial = "40 ms""#;
}

impl Playout for Config {
    fn build(&self) -> Box<dyn Buffer> {
        let estimates = Estimates::new(self.initial);
        Box::new(Spikes { estimates, slope: None, before: [0.0; 2] })
    }
}

/// Weight of the previous estimate: of the variation always, and of the delay outside a spike.
const WEIGHT: f64 = 0.875;

/// Constant part of the jump in delay that begins a spike, in nanoseconds: 800 samples at 8000 Hz.
const BEGIN: f64 = 100e6;

/// Measure of the slope at which a spike ends, in nanoseconds: 63 samples at 8000 Hz.
const END: f64 = 7.875e6;

struct Spikes {
    estimates: Estimates,
    /// Measure of the slope in nanoseconds; `None` outside a spike.
    slope: Option<f64>,
    /// Network delays n_{i-1} and n_{i-2} of the two previous packets, in nanoseconds.
    before: [f64; 2],
}

impl Spikes {
    fn estimate(&mut self, transit: f64) {
        let [last, last_but_one] = self.before;
        match &mut self.slope {
            None if (transit - last).abs() > 2.0 * self.estimates.variation.abs() + BEGIN => {
                self.slope = Some(0.0)
            }
            None => {}
            Some(slope) => {
                *slope = *slope / 2.0 + (2.0 * transit - last - last_but_one).abs() / 8.0;
                if *slope <= END {
                    self.slope = None;
                    return;
                }
            }
        }
        match self.slope {
            None => self.estimates.smooth(WEIGHT, transit),
            Some(_) => self.estimates.delay += transit - last,
        }
        self.estimates.vary(WEIGHT, transit);
    }
}

impl Buffer for Spikes {
    fn observe(&mut self, transit: i64, _first: bool) {
        let transit = transit as f64;
        if self.estimates.begin(transit) {
            self.before = [transit; 2];
            return;
        }
        self.estimate(transit);
        self.before = [transit, self.before[0]];
    }

    fn delay(&self) -> i64 {
        self.estimates.playout()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, delays};

    #[test]
    fn a_spike_is_followed_and_ends() {
        let config: super::Config = serde_json::from_str(r#"{"initial": "0 ms"}"#).unwrap();
        // A spike of 400 ms. Its packets were generated at intervals of 20 ms and arrive together.
        let transits = [100.0, 100.0, 500.0, 480.0, 460.0, 440.0, 420.0, 400.0, 380.0, 360.0];
        let packets = transits.map(|transit| (transit, true));
        let found = delays(&config, &packets);
        // In the spike d follows n exactly, and v stays 0. The slope: 0, |960 - 500 - 100| / 8 =
        // 45, 22.5 + |920 - 480 - 500| / 8 = 30, 15 + 7.5 = 22.5, 18.75, 16.875, 15.9, 15.5: with
        // 20 ms a packet it stays above 7.875 ms.
        assert_close(&found, &[100.0, 100.0, 500.0, 480.0, 460.0, 440.0, 420.0, 400.0, 380.0, 360.0]);
        // At 100 ms again the slope falls below 7.875: |2 n - n - n| = 0 halves it.
        let flat = [
            (100.0, true),
            (100.0, true),
            (300.0, true),
            (300.0, true),
            (300.0, true),
            (300.0, true),
            (300.0, true),
        ];
        // Slope: 0; |600 - 300 - 100| / 8 = 25; 12.5; 6.25: the spike ends without a change; then d
        // = 300, as n.
        assert_close(&delays(&config, &flat), &[100.0, 100.0, 300.0, 300.0, 300.0, 300.0, 300.0]);
    }

    #[test]
    fn without_a_spike_the_delay_is_filtered() {
        let config: super::Config = serde_json::from_str(r#"{"initial": "0 ms"}"#).unwrap();
        // d = 0.875 x 100 + 0.125 x 140 = 105; v = 0.125 x 35 = 4.375.
        assert_close(&delays(&config, &[(100.0, true), (140.0, true)]), &[100.0, 122.5]);
    }
}
