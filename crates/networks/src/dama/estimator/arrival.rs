//! The arrival rate of data, plus the rate that empties the queue within one response time: `a[n] =
//! (1 - gamma) a[n-1] + gamma A` and `r[n] = a[n] + Q / L`. A is the data that arrived in the last
//! superframe and Q is the queue, both in slots; L is the number of superframes from request to
//! assignment. The estimate is at least one slot while any data wait.
//!
//! The arrival rate alone would never drain the data that accumulate before the first assignment.
//! The second term drains these data evenly over the superframes of one response time. The form is
//! our own; EN 301 790 suggests measuring the input rate for RBDC (section 6.6.1.2.2) but gives no
//! formula.

use super::{decayed, min_request, Arrivals, Estimation, Estimator, Load};
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
        (self.rate + load.queue as f64 / self.response).max(min_request(load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_approaches_a_constant_rate_plus_the_queue_term() {
        let mut measured = Config {}.build(10, 1000);
        let mut rates = Vec::new();
        for n in 1..=40 {
            rates.push(measured.estimate(0, &Load { queue: 20, arrived: n * 3000 }, 0.5));
        }
        // 3 x 0.5 + 2, 3 x 0.75 + 2, ...
        assert_eq!(rates[..2], [3.5, 4.25]);
        assert!((rates[39] - 5.0).abs() < 1e-9);
        // The terminal slept for four superframes: the rate is 3 x 0.5^4 before this superframe,
        // and 3 x 0.5^5 after it.
        assert!((measured.estimate(4, &Load { queue: 0, arrived: 120_000 }, 0.5) - 3.0 / 32.0).abs() < 1e-9);
    }
}
