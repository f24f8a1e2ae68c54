//! The study's estimator: `r[n] = (1 - gamma) r[n-1] + gamma Q` (eq. 13 of Luglio, Roseti,
//! Zampognaro 2009). Q is the queue in units of the data that one slot carries in a superframe. The
//! recursion runs on real numbers.

use super::{decayed, Estimation, Estimator, Load};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The smoothed queue, as in the study: r[n] = (1 - gamma) r[n-1] + gamma Q (eq. 13 of Luglio,
/// Roseti, Zampognaro 2009).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Estimation for Config {
    fn build(&self, _response: u64, _unit: u64) -> Box<dyn Estimator> {
        Box::new(Smoothed::default())
    }
}

#[derive(Default)]
struct Smoothed {
    /// The previously requested rate, r[n-1], before it was rounded.
    rate: f64,
}

impl Estimator for Smoothed {
    fn estimate(&mut self, slept: u64, load: &Load, gamma: f64) -> f64 {
        self.rate = decayed(self.rate, slept, gamma);
        self.rate = (1.0 - gamma) * self.rate + gamma * load.queue as f64;
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_superframes_decay_the_estimate() {
        let (mut awake, mut asleep) = (Smoothed::default(), Smoothed::default());
        let estimate = |smoothed: &mut Smoothed, slept, queue| {
            smoothed.estimate(slept, &Load { queue, arrived: 0 }, 0.4)
        };
        for smoothed in [&mut awake, &mut asleep] {
            estimate(smoothed, 0, 1);
        }
        for _ in 2..5 {
            estimate(&mut awake, 0, 0);
        }
        let (awake, asleep) = (estimate(&mut awake, 0, 3), estimate(&mut asleep, 3, 3));
        assert_eq!(awake, asleep);
        // 0.4 x 0.6^4 + 1.2.
        assert!((awake - 1.25184).abs() < 1e-12);
    }
}
