//! Algorithm 3 of Ramjee et al. 1994 ([`ramjee`](super::ramjee)), which is used in NeVoT: the
//! estimate of the delay is the minimum delay of the previous talk spurt.
//!
//! Packet i has the network delay n_i. For a talk spurt that begins with packet i, the estimate d_i
//! is the minimum of n_j over the packets j of the previous talk spurt. In the first talk spurt,
//! d_i = n_1. The variation v_i is estimated as in [algorithm 1](super::ramjee1), with this d_i.

use super::ramjee::{initial, Estimates};
use super::ramjee1::WEIGHT;
use super::{Buffer, Playout};
use bentpipe_core::{Real, Sample, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An adaptive de-jitter buffer: algorithm 3 of Ramjee et al. 1994, which uses the minimum delay of
/// the previous talk spurt.
///
/// ```toml
/// playout = "ramjee-3"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Weight a, from 0 to 1, of the previous estimate of the variation. Default 0.998002, as in
    /// the paper.
    pub weight: Real<0, 1000>,
    /// Playout delay of the first talk spurt. Default 20 ms.
    pub initial: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config { weight: Real::of(WEIGHT), initial: initial() }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "weight = 0.99";
}

impl Playout for Config {
    fn build(&self) -> Box<dyn Buffer> {
        let estimates = Estimates::new(self.initial);
        Box::new(Shortest { weight: self.weight.value(), estimates, shortest: f64::INFINITY })
    }
}

struct Shortest {
    weight: f64,
    estimates: Estimates,
    /// Minimum delay of the current talk spurt, in nanoseconds.
    shortest: f64,
}

impl Buffer for Shortest {
    fn observe(&mut self, transit: i64, first: bool) {
        let transit = transit as f64;
        let begins = self.estimates.begin(transit);
        if first && !begins {
            self.estimates.delay = self.shortest;
            self.shortest = f64::INFINITY;
        }
        self.shortest = self.shortest.min(transit);
        if !begins {
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
    fn the_delay_is_the_minimum_of_the_previous_spurt() {
        let config: super::Config = serde_json::from_str(r#"{"weight": 0.5, "initial": "0 ms"}"#).unwrap();
        // The delay d is 100, 100, 100, and then min(100, 90, 120) = 90. The variation v is 0, 5,
        // 12.5, and then (12.5 + |90 - 130|) / 2 = 26.25.
        let found = delays(&config, &[(100.0, true), (90.0, false), (120.0, false), (130.0, true)]);
        assert_close(&found, &[100.0, 120.0, 150.0, 90.0 + 4.0 * 26.25]);
    }
}
