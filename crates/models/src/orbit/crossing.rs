//! When a quantity that follows from moving bodies changes its sign: the moments at which a satellite rises and sets,
//! overtakes another in elevation, or a link comes out of its limits.
//!
//! A root is bracketed without sampling: with each value comes a time for which the sign surely stays, from the fastest that the
//! bodies can move. The search goes on by that time, however long it is, and by [`SHORTEST`] where it is shorter. A sign
//! that changes and changes back within [`SHORTEST`] may be passed over; nothing longer is. The root in the
//! bracket is then found by regula falsi in the form of Illinois (Dowell and Jarratt 1971) to [`EXACT`].

/// Steps are not shorter, in seconds.
pub const SHORTEST: f64 = 1e-3;
/// Roots are as exact, in seconds.
pub const EXACT: f64 = 1e-7;

/// A value, and for how many seconds from its moment on its sign surely stays as it is.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The value.
    pub value: f64,
    /// Seconds.
    pub safe: f64,
}

/// What a search up to some moment found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// The sign changes here: at the first moment, to [`EXACT`], at which it is the new one.
    At(f64),
    /// It does not change before this moment, which is not earlier than the one to which it was searched.
    NotBefore(f64),
}

/// The first change of sign (zero counts as positive) of `bound` after `from`, sought up to `to`.
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

/// The end, at which the sign is the new one, of a bracket that is [`EXACT`] short.
fn root(mut a: f64, mut at_a: f64, mut b: f64, mut at_b: f64, mut value: impl FnMut(f64) -> f64) -> f64 {
    let positive = at_a >= 0.0;
    let mut side = 0;
    for round in 0.. {
        if b - a <= EXACT || round == 100 {
            break;
        }
        let secant = a + (b - a) * at_a / (at_a - at_b);
        // A bisection now and then bounds the number of rounds; the margin lets both ends come close.
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

    #[test]
    fn finds_every_root_of_a_sine_and_says_how_far_there_is_none() {
        // |sin'| <= 1, so the sign stays for |sin|.
        let sine = |t: f64| Bound { value: (t - 0.3).sin(), safe: (t - 0.3).sin().abs() };
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
        // Below zero by 1e-9 at its highest, at t = 5.
        let touch =
            |t: f64| Bound { value: -1e-9 - (t - 5.0) * (t - 5.0), safe: ((t - 5.0).abs() / 10.0).min(1.0) };
        assert!(matches!(next(0.0, 10.0, touch), Found::NotBefore(_)));
    }
}
