//! Named random streams. The draws of a stage depend only on the seed, the run number and the
//! stage's name, so adding a stage to a scenario does not change the draws of other stages.

use crate::math;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;

/// The source of all streams of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
    run: u64,
}

/// A stage's own sequence of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Streams {
    /// Creates the streams for replication number `run` under `seed`.
    pub const fn new(seed: u64, run: u64) -> Streams {
        Streams { seed, run }
    }

    /// Returns the stream that belongs to `name`. Equal arguments give equal streams on every
    /// machine.
    pub fn stream(&self, name: &str) -> Stream {
        let mut state = [0u8; 32];
        for (half, chunk) in state.chunks_mut(16).enumerate() {
            let mut hasher = SipHasher24::new_with_keys(self.seed, self.run);
            hasher.write_u8(half as u8);
            hasher.write(name.as_bytes());
            chunk.copy_from_slice(&hasher.finish128().as_bytes());
        }
        Stream(Xoshiro256PlusPlus::from_seed(state))
    }
}

impl Stream {
    /// Draws uniformly from [0, 1), with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns true with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Draws from an exponential distribution with the given mean, in the mean's unit.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.uniform())
    }

    /// Draws from the standard normal distribution (G. E. P. Box and M. E. Muller, 1958).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        self.exponential(2.0).sqrt() * math::cos(std::f64::consts::TAU * self.uniform())
    }

    /// Returns a stream of its own for a part of the stage, so that the part's draws do not depend
    /// on how often the stage draws.
    pub fn fork(&mut self) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(self.bits()))
    }

    /// Draws 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// A stationary Gauss-Markov process with mean 0 and standard deviation 1. Its autocorrelation
/// falls to 1/e over one unit of distance, which may be a time or a length.
#[derive(Clone, Debug, Default)]
pub struct GaussMarkov(Option<f64>);

impl GaussMarkov {
    /// Moves by a distance of at least 0, and returns the value there. The first value is drawn
    /// independently of the distance. Each move is one exact step of the first-order
    /// autoregression.
    #[inline]
    pub fn advance(&mut self, by: f64, stream: &mut Stream) -> f64 {
        let value = match self.0 {
            None => stream.normal(),
            Some(value) if by <= 0.0 => value,
            Some(value) => {
                let kept = math::exp(-by);
                kept * value + (1.0 - kept * kept).sqrt() * stream.normal()
            }
        };
        self.0 = Some(value);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_only_on_seed_run_and_name() {
        let draws = |seed, run, name: &str| {
            let mut stream = Streams::new(seed, run).stream(name);
            (0..4).map(|_| stream.bits()).collect::<Vec<_>>()
        };
        assert_eq!(draws(1, 2, "link"), draws(1, 2, "link"));
        assert_ne!(draws(1, 2, "link"), draws(1, 2, "link2"));
        assert_ne!(draws(1, 2, "link"), draws(1, 3, "link"));
        assert_ne!(draws(1, 2, "link"), draws(2, 2, "link"));
    }

    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let mut stream = Streams::new(7, 0).stream("moments");
        let n = 200_000;
        let mean = (0..n).map(|_| stream.exponential(3.0)).sum::<f64>() / n as f64;
        // The standard error of the mean is 3/sqrt(n) = 0.0067.
        assert!((mean - 3.0).abs() < 0.03, "exponential mean {mean}");
        let hits = (0..n).filter(|_| stream.chance(0.1)).count() as f64 / n as f64;
        assert!((hits - 0.1).abs() < 0.004, "chance {hits}");
    }
}
