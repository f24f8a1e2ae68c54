//! The times at which a quantity of moving bodies changes sign: a satellite rises, sets, or
//! overtakes another in elevation, or a link leaves its limits.
//!
//! A root is bracketed without sampling: each value comes with a time for which its sign certainly
//! holds, derived from the maximum speeds of the bodies. The search advances by that time, or by
//! [`SHORTEST`] if that is longer. Only a sign that changes and changes back within [`SHORTEST`]
//! can be missed. The root in the bracket is then found by regula falsi in the Illinois form
//! (Dowell and Jarratt 1971) to [`EXACT`].

/// Minimum step of the search, in seconds.
pub const SHORTEST: f64 = 1e-3;
/// Accuracy of roots, in seconds.
pub const EXACT: f64 = 1e-7;

/// A value, and the time for which its sign certainly holds.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Value of the function at the requested time.
    pub value: f64,
    /// Time in seconds for which the sign holds.
    pub safe: f64,
}

/// The result of a search up to some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// The time of the sign change: the first, to [`EXACT`], with the new sign.
    At(f64),
    /// A time before which the sign does not change, at or after the end of the search.
    NotBefore(f64),
}

/// Finds the first sign change (zero counts as positive) of `bound` after `from`, up to `to`.
pub fn next(from: f64, to: f64, mut bound: impl FnMut(f64) -> Bound) -> Found {
    let mut at = from;
    let mut here = bound(from);
    let positive = here.value >= 0.0;
    while at < to {
        let step = here.safe.max(SHORTEST);
        let ahead = at + step;
        if ahead > to && here.safe >= to - at {
            return Found::NotBefore(ahead);
        }
        let there = bound(ahead);
        if (there.value >= 0.0) != positive {
            return Found::At(root(at, here.value, ahead, there.value, |t| bound(t).value));
        }
        (at, here) = (ahead, there);
    }
    Found::NotBefore(at)
}

/// Returns the end of a bracket no longer than [`EXACT`] at which the sign is the new one.
fn root(mut a: f64, mut at_a: f64, mut b: f64, mut at_b: f64, mut value: impl FnMut(f64) -> f64) -> f64 {
    let positive = at_a >= 0.0;
    let mut side = 0;
    for round in 0.. {
        if b - a <= EXACT || round == 100 {
            break;
        }
        let secant = a + (b - a) * at_a / (at_a - at_b);
        // An occasional bisection bounds the number of iterations. The margin lets both ends
        // converge.
        let margin = 0.25 * EXACT;
        let middle = if round % 4 == 3 || !secant.is_finite() { 0.5 * (a + b) } else { secant };
        let middle = middle.clamp(a + margin, b - margin);
        let at_middle = value(middle);
        if (at_middle >= 0.0) == positive {
            (a, at_a) = (middle, at_middle);
            if side == 1 {
                at_b *= 0.5;
            }
            side = 1;
        } else {
            (b, at_b) = (middle, at_middle);
            if side == 2 {
                at_a *= 0.5;
            }
            side = 2;
        }
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::math;

    #[test]
    fn finds_every_root_of_a_sine_and_says_how_far_there_is_none() {
        // |sin'| <= 1, so the sign stays for |sin|.
        let sine = |t: f64| Bound { value: math::sin(t - 0.3), safe: math::sin(t - 0.3).abs() };
        let mut at = 0.0;
        for number in 0..10 {
            let Found::At(root) = next(at, 100.0, sine) else { panic!("there is a root") };
            let exact = 0.3 + f64::from(number) * std::f64::consts::PI;
            assert!(root >= exact && root - exact < 2.0 * EXACT, "{root} {exact}");
            at = root;
        }
        let Found::NotBefore(until) = next(0.31, 2.0, sine) else { panic!("there is no root") };
        assert!((2.0..0.3 + std::f64::consts::PI).contains(&until));
    }

    #[test]
    fn a_touch_that_is_no_crossing_is_none() {
        // The maximum is -1e-9, at t = 5.
        let touch =
            |t: f64| Bound { value: -1e-9 - (t - 5.0) * (t - 5.0), safe: ((t - 5.0).abs() / 10.0).min(1.0) };
        assert!(matches!(next(0.0, 10.0, touch), Found::NotBefore(_)));
    }
}
