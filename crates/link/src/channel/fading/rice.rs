//! Rice fading: scattered waves and a direct wave with `k_factor` times their power.
//!
//! ```text
//! h(t) = (g(t) + sqrt(K) exp(j (w t cos b + c))) / sqrt(1 + K)
//! ```
//!
//! Here g are the scattered waves of `waves.rs`; the angle b of the direct wave and its phase c are
//! uniform. Source: C. Xiao, Y. R. Zheng and N. C. Beaulieu, "Novel sum-of-sinusoids simulation
//! models for Rayleigh and Rician fading channels", IEEE Transactions on Wireless Communications
//! 5(12), 2006.
//!
//! ```toml
//! error = { kind = "snr", snr_db = 20, fading = { kind = "rice", k_factor = 4 }, speed = "1 m/s" }
//! ```

use super::waves::Waves;
use super::{Fading, Gain};
use bentpipe_core::{math, Real, Sample, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Rice fading: a direct wave and scattered ones, as indoors with line of sight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rice factor K: power of the direct wave divided by that of the scattered waves, not in dB. 0
    /// is Rayleigh fading.
    pub k_factor: Real<0, 1_000_000>,
}

struct Rice {
    waves: Waves,
    k: f64,
    /// Doppler shift of the direct wave in radians per second, and its phase.
    direct: (f64, f64),
}

impl Sample for Config {
    const SAMPLE: &'static str = "k_factor = 4";
}

impl Fading for Config {
    fn build(&self, doppler: f64, stream: &mut Stream) -> Box<dyn Gain> {
        let waves = Waves::new(doppler, stream);
        let mut angle = || PI * (2.0 * stream.uniform() - 1.0);
        Box::new(Rice { waves, k: self.k_factor.value(), direct: (doppler * math::cos(angle()), angle()) })
    }

    fn mean(&self, of: &dyn Fn(f64) -> f64) -> f64 {
        mean(self.k_factor.value(), of)
    }
}

impl Gain for Rice {
    fn at(&self, time: f64) -> f64 {
        let ((c, s), (frequency, phase)) = (self.waves.at(time), self.direct);
        let (sine, cosine) = math::sin_cos(frequency * time + phase);
        let (c, s) = (c + self.k.sqrt() * cosine, s + self.k.sqrt() * sine);
        (c * c + s * s) / (1.0 + self.k)
    }
}

/// Returns the mean of a function of the power, by the density of the amplitude: 2 a (1 + K) exp(-K
/// - (1 + K) a^2) I0(2 a sqrt(K (1 + K))).
pub fn mean(k: f64, of: &dyn Fn(f64) -> f64) -> f64 {
    const STEPS: usize = 800;
    // Six deviations of each scattered part on both sides of the direct wave.
    let (direct, deviation) = ((k / (1.0 + k)).sqrt(), (0.5 / (1.0 + k)).sqrt());
    let from = (direct - 6.0 * deviation).max(0.0);
    let step = (direct + 6.0 * deviation - from) / STEPS as f64;
    let (mut sum, mut weights) = (0.0, 0.0);
    for place in 0..STEPS {
        let a = from + step * (place as f64 + 0.5);
        let argument = 2.0 * a * (k * (1.0 + k)).sqrt();
        // The exponent of I0 is factored out, so that neither overflows.
        let weight = a * math::exp(argument - k - (1.0 + k) * a * a) * scaled_i0(argument);
        sum += weight * of(a * a);
        weights += weight;
    }
    sum / weights
}

/// Returns exp(-x) I0(x), by its integral over half a turn, or its asymptotic series.
fn scaled_i0(x: f64) -> f64 {
    if x > 60.0 {
        return (1.0 + 1.0 / (8.0 * x) + 9.0 / (128.0 * x * x)) / (2.0 * PI * x).sqrt();
    }
    const STEPS: usize = 64;
    let term = |place: usize| math::exp(x * (math::cos(PI * (place as f64 + 0.5) / STEPS as f64) - 1.0));
    (0..STEPS).map(term).sum::<f64>() / STEPS as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn processes_have_the_density_used_for_means() {
        for k in [0.0, 4.0, 30.0, 900.0] {
            let config: Config = serde_json::from_value(serde_json::json!({ "k_factor": k })).unwrap();
            let mut stream = Streams::new(6, 0).stream("fading");
            let gains: Vec<f64> = (0..40_000).map(|_| config.build(60.0, &mut stream).at(1.0)).collect();
            assert!((config.mean(&|gain| gain) - 1.0).abs() < 1e-3);
            for level in [0.2, 0.5, 0.9, 1.0, 1.5] {
                let share = gains.iter().filter(|gain| **gain < level).count() as f64 / gains.len() as f64;
                let expected = config.mean(&|gain| f64::from(gain < level));
                assert!((share - expected).abs() < 0.015, "K {k}, {level}: {share} {expected}");
            }
        }
    }
}
