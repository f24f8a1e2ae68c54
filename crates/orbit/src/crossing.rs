//! The times at which a quantity of moving bodies changes sign: a satellite rises, sets, or
//! overtakes another in elevation, or a link leaves its limits.
//!
//! A root is bracketed without sampling: each value comes with a time for which its sign cannot
//! change, derived from the maximum speeds of the bodies. The search advances by this time, or by
//! [`MIN_STEP`] if that is longer. Only a sign that changes and changes back within [`MIN_STEP`]
//! can be missed. The root in the bracket is then found to [`TOLERANCE`] by the Illinois form of
//! regula falsi (Dowell and Jarratt 1971).

/// Minimum step of the search, in seconds.
pub const MIN_STEP: f64 = 1e-3;
/// Accuracy of roots, in seconds.
pub const TOLERANCE: f64 = 1e-7;

/// A value, and a time for which its sign cannot change.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Value of the function at the requested time.
    pub value: f64,
    /// Time in seconds for which the sign cannot change.
    pub holds_for: f64,
}

/// The result of a search for a sign change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SignChange {
    /// The time of the first sign change, with the new sign, to [`TOLERANCE`].
    At(f64),
    /// There is no sign change before this time, which is at or after the end of the search.
    NotBefore(f64),
}

/// Finds the first sign change (zero counts as positive) of `bound` after `from`, up to `to`.
pub fn next_crossing(from: f64, to: f64, mut bound: impl FnMut(f64) -> Bound) -> SignChange {
    let mut at = from;
    let mut current = bound(from);
    let positive = current.value >= 0.0;
    while at < to {
        let step = current.holds_for.max(MIN_STEP);
        let ahead = at + step;
        if ahead > to && current.holds_for >= to - at {
            return SignChange::NotBefore(ahead);
        }
        let next = bound(ahead);
        if (next.value >= 0.0) != positive {
            return SignChange::At(root(at, current.value, ahead, next.value, |t| bound(t).value));
        }
        (at, current) = (ahead, next);
    }
    SignChange::NotBefore(at)
}

/// Returns the later end of a bracket no longer than [`TOLERANCE`], at which the value has its new
/// sign.
fn root(mut a: f64, mut at_a: f64, mut b: f64, mut at_b: f64, mut value: impl FnMut(f64) -> f64) -> f64 {
    let positive = at_a >= 0.0;
    let mut side = 0;
    for round in 0.. {
        if b - a <= TOLERANCE || round == 100 {
            break;
        }
        let secant = a + (b - a) * at_a / (at_a - at_b);
        // A bisection in every fourth round limits the number of iterations. The margin lets both
        // ends converge.
        let margin = 0.25 * TOLERANCE;
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
    fn finds_every_root_of_a_sine_and_intervals_without_roots() {
        // |sin'| <= 1, so the sign cannot change for a time of |sin|.
        let sine = |t: f64| Bound { value: math::sin(t - 0.3), holds_for: math::sin(t - 0.3).abs() };
        let mut at = 0.0;
        for number in 0..10 {
            let SignChange::At(root) = next_crossing(at, 100.0, sine) else { panic!("there is a root") };
            let exact = 0.3 + f64::from(number) * std::f64::consts::PI;
            assert!(root >= exact && root - exact < 2.0 * TOLERANCE, "{root} {exact}");
            at = root;
        }
        let SignChange::NotBefore(until) = next_crossing(0.31, 2.0, sine) else { panic!("there is no root") };
        assert!((2.0..0.3 + std::f64::consts::PI).contains(&until));
    }

    #[test]
    fn extremum_below_zero_is_not_a_crossing() {
        // The maximum is -1e-9, at t = 5.
        let touch = |t: f64| Bound {
            value: -1e-9 - (t - 5.0) * (t - 5.0),
            holds_for: ((t - 5.0).abs() / 10.0).min(1.0),
        };
        assert!(matches!(next_crossing(0.0, 10.0, touch), SignChange::NotBefore(_)));
    }
}
