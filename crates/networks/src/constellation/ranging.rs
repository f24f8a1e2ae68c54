//! The propagation time of light over a path whose length changes smoothly.
//!
//! A position needs four sines, and a hop needs two positions. Over two seconds, a polynomial of
//! degree four approximates the length to far less than a nanosecond. It is interpolated at the
//! five Chebyshev nodes. For the range of a satellite at 550 km, whose nearest complex singularity
//! is 73 s away, the error is at most 2 M rho^-5 = 1e-4 ns, with rho = 2 * 73 s / 1.07 s and M = 2
//! ms. Results equal those of the exact positions, to the nanosecond: the polynomial is used only
//! if two further points confirm it, and only if its value is not close to the boundary between two
//! nanoseconds.

use bentpipe_core::{math, Span, Time};
use bentpipe_orbit::earth::SPEED_OF_LIGHT;

/// Returns the time that light needs for a distance in metres.
#[inline]
pub fn light_time(metres: f64) -> Span {
    Span::from_secs_f64(metres / SPEED_OF_LIGHT)
}

/// Converts a time to seconds since the start.
#[inline]
pub fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 * 1e-9
}

/// Number of nodes of an interpolating polynomial.
const NODES: usize = 5;
/// Binary logarithm of the length of an interval in nanoseconds. An interval is 2.1 s long.
const INTERVAL_BITS: u32 = 31;
/// Maximum error in ns at the points where a polynomial is tested.
const TEST_TOLERANCE: f64 = 1e-4;
/// Distance in ns from the boundary between two nanoseconds within which the exact length is used.
const ROUNDING_MARGIN: f64 = 1e-3;

/// The light time between two ends, with an approximation for the present interval.
pub struct Ranging {
    /// The present interval in the upper 32 bits, and the number of the pair of ends in the lower
    /// bits.
    interval: u64,
    polynomial: Polynomial,
}

/// The light time in ns over [-1, 1]. The coefficients of the two highest powers are at most a few
/// nanoseconds.
#[derive(Clone, Copy)]
struct Polynomial {
    /// The coefficients of the three lowest powers, lowest first; NaN if the length is not smooth
    /// enough.
    low: [f64; 3],
    /// The coefficients of the two highest powers, lower first.
    high: [f32; 2],
}

impl Polynomial {
    const NONE: Polynomial = Polynomial { low: [f64::NAN; 3], high: [f32::NAN; 2] };

    #[inline]
    fn value(&self, x: f64) -> f64 {
        let ([a, b, c], [d, e]) = (self.low, self.high.map(f64::from));
        (((e * x + d) * x + c) * x + b) * x + a
    }
}

impl Default for Ranging {
    fn default() -> Ranging {
        Ranging { interval: u64::MAX, polynomial: Polynomial::NONE }
    }
}

impl Ranging {
    /// Returns the light time at `at` for a path of `metres(t)`, with t in seconds. `ends` is the
    /// number of the pair of ends.
    #[inline]
    pub fn light_time(&mut self, at: Time, ends: u32, metres: impl Fn(f64) -> f64) -> Span {
        let number = at.as_nanos() >> INTERVAL_BITS;
        let interval = number << 32 | u64::from(ends);
        if self.interval != interval {
            self.interval = interval;
            self.polynomial = interpolate(number, &metres).unwrap_or(Polynomial::NONE);
        }
        let within = at.as_nanos() & ((1 << INTERVAL_BITS) - 1);
        let nanos = self.polynomial.value(within as f64 * (2.0 / (1u64 << INTERVAL_BITS) as f64) - 1.0);
        let whole = nanos as u64;
        if (nanos - whole as f64 - 0.5).abs() > ROUNDING_MARGIN {
            return Span::from_nanos((nanos + 0.5) as u64);
        }
        light_time(metres(seconds(at)))
    }
}

/// Interpolates the light time over an interval.
#[cold]
fn interpolate(interval: u64, metres: &impl Fn(f64) -> f64) -> Option<Polynomial> {
    let half = (1u64 << (INTERVAL_BITS - 1)) as f64 * 1e-9;
    let middle = (2 * interval + 1) as f64 * half;
    let exact = |x: f64| metres(middle + half * x) / SPEED_OF_LIGHT * 1e9;
    // f = sum c_j T_j with c_j = 2/n sum f(x_k) T_j(x_k), and half of this for j = 0.
    let mut series = [0.0; NODES];
    for node in 0..NODES {
        let angle = (2 * node + 1) as f64 * std::f64::consts::PI / (2 * NODES) as f64;
        let at_node = exact(math::cos(angle));
        for (order, coefficient) in series.iter_mut().enumerate() {
            *coefficient += at_node * math::cos(angle * order as f64) * 2.0 / NODES as f64;
        }
    }
    let [c0, c1, c2, c3, c4] = series;
    let low = [c0 / 2.0 - c2 + c4, c1 - 3.0 * c3, 2.0 * c2 - 8.0 * c4];
    let polynomial = Polynomial { low, high: [4.0 * c3, 8.0 * c4].map(|coefficient| coefficient as f32) };
    // The error is largest near the points where T_5 is 1 or -1: at the ends and at cos(k pi / 5).
    let is_accurate = |x: f64| (polynomial.value(x) - exact(x)).abs() < TEST_TOLERANCE;
    (is_accurate(0.809) && is_accurate(-0.309)).then_some(polynomial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_orbit::circular::Circular;
    use bentpipe_orbit::vector::{length, minus};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn interpolation_matches_exact_positions_to_the_nanosecond(
            node in 0.0f64..6.3, other in 0.0f64..6.3, phase in 0.0f64..6.3, start in 0u64..2_000_000_000_000,
            step in 1u64..50_000_000,
        ) {
            let one = Circular::new(6_921_000.0, 0.925, node, 0.0);
            let other = Circular::new(6_921_000.0, 0.925, other, phase);
            let metres = |t: f64| length(&minus(&one.position(t), &other.position(t)));
            let mut ranging = Ranging::default();
            for count in 0..2000 {
                let at = Time::from_nanos(start + count * step);
                let exact = light_time(metres(seconds(at)));
                prop_assert_eq!(ranging.light_time(at, 0, metres), exact);
            }
        }
    }

    #[test]
    fn paths_that_are_not_smooth_use_exact_positions() {
        let mut ranging = Ranging::default();
        let metres = |t: f64| 1e6 + 1e5 * math::sin(40.0 * t);
        for at in (0..4_000_000_000).step_by(1_234_567).map(Time::from_nanos) {
            assert_eq!(ranging.light_time(at, 0, metres), light_time(metres(seconds(at))));
        }
        assert!(ranging.polynomial.low[0].is_nan());
    }

    #[test]
    fn change_of_ends_is_interpolated_again() {
        let mut ranging = Ranging::default();
        let at = Time::from_nanos(5_000_000_000);
        assert_eq!(ranging.light_time(at, 1, |_| 299_792_458.0), Span::from_secs(1));
        assert_eq!(ranging.light_time(at, 2, |_| 2.0 * 299_792_458.0), Span::from_secs(2));
        assert!(ranging.polynomial.low[0].is_finite());
    }
}
