//! Algorithm 1 of Ramjee et al. 1994 ([`ramjee`](super::ramjee)): linear recursive filters with one
//! weight, like the estimator of TCP's round-trip time.
//!
//! Packet i has the network delay n_i. The estimates of the delay, d_i, and of its variation, v_i,
//! are
//!
//! d_i = a d_{i-1} + (1 - a) n_i,
//!
//! v_i = a v_{i-1} + (1 - a) |d_i - n_i|,
//!
//! with the weight a = 0.998002 of the previous estimate.

use super::ramjee::{initial, Estimates};
use super::{Buffer, Playout};
use bentpipe_core::{Real, Sample, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An adaptive de-jitter buffer: algorithm 1 of Ramjee et al. 1994, a linear filter.
///
/// ```toml
/// playout = "ramjee-1"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Weight a, from 0 to 1, of the previous estimates of delay and variation. Default 0.998002,
    /// as in the paper.
    pub weight: Real<0, 1000>,
    /// Playout delay of the first talk spurt. Default 20 ms.
    pub initial: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { weight: Real::of(WEIGHT), initial: initial() }
    }
}

/// Default of the weight a of the previous estimate, as in the paper.
pub const WEIGHT: f64 = 0.998002;

impl Sample for Config {
    const SAMPLE: &'static str = "weight = 0.99";
}

impl Playout for Config {
    fn build(&self) -> Box<dyn Buffer> {
        Box::new(Filter { weight: self.weight.value(), estimates: Estimates::new(self.initial) })
    }
}

struct Filter {
    weight: f64,
    estimates: Estimates,
}

impl Buffer for Filter {
    fn observe(&mut self, transit: i64, _first: bool) {
        let transit = transit as f64;
        if !self.estimates.begin(transit) {
            self.estimates.smooth(self.weight, transit);
            self.estimates.vary(self.weight, transit);
        }
    }

    fn delay(&self) -> i64 {
        self.estimates.playout()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, delays};

    #[test]
    fn estimates_follow_the_equations() {
        // With a = 0.5, the delay d is 100, 110, 105, and the variation v is 0, 5, 5.
        let config: super::Config = serde_json::from_str(r#"{"weight": 0.5, "initial": "0 ms"}"#).unwrap();
        let found = delays(&config, &[(100.0, true), (120.0, false), (100.0, true)]);
        assert_close(&found, &[100.0, 130.0, 125.0]);
        let config: super::Config = serde_json::from_str("{}").unwrap();
        let found = delays(&config, &[(100.0, true), (200.0, true)]);
        // d = 100 + 0.001998 x 100; v = 0.998002 x 5 + 0.001998 x (200 - d).
        let (d, v) = (100.1998, 0.998002 * 5.0 + 0.001998 * (200.0 - 100.1998));
        assert_close(&found, &[120.0, d + 4.0 * v]);
    }
}
