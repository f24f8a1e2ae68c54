//! A timer that is cheap to restart. Restarting the retransmission timer for each acknowledgment would move
//! an entry of the event queue each time. Instead the wake at the old deadline stays, and when it comes the
//! timer requests one at the new deadline.

use bentpipe_core::Time;

#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    /// The deadline; `Time::MAX` if stopped.
    deadline: Time,
    /// The requested wake; never later than the deadline.
    wake: Time,
}

impl Timer {
    pub const fn stopped() -> Timer {
        Timer { deadline: Time::MAX, wake: Time::MAX }
    }

    #[inline]
    pub fn start(&mut self, deadline: Time) {
        self.deadline = deadline;
        self.wake = self.wake.min(deadline);
    }

    #[inline]
    pub fn stop(&mut self) {
        self.deadline = Time::MAX;
    }

    #[inline]
    pub fn is_running(&self) -> bool {
        self.deadline != Time::MAX
    }

    /// When to call [`Timer::expired`]; `Time::MAX` for never.
    #[inline]
    pub fn wake(&self) -> Time {
        self.wake
    }

    /// At a wake, returns whether the deadline has come. If so, the timer is stopped.
    #[inline]
    pub fn expired(&mut self, now: Time) -> bool {
        if now < self.wake {
            return false;
        }
        let expired = self.deadline <= now;
        if expired {
            self.deadline = Time::MAX;
        }
        self.wake = self.deadline;
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_timer_keeps_its_wake_and_expires_at_its_deadline() {
        let at = Time::from_nanos;
        let mut timer = Timer::stopped();
        timer.start(at(10));
        timer.start(at(20));
        assert_eq!(timer.wake(), at(10));
        assert!(!timer.expired(at(10)));
        assert_eq!(timer.wake(), at(20));
        timer.start(at(15));
        assert_eq!(timer.wake(), at(15));
        assert!(timer.expired(at(15)));
        assert_eq!((timer.wake(), timer.is_running()), (Time::MAX, false));
        timer.start(at(30));
        timer.stop();
        assert!(!timer.expired(at(30)));
        assert_eq!(timer.wake(), Time::MAX);
    }
}
