//! The rate at which data arrive, plus what it takes to empty the queue within one response time:
//! `a[n] = (1 - gamma) a[n-1] + gamma A` and `r[n] = a[n] + Q / L`, with A the data that arrived in
//! the last superframe in slots, Q the queue in slots and L the superframes from request to
//! assignment. At least one slot while anything waits.
//!
//! The arrivals alone would leave what accumulates before the first assignment waiting for ever.
//! The second term drains it at the share of the queue that each superframe of the response time
//! has to carry. The form is our own; EN 301 790 suggests measuring the input rate for RBDC
//! (section 6.6.1.2.2) but does not say how.

use super::{decayed, least, Arrivals, Estimation, Estimator, Load};
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The smoothed arrival rate plus a share of the queue, so that the queue empties within one
/// response time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Estimation for Config {
    fn build(&self, response: u64, unit: u64) -> Box<dyn Estimator> {
        Box::new(Measured { response: response as f64, unit, arrivals: Arrivals::default(), rate: 0.0 })
    }
}

struct Measured {
    response: f64,
    unit: u64,
    arrivals: Arrivals,
    /// The previous estimate of the arrival rate, a[n-1].
    rate: f64,
}

impl Estimator for Measured {
    fn resize(&mut self, unit: u64) {
        (self.unit, self.rate) = (unit, self.rate * self.unit as f64 / unit as f64);
    }

    fn estimate(&mut self, slept: u64, load: &Load, gamma: f64) -> f64 {
        self.rate = decayed(self.rate, slept, gamma);
        self.rate = (1.0 - gamma) * self.rate + gamma * self.arrivals.measure(load, self.unit);
        (self.rate + load.queue as f64 / self.response).max(least(load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_is_found_and_the_queue_drained() {
        let mut measured = Config {}.build(10, 1000);
        let mut rates = Vec::new();
        for n in 1..=40 {
            rates.push(measured.estimate(0, &Load { queue: 20, arrived: n * 3000 }, 0.5));
        }
        // 3 x 0.5 + 2, 3 x 0.75 + 2, ...
        assert_eq!(rates[..2], [3.5, 4.25]);
        assert!((rates[39] - 5.0).abs() < 1e-9);
        // After four superframes asleep: 3 x 0.5^4, and 3 x 0.5^5 by this one.
        assert!((measured.estimate(4, &Load { queue: 0, arrived: 120_000 }, 0.5) - 3.0 / 32.0).abs() < 1e-9);
    }
}
