//! Times and spans of a run: integer nanoseconds, as two different types.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

const NANOSECONDS: u64 = 1_000_000_000;

/// A time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in nanoseconds, which is never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// The latest time (584 years), later than any run reaches.
    pub const MAX: Time = Time(u64::MAX);

    /// Creates the time `nanoseconds` after the start.
    #[inline]
    pub const fn from_nanos(nanoseconds: u64) -> Time {
        Time(nanoseconds)
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start, for results only: models compute in integers.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOSECONDS as f64
    }

    /// Returns the span from `earlier` to this time; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of zero length.
    pub const ZERO: Span = Span(0);
    /// The longest span (584 years), longer than any run.
    pub const MAX: Span = Span(u64::MAX);

    /// Creates a span of `nanoseconds`.
    #[inline]
    pub const fn from_nanos(nanoseconds: u64) -> Span {
        Span(nanoseconds)
    }

    /// Creates a span of `microseconds`.
    #[inline]
    pub const fn from_micros(microseconds: u64) -> Span {
        Span(microseconds * 1_000)
    }

    /// Creates a span of `milliseconds`.
    #[inline]
    pub const fn from_millis(milliseconds: u64) -> Span {
        Span(milliseconds * 1_000_000)
    }

    /// Creates a span of `seconds`.
    #[inline]
    pub const fn from_secs(seconds: u64) -> Span {
        Span(seconds * NANOSECONDS)
    }

    /// Creates a span of `seconds`, rounded to the nanosecond. Negative values and NaN become zero;
    /// too long a span becomes [`Span::MAX`].
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Span {
        Span((seconds * NANOSECONDS as f64).round() as u64)
    }

    /// Returns the span in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the whole microseconds, rounded down.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the seconds, for results only: models compute in integers.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOSECONDS as f64
    }

    /// Returns the amount by which this span exceeds `other`, or zero.
    #[inline]
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    /// Panics in builds with overflow checks if the result would be before the start of the run.
    #[inline]
    fn sub(self, span: Span) -> Time {
        Time(self.0 - span.0)
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    #[inline]
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl Div for Span {
    type Output = u64;
    /// Returns how many times `other` fits into this span, rounded down.
    #[inline]
    fn div(self, other: Span) -> u64 {
        self.0 / other.0
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}
