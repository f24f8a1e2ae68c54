//! Algorithm 2 of Ramjee et al. 1994 ([`ramjee`](super::ramjee)): filters that follow a growing
//! delay faster than a shrinking delay.
//!
//! Packet i has the network delay n_i. The algorithm estimates the mean delay d_i and its variation
//! v_i as in [algorithm 1](super::ramjee1), with the weight a = 0.998002 of the previous estimate.
//! If n_i > d_{i-1}, the delay is growing, and a smaller weight b = 0.75 is used for the delay:
//!
//! d_i = b d_{i-1} + (1 - b) n_i.

use super::ramjee::{initial, Estimates};
use super::ramjee1::WEIGHT;
use super::{Buffer, Playout};
use bentpipe_core::{Real, Sample, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An adaptive de-jitter buffer: algorithm 2 of Ramjee et al. 1994, a filter that follows a growing
/// delay faster than a shrinking delay.
///
/// ```toml
/// playout = "ramjee-2"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Weight a, from 0 to 1, of the previous estimate: of the delay while the delay shrinks, and
    /// of the variation always. Default 0.998002, as in the paper.
    pub weight: Real<0, 1000>,
    /// Weight b, from 0 to 1, of the previous estimate of the delay while the delay grows. Default
    /// 0.75, as in the paper.
    pub growing: Real<0, 1000>,
    /// Playout delay of the first talk spurt. Default 20 ms.
    pub initial: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { weight: Real::of(WEIGHT), growing: Real::thousandths(750), initial: initial() }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "growing = 0.8";
}

impl Playout for Config {
    fn build(&self) -> Box<dyn Buffer> {
        let (weight, growing) = (self.weight.value(), self.growing.value());
        Box::new(Filter { weight, growing, estimates: Estimates::new(self.initial) })
    }
}

struct Filter {
    weight: f64,
    growing: f64,
    estimates: Estimates,
}

impl Buffer for Filter {
    fn observe(&mut self, transit: i64, _first: bool) {
        let transit = transit as f64;
        if !self.estimates.begin(transit) {
            let grows = transit > self.estimates.delay;
            self.estimates.smooth(if grows { self.growing } else { self.weight }, transit);
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
    fn a_growing_delay_uses_the_weight_for_growth() {
        // The delay d is 100, 0.75 x 100 + 0.25 x 140 = 110, 0.5 x 110 + 0.5 x 100 = 105. The
        // variation v is 0, 15, 10.
        let text = r#"{"weight": 0.5, "growing": 0.75, "initial": "0 ms"}"#;
        let config: super::Config = serde_json::from_str(text).unwrap();
        let found = delays(&config, &[(100.0, true), (140.0, false), (100.0, true)]);
        assert_close(&found, &[100.0, 170.0, 145.0]);
    }
}
