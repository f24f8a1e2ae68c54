//! Rayleigh fading: scattered waves from all directions without a direct wave. The power has an
//! exponential distribution.
//!
//! `waves.rs` generates the scattered waves. Over a time t the amplitude keeps a correlation of
//! J0(w t), w = 2 pi speed / wavelength: it fades about once per half wavelength.
//!
//! ```toml
//! error = { kind = "snr", snr_db = 25, fading = "rayleigh", speed = "1 m/s" }
//! ```

use super::waves::Waves;
use super::{rice, Fading, Gain};
use bentpipe_core::{Sample, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rayleigh fading: scattered waves without a direct wave, as indoors without line of sight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

struct Rayleigh(Waves);

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Fading for Config {
    fn build(&self, doppler: f64, stream: &mut Stream) -> Box<dyn Gain> {
        Box::new(Rayleigh(Waves::new(doppler, stream)))
    }

    fn mean(&self, of: &dyn Fn(f64) -> f64) -> f64 {
        rice::mean(0.0, of)
    }
}

impl Gain for Rayleigh {
    fn at(&self, time: f64) -> f64 {
        let (c, s) = self.0.at(time);
        c * c + s * s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::math;
    use bentpipe_core::Streams;

    #[test]
    fn power_is_exponential_with_the_correlation_of_clarkes_model() {
        let mut stream = Streams::new(6, 0).stream("fading");
        let doppler = 2.0 * std::f64::consts::PI * 10.0;
        let (mut below, mut sum, mut products, trials) = ([0.0; 3], 0.0, [0.0; 3], 60_000);
        let levels = [0.01, 0.1, 1.0];
        let lags = [0.005, 0.02, 0.1];
        for _ in 0..trials {
            let gain = Config {}.build(doppler, &mut stream);
            let first = gain.at(3.0);
            sum += first;
            for at in 0..3 {
                below[at] += f64::from(first < levels[at]);
                products[at] += first * gain.at(3.0 + lags[at]);
            }
        }
        let trials = f64::from(trials);
        assert!((sum / trials - 1.0).abs() < 0.02, "{sum}");
        for at in 0..3 {
            let expected = 1.0 - math::exp(-levels[at]);
            assert!((below[at] / trials - expected).abs() < 5.0 * (expected / trials).sqrt(), "{below:?}");
            // For a complex Gaussian process, the covariance of powers is the square of that of
            // amplitudes.
            let correlation = math::j0(doppler * lags[at]).powi(2);
            assert!((products[at] / trials - 1.0 - correlation).abs() < 0.06, "{products:?} {correlation}");
        }
        assert!((Config {}.mean(&|gain| f64::from(gain < 0.1)) - 0.0952).abs() < 0.002);
        assert!((Config {}.mean(&|gain| gain) - 1.0).abs() < 1e-4);
    }
}
