//! The sum of scattered waves: a complex Gaussian process with the autocorrelation J0(w t) of
//! Clarke's model.
//!
//! ```text
//! c(t) = sqrt(2 / M) sum over n of cos(psi_n) cos(w t cos a_n + phi_n)
//! s(t) = sqrt(2 / M) sum over n of sin(psi_n) cos(w t cos a_n + phi_n)
//! a_n  = (2 pi n - pi + theta) / (4 M)
//! ```
//!
//! with theta and all phi_n and psi_n uniform from -pi to pi. c and s have the variance 1/2 each.
//! Source: Y. R. Zheng and C. Xiao, "Simulation models with correct statistical properties for
//! Rayleigh fading channels", IEEE Transactions on Communications 51(6), 2003, equations 6 and 7
//! (there with twice the power). Deviations: each wave has its own phase, where the paper has one
//! for all, which would put all waves in phase at time 0. The mean over time of one process differs
//! slightly from the mean over many processes, because the number of waves is small.

use bentpipe_core::{math, Stream};
use std::f64::consts::PI;

/// Number of waves (M); the paper finds 8 sufficient.
const WAVES: usize = 16;

/// Waves that arrive from all directions.
pub struct Waves {
    /// Angular frequency, phase and the two amplitudes of each wave.
    waves: [(f64, f64, f64, f64); WAVES],
}

impl Waves {
    /// Draws the waves for a maximum Doppler shift in radians per second.
    pub fn new(doppler: f64, stream: &mut Stream) -> Waves {
        let mut angle = || PI * (2.0 * stream.uniform() - 1.0);
        let theta = angle();
        let waves = std::array::from_fn(|place| {
            let (sine, cosine) = math::sin_cos(angle());
            let arrives = (2.0 * PI * (place + 1) as f64 - PI + theta) / (4.0 * WAVES as f64);
            let amplitude = (2.0 / WAVES as f64).sqrt();
            (doppler * math::cos(arrives), angle(), amplitude * cosine, amplitude * sine)
        });
        Waves { waves }
    }

    /// Returns both parts at a time in seconds.
    pub fn at(&self, time: f64) -> (f64, f64) {
        self.waves.iter().fold((0.0, 0.0), |(c, s), (frequency, phase, cosine, sine)| {
            let wave = math::cos(frequency * time + phase);
            (c + cosine * wave, s + sine * wave)
        })
    }
}
