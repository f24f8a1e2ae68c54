//! A receive window that grows with what arrives (Fisk and Feng, "Dynamic Right-Sizing in TCP", 2001, on
//! which Linux' auto-tuning is based): after each round trip it is at least twice the bytes that arrived in
//! it, so that a sender that doubles its window is not held up, limited to the size of the buffer.
//!
//! The receiver's round-trip time is that of the timestamps echoed to it, smoothed by eighths; without
//! timestamps, that of the handshake.

use bentpipe_core::{Span, Time};

/// The growth of one window.
#[derive(Debug)]
pub(super) struct RightSizing {
    /// Limit of the window in bytes.
    most: u64,
    rtt: Span,
    /// Position and time of the start of the present round trip.
    from: u64,
    since: Time,
}

impl RightSizing {
    pub fn new(most: u64) -> RightSizing {
        RightSizing { most, rtt: Span::ZERO, from: 1, since: Time::ZERO }
    }

    /// Handles the arrival of everything up to `next`. Returns the new window; it was `window`.
    pub fn arrived(&mut self, now: Time, next: u64, rtt: Option<Span>, window: u64) -> u64 {
        if let Some(rtt) = rtt {
            self.rtt = if self.rtt == Span::ZERO { rtt } else { self.rtt - self.rtt / 8 + rtt / 8 };
        }
        if self.rtt == Span::ZERO || now.since(self.since) < self.rtt {
            return window;
        }
        let arrived = next - self.from;
        (self.from, self.since) = (next, now);
        window.max((2 * arrived).min(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_twice_what_arrives_in_a_round_trip_and_does_not_shrink() {
        let mut sizing = RightSizing::new(50_000);
        let (mut now, mut next, mut window) = (Time::ZERO + Span::from_secs(1), 1, 4000);
        let mut seen = Vec::new();
        for _ in 0..7 {
            // The sender fills the window.
            let flight = window;
            next += flight;
            window = sizing.arrived(now, next, Some(Span::from_millis(100)), window);
            seen.push(window);
            now += Span::from_millis(100);
        }
        assert_eq!(seen, [8000, 16_000, 32_000, 50_000, 50_000, 50_000, 50_000]);
        assert_eq!(sizing.arrived(now, next + 10, None, window), 50_000);
    }
}
