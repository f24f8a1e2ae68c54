//! The time sliding window rate estimator (RFC 2859, section 3, figure 2): an average in which the
//! weight of earlier packets decreases over a window.

use bentpipe_core::{Problems, Rate, Span, Time};

/// Estimates the rate of a stream of packets.
#[derive(Clone, Debug)]
pub struct Estimator {
    /// AVG_INTERVAL of RFC 2859, in seconds.
    window: f64,
    /// avg-rate of RFC 2859, in bytes per second.
    rate: f64,
    /// t-front of RFC 2859.
    front: Time,
}

impl Estimator {
    /// Creates an estimator that starts with the committed rate.
    pub fn new(window: Span, initial: Rate) -> Estimator {
        Estimator { window: window.as_secs_f64(), rate: bytes_per_second(initial), front: Time::ZERO }
    }

    /// Handles an arriving packet and returns the new estimate in bytes per second.
    #[inline]
    pub fn update(&mut self, now: Time, size: u32) -> f64 {
        let bytes = self.rate * self.window + f64::from(size);
        self.rate = bytes / (now.since(self.front).as_secs_f64() + self.window);
        self.front = now;
        self.rate
    }
}

/// Returns the default window of one second, as in Clark and Fang (1998). RFC 2859 gives no value.
pub(super) fn window() -> Span {
    Span::from_secs(1)
}

/// Adds a problem if the window is zero.
pub(super) fn check(window: Span, problems: &mut Problems) {
    if window == Span::ZERO {
        problems.add("window", "must be longer than 0 s");
    }
}

/// Converts a rate to bytes per second.
pub(super) fn bytes_per_second(rate: Rate) -> f64 {
    rate.bits_per_second() as f64 / 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_figure_2() {
        let mut estimator = Estimator::new(Span::from_secs(1), Rate::from_bits_per_second(8000));
        // 1000 B/s over 1 s and a packet of 500 B give 1500 B in 1.5 s.
        assert_eq!(estimator.update(Time::from_nanos(500_000_000), 500), 1000.0);
        assert_eq!(estimator.update(Time::from_nanos(500_000_000), 1000), 2000.0);
        assert_eq!(estimator.update(Time::from_nanos(3_500_000_000), 2000), 1000.0);
    }
}
