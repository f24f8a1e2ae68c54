//! Random sizes and numbers of applications, from distributions with the means that the scenario
//! gives.

use bentpipe_core::{math, Count, Problems, Size, Span, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distribution of sizes about their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// Constant sizes, all equal to the mean.
    #[default]
    Constant,
    /// Sizes with an exponential distribution around the mean.
    Exponential,
    /// Pareto-distributed sizes: the fraction of sizes above x falls as x to the power of minus
    /// `shape`. The smallest size is the mean times (shape - 1) / shape.
    Pareto,
}

impl Sizes {
    /// Draws a size in bytes, at least 1.
    pub fn draw(self, mean: Size, shape: f64, stream: &mut Stream) -> u64 {
        let mean = mean.bytes() as f64;
        let drawn = match self {
            Sizes::Constant => mean,
            Sizes::Exponential => stream.exponential(mean),
            Sizes::Pareto => mean * (shape - 1.0) / shape * math::powf(1.0 - stream.uniform(), -1.0 / shape),
        };
        drawn.round().max(1.0) as u64
    }

    /// Adds the problems of a mean and a shape.
    pub fn check(self, mean: Size, shape: f64, problems: &mut Problems) {
        if mean.bytes() == 0 {
            problems.add("size", "must be at least 1 B");
        }
        if shape.is_nan() || shape <= 1.0 || shape.is_infinite() {
            problems.add(
                "shape",
                format!("must be greater than 1, as a Pareto distribution of shape {shape} has no mean"),
            );
        }
    }
}

/// Returns the default shape of Pareto distributions: the upper end of the 1.05 to 1.5 that
/// Crovella and Bestavros (1997) and others found for files, where means converge within a run.
pub fn shape() -> f64 {
    1.5
}

/// Draws a span from an exponential distribution: the time between events of a Poisson process.
pub fn gap(mean: Span, stream: &mut Stream) -> Span {
    Span::from_secs_f64(stream.exponential(mean.as_secs_f64()))
}

/// The distribution of maximum entropy with a given mean between two bounds. Its density is
/// proportional to exp(-rate x) within the bounds, which is as even as the mean permits.
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    low: f64,
    width: f64,
    rate: f64,
}

impl Bounded {
    /// Creates the distribution; `None` unless `low` <= `mean` <= `high`. With the mean at a bound,
    /// all values equal the mean.
    pub fn new(low: f64, mean: f64, high: f64) -> Option<Bounded> {
        let width = high - low;
        if low <= high && (mean == low || mean == high) {
            return Some(Bounded { low: mean, width: 0.0, rate: 0.0 });
        }
        if !(low < mean && mean < high) {
            return None;
        }
        // The mean decreases as the rate grows. At rates beyond these it is at a bound.
        let (mut min, mut max) = (-1e6 / width, 1e6 / width);
        for _ in 0..200 {
            let rate = (min + max) / 2.0;
            if mean_above_low(rate, width) > mean - low {
                min = rate;
            } else {
                max = rate;
            }
        }
        Some(Bounded { low, width, rate: (min + max) / 2.0 })
    }

    /// Draws a value within the bounds.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let (uniform, exponent) = (stream.uniform(), self.rate * self.width);
        let part = match exponent {
            // For an even density the inverse below would be 0 / 0.
            _ if exponent.abs() < 1e-9 => uniform,
            // Computed from the end with the greater density, which prevents an overflow.
            _ if exponent > 0.0 => -math::ln_1p(uniform * math::exp_m1(-exponent)) / exponent,
            _ => 1.0 + math::ln_1p(uniform * math::exp_m1(exponent)) / -exponent,
        };
        self.low + self.width * part
    }

    /// Draws a whole number between the bounds, which are whole numbers.
    pub fn draw_whole(&self, stream: &mut Stream) -> u32 {
        let high = self.low + self.width;
        // The interval is wider by a half at each end, so that the bounds are as probable as their
        // neighbours.
        let wider = Bounded { low: self.low - 0.5, width: self.width + 1.0, ..*self };
        wider.draw(stream).round().clamp(self.low, high) as u32
    }

    /// Creates the distribution for whole numbers between the bounds: wider by a half at each end.
    pub fn whole(low: u64, mean: f64, high: u64) -> Option<Bounded> {
        let (low, high) = (low as f64, high as f64);
        if mean == low || mean == high {
            return Bounded::new(low, mean, high);
        }
        if !(low < mean && mean < high) {
            return None;
        }
        let wider = Bounded::new(low - 0.5, mean, high + 0.5)?;
        Some(Bounded { low, width: high - low, ..wider })
    }
}

/// Returns the mean of the distribution, measured from its lower bound.
fn mean_above_low(rate: f64, width: f64) -> f64 {
    let exponent = rate * width;
    if exponent.abs() < 1e-6 {
        return width * (0.5 - exponent / 12.0);
    }
    width * (1.0 / exponent - 1.0 / math::exp_m1(exponent))
}

/// A number of pages, files, objects or messages.
pub type Number = Count<1, 1_000_000>;

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    fn stream() -> Stream {
        Streams::new(3, 0).stream("draws")
    }

    #[test]
    fn bounded_draws_have_their_mean_and_stay_within_bounds() {
        for (low, mean, high) in [(1.0, 4.4, 200.0), (1.0, 55.0, 200.0), (0.0, 0.5, 1.0), (1.0, 190.0, 200.0)]
        {
            let (bounded, mut stream) = (Bounded::new(low, mean, high).unwrap(), stream());
            let n = 200_000;
            let draws: Vec<_> = (0..n).map(|_| bounded.draw(&mut stream)).collect();
            assert!(draws.iter().all(|draw| (low..=high).contains(draw)), "{low} {mean} {high}");
            let found = draws.iter().sum::<f64>() / f64::from(n);
            // No distribution on an interval has a standard deviation above half of it.
            let error = 4.0 * (high - low) / 2.0 / f64::from(n).sqrt();
            assert!((found - mean).abs() < error, "mean {found} of {low} {mean} {high}");
        }
        assert!(Bounded::new(1.0, 0.5, 2.0).is_none() && Bounded::new(1.0, 3.0, 2.0).is_none());
        for (low, mean, high) in [(7.0, 7.0, 7.0), (7.0, 7.0, 30.0), (1.0, 7.0, 7.0)] {
            assert_eq!(Bounded::new(low, mean, high).unwrap().draw(&mut stream()), 7.0);
            assert_eq!(Bounded::whole(low as u64, mean, high as u64).unwrap().draw_whole(&mut stream()), 7);
        }
    }

    #[test]
    fn whole_draws_reach_both_bounds_and_have_their_mean() {
        let (bounded, mut stream) = (Bounded::whole(1, 8.0, 30).unwrap(), stream());
        let draws: Vec<_> = (0..200_000).map(|_| bounded.draw_whole(&mut stream)).collect();
        assert_eq!((draws.iter().min(), draws.iter().max()), (Some(&1), Some(&30)));
        let mean = draws.iter().map(|draw| f64::from(*draw)).sum::<f64>() / draws.len() as f64;
        assert!((mean - 8.0).abs() < 0.07, "{mean}");
    }

    #[test]
    fn pareto_sizes_have_their_mean_and_their_tail() {
        let (mut stream, mean, shape) = (stream(), Size::from_bytes(300_000), 3.0);
        let draws: Vec<_> = (0..200_000).map(|_| Sizes::Pareto.draw(mean, shape, &mut stream)).collect();
        let found = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        assert!((found / 3e5 - 1.0).abs() < 0.01, "{found}");
        assert_eq!(draws.iter().min(), Some(&200_000));
        // Twice the smallest size is exceeded with probability 2^-3.
        let part = draws.iter().filter(|size| **size > 400_000).count() as f64 / draws.len() as f64;
        assert!((part - 0.125).abs() < 0.003, "{part}");
    }
}
