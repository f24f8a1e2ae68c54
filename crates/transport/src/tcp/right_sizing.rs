//! A receive window that grows with the arriving data (Fisk and Feng, "Dynamic Right-Sizing in
//! TCP", 2001). After each round trip it is at least twice the number of bytes that arrived during
//! the round trip, up to the size of the buffer. It therefore does not limit a sender that doubles
//! its window.
//!
//! Linux's auto-tuning is based on this algorithm, and the profiles of Linux use Linux's rule.
//! There the result is a limit. Up to the limit the window grows by two segments for each arriving
//! segment, which is acknowledged at once. With C, the bytes that arrived in a round trip, and P,
//! the maximum of earlier round trips (initially ten segments), the limit is
//!
//! ```text
//! W + 2 W (C - P) / P     for C > P, with W = 2 C (6.18) or 2 C + 16 segments (6.12 and before)
//! ```
//!
//! and never decreases. Initially it is 5/4 of the window at the start (81 kB of window for 128 KiB
//! of memory). Source: limits and bytes per round trip (tcpi_rcv_space) of Linux 6.12 in virtual
//! time and 6.18 in real time (docs/notes/linux-tcp.md).
//!
//! The receiver's round-trip time is measured by echoed timestamps and smoothed with weight 1/8.
//! Without timestamps it is that of the handshake.

use super::config::{Config, Profile};
use bentpipe_core::{Span, Time};

/// Initial value of the maximum of a round trip, in segments.
const INITIAL_SEGMENTS: u64 = 10;

/// Number of segments that Linux before 6.16 adds to the data of a round trip.
const ADDED_SEGMENTS: u64 = 16;

/// The growth state of one window.
#[derive(Debug)]
pub(super) struct RightSizing {
    /// Maximum size of the window in bytes.
    max: u64,
    /// State of Linux's rule; `None` for the original algorithm.
    linux: Option<Linux>,
    rtt: Span,
    /// Position and time of the start of the present round trip.
    from: u64,
    started: Time,
}

#[derive(Debug)]
struct Linux {
    limit: u64,
    largest: u64,
    /// Number of bytes added to the data of a round trip.
    added: u64,
}

impl RightSizing {
    /// Creates the state of a window of `start` bytes that may grow to `max`.
    pub fn new(config: &Config, start: u64, max: u64) -> RightSizing {
        let segment = config.segment_size.value();
        let linux = config.profile.is_linux().then_some(Linux {
            limit: (start / 4 * 5).min(max),
            largest: INITIAL_SEGMENTS * segment,
            added: if config.profile == Profile::Linux { 0 } else { ADDED_SEGMENTS * segment },
        });
        RightSizing { max, linux, rtt: Span::ZERO, from: 1, started: Time::ZERO }
    }

    /// Limits the window of a connection without window scaling.
    pub fn limit(&mut self, max: u64) {
        self.max = max;
        if let Some(linux) = &mut self.linux {
            linux.limit = linux.limit.min(max);
        }
    }

    /// Returns true if an arriving segment lets a window of this size grow.
    #[inline]
    pub fn grows(&self, window: u64) -> bool {
        self.linux.as_ref().is_some_and(|linux| window < linux.limit)
    }

    /// Returns the limit up to which arriving segments let the window grow now.
    pub fn current_limit(&self) -> u64 {
        self.linux.as_ref().map_or(self.max, |linux| linux.limit)
    }

    /// Returns the window after a segment by which it grows.
    #[inline]
    pub fn grown(&self, window: u64, payload: u64) -> u64 {
        self.linux.as_ref().map_or(window, |linux| (window + 2 * payload).min(linux.limit))
    }

    /// Handles the arrival of all data up to `next`. Returns the new window; `window` is the old
    /// one.
    pub fn arrived(&mut self, now: Time, next: u64, rtt: Option<Span>, window: u64) -> u64 {
        if let Some(rtt) = rtt {
            self.rtt = if self.rtt == Span::ZERO { rtt } else { self.rtt - self.rtt / 8 + rtt / 8 };
        }
        if self.rtt == Span::ZERO || now.since(self.started) < self.rtt {
            return window;
        }
        let arrived = next - self.from;
        (self.from, self.started) = (next, now);
        let Some(linux) = &mut self.linux else {
            return window.max((2 * arrived).min(self.max));
        };
        if arrived > linux.largest {
            let twice = u128::from(2 * arrived + linux.added);
            let growth = 2 * twice * u128::from(arrived - linux.largest) / u128::from(linux.largest);
            let limit = u64::try_from(twice + growth).unwrap_or(u64::MAX).min(self.max);
            linux.limit = linux.limit.max(limit);
            linux.largest = arrived;
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_twice_the_data_of_a_round_trip_and_never_shrinks() {
        let mut sizing = RightSizing::new(&Profile::Classic.config(), 4000, 50_000);
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

    /// Bytes of a round trip and the window after it, for windows that reached their limit: Linux
    /// 6.12 in virtual time over 4 Mbit/s with 250 and 20 ms each way, and 6.18 in real time with
    /// 250 ms.
    #[test]
    fn the_limit_equals_that_of_linux() {
        const UNSEEN: u64 = 0;
        let cases: [(Profile, &[(u64, u64)]); 3] = [
            (Profile::Linux612, &[(16_060, 81_486), (29_200, UNSEEN), (58_400, 419_021), (118_260, 791_175)]),
            (
                Profile::Linux612,
                &[(27_740, 193_515), (39_420, 193_515), (40_880, 193_515), (108_040, 1_026_169)],
            ),
            (Profile::Linux, &[(16_060, 81_486), (29_200, 152_503), (58_400, 348_941), (116_800, 699_341)]),
        ];
        for (profile, rounds) in cases {
            let mut sizing = RightSizing::new(&profile.config(), 64 << 10, 16 << 20);
            let (mut now, mut next) = (Time::ZERO + Span::from_secs(1), 1);
            if rounds[0].0 > 16_060 {
                next += 16_060;
                sizing.arrived(now, next, Some(Span::from_millis(500)), 70_000);
                now += Span::from_millis(500);
            }
            for &(bytes, limit) in rounds {
                next += bytes;
                assert_eq!(sizing.arrived(now, next, Some(Span::from_millis(500)), 70_000), 70_000);
                let mut window = 70_000;
                while sizing.grows(window) {
                    window = sizing.grown(window, 1460);
                }
                let seen = limit != UNSEEN;
                assert!(
                    !seen || window.abs_diff(limit) <= 2190,
                    "{profile:?} {bytes}: {window}, not {limit}"
                );
                now += Span::from_millis(500);
            }
        }
    }
}
