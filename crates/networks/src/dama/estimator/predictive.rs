//! The arrival rate expected when the assignment takes effect, extrapolated by a linear trend (Holt
//! 1957). The level is `a[n] = gamma A + (1 - gamma) (a[n-1] + t[n-1])`, the trend `t[n] = trend
//! (a[n] - a[n-1]) + (1 - trend) t[n-1]`, and the request `r[n] = max(a[n] + L t[n], 0) + Q / L`,
//! with the symbols of [`super::arrival`]. The request is at least one slot while any data wait.
//!
//! This estimator requests capacity earlier while traffic grows, as in slow start, and too much
//! when the growth ends.

use super::{min_request, Arrivals, Estimation, Estimator, Load};
use bentpipe_core::{Fraction, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arrival rate, extrapolated to the time of the assignment by a linear trend (Holt 1957), plus
/// a share of the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Weight of the newest difference in the trend, 0.2 by default.
    pub trend: Fraction,
}

impl Default for Config {
    fn default() -> Config {
        Config { trend: Fraction::thousandths(200) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "trend = 0.5";
}

impl Estimation for Config {
    fn build(&self, response: u64, unit: u64) -> Box<dyn Estimator> {
        Box::new(Extrapolated {
            response: response as f64,
            unit,
            weight: self.trend.value(),
            arrivals: Arrivals::default(),
            level: 0.0,
            trend: 0.0,
        })
    }
}

struct Extrapolated {
    response: f64,
    unit: u64,
    weight: f64,
    arrivals: Arrivals,
    level: f64,
    trend: f64,
}

impl Extrapolated {
    fn measure(&mut self, arrived: f64, gamma: f64) {
        let level = gamma * arrived + (1.0 - gamma) * (self.level + self.trend);
        self.trend = self.weight * (level - self.level) + (1.0 - self.weight) * self.trend;
        self.level = level;
    }
}

impl Estimator for Extrapolated {
    fn resize(&mut self, unit: u64) {
        let ratio = self.unit as f64 / unit as f64;
        (self.unit, self.level, self.trend) = (unit, self.level * ratio, self.trend * ratio);
    }

    fn estimate(&mut self, slept: u64, load: &Load, gamma: f64) -> f64 {
        for _ in 0..slept {
            self.measure(0.0, gamma);
            if self.level.abs() < 1e-9 && self.trend.abs() < 1e-9 {
                break;
            }
        }
        let arrived = self.arrivals.measure(load, self.unit);
        self.measure(arrived, gamma);
        let rate = (self.level + self.response * self.trend).max(0.0) + load.queue as f64 / self.response;
        rate.max(min_request(load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_trend_is_predicted() {
        let mut predictive = Config::default().build(10, 1000);
        let (mut arrived, mut estimate) = (0, 0.0);
        for n in 1..=300 {
            arrived += n * 100;
            estimate = predictive.estimate(0, &Load { queue: 0, arrived }, 0.4);
        }
        // In superframe 300, 30 slots' worth of data arrive, and 0.1 slots more in each later
        // superframe: 31 ten superframes later. Once it has settled, Holt's method follows a
        // straight line without error.
        assert!((estimate - 31.0).abs() < 1e-3, "{estimate}");
        let mut min_estimate = f64::MAX;
        for _ in 0..60 {
            min_estimate = min_estimate.min(predictive.estimate(0, &Load { queue: 0, arrived }, 0.4));
        }
        assert!(min_estimate == 0.0, "the estimate of a falling trend reaches zero and is never negative");
    }
}
