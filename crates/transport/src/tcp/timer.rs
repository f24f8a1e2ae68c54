//! A timer that is cheap to restart. The retransmission timer restarts with each acknowledgment.
//! Moving an entry of the event queue at each restart would be expensive. Instead, the wake at the
//! old deadline remains, and at that wake the timer requests another wake at the new deadline. Only
//! then does the clock compute the actual expiry, which takes a division.

use crate::sending::clock::Clock;
use bentpipe_core::{Span, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    clock: Clock,
    /// Start of the timer; `Time::MAX` if it is stopped. `wait` follows, or is zero for a timer
    /// that expires exactly at `started`.
    started: Time,
    wait: Span,
    /// Time of the requested wake; never later than the end of the wait.
    wake: Time,
}

impl Timer {
    pub const fn stopped(clock: Clock) -> Timer {
        Timer { clock, started: Time::MAX, wait: Span::ZERO, wake: Time::MAX }
    }

    /// Starts or restarts the timer. Its clock may let it expire after the end of the wait.
    #[inline]
    pub fn start(&mut self, now: Time, wait: Span) {
        self.started = now;
        self.wait = wait.max(Span::from_nanos(1));
        self.wake = self.wake.min(now + self.wait);
    }

    /// Starts a timer that expires exactly `at` that time, independent of the clock.
    #[inline]
    pub fn start_exactly(&mut self, at: Time) {
        self.started = at;
        self.wait = Span::ZERO;
        self.wake = self.wake.min(at);
    }

    #[inline]
    pub fn stop(&mut self) {
        self.started = Time::MAX;
    }

    #[inline]
    pub fn is_running(&self) -> bool {
        self.started != Time::MAX
    }

    #[inline]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    fn deadline(&self) -> Time {
        if self.started == Time::MAX || self.wait == Span::ZERO {
            return self.started;
        }
        self.clock.expiry(self.started, self.wait)
    }

    /// Returns the time of the next call of [`Timer::expired`]; `Time::MAX` for never.
    #[inline]
    pub fn wake(&self) -> Time {
        self.wake
    }

    /// Checks the deadline at a wake. Returns true, and stops the timer, if the deadline has come.
    #[inline]
    pub fn expired(&mut self, now: Time) -> bool {
        if now < self.wake {
            return false;
        }
        let deadline = self.deadline();
        let expired = deadline <= now;
        if expired {
            self.stop();
        }
        self.wake = if expired { Time::MAX } else { deadline };
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(nanoseconds: u64) -> Time {
        Time::from_nanos(nanoseconds)
    }

    const WAIT: Span = Span::from_nanos(10);

    #[test]
    fn a_restarted_timer_keeps_its_wake_and_expires_at_its_deadline() {
        let mut timer = Timer::stopped(Clock::Exact);
        timer.start(ns(0), WAIT);
        timer.start(ns(10), WAIT);
        assert_eq!(timer.wake(), ns(10));
        assert!(!timer.expired(ns(10)));
        assert_eq!(timer.wake(), ns(20));
        timer.start(ns(5), WAIT);
        assert_eq!(timer.wake(), ns(15));
        assert!(timer.expired(ns(15)));
        assert_eq!((timer.wake(), timer.is_running()), (Time::MAX, false));
        timer.start(ns(20), WAIT);
        timer.stop();
        assert!(!timer.expired(ns(30)));
        assert_eq!(timer.wake(), Time::MAX);
    }

    #[test]
    fn a_timer_wakes_when_its_wait_is_over_and_expires_by_its_clock() {
        let ms = |milliseconds: u64| ns(milliseconds * 1_000_000);
        let mut timer = Timer::stopped(Clock::Jiffies(4_000_000));
        timer.start(ms(1), Span::from_millis(5));
        assert_eq!(timer.wake(), ms(6));
        assert!(!timer.expired(ms(6)));
        assert_eq!(timer.wake(), ms(12));
        assert!(timer.expired(ms(12)));
        timer.start_exactly(ms(13));
        assert!(timer.expired(ms(13)));
    }
}
