//! The clock of TCP's timers.
//!
//! - *Exact*: a timer expires at the end of its wait.
//! - *Ticks* (BSD, `timer_tick` of a TCP flow): at the first tick after that.
//! - *Jiffies* (Linux, `jiffy`): a wait is rounded up to whole jiffies and counted
//!   from the present jiffy. A timer expires at the end of the step of the timer wheel that
//!   contains that time. It is never early, and late by up to a step. Longer waits have longer
//!   steps (kernel/time/timer.c, since Linux 4.8; "Reinventing the timer wheel", LWN.net, 2015):
//!
//! | wait in jiffies | below 63 | below 504 | below 4032 | below 32256 | more |
//! | --- | --- | --- | --- | --- | --- |
//! | step in jiffies | 1 | 8 | 64 | 512 | 4096 |
//!
//! Steps end at multiples of their length in the count of jiffies, which begins 300 s before 2^32.
//!
//! With jiffies of 4 ms, an acknowledgment that is delayed by 40 ms leaves after 40 to 44 ms, and a
//! time-out of 1 s expires after 1 to 1.032 s. Linux paces packets, and delays acknowledgments of a
//! hole, with exact timers.

use bentpipe_core::{Span, Time};

/// Number of steps per level of the wheel; a level is used for waits of fewer steps.
const STEPS: u64 = 63;
/// Binary logarithm of the ratio of the steps of consecutive levels.
const LEVEL_SHIFT: u32 = 3;
/// The last level that is modelled: waits of 2 minutes and more.
const LEVELS: u32 = 4;
/// Age of the hosts' jiffies at the start of a run. It equals that of the guests of the clock
/// `kernel`, so that timers expire at the same times in both.
const AGE: Span = Span::from_secs(10);
/// Value at which the count of jiffies wraps around. Linux starts to count 300 s before it
/// (INITIAL_JIFFIES), which determines the ends of steps of 64 jiffies and more.
const WRAP: u64 = 1 << 32;
const BEFORE_WRAP: Span = Span::from_secs(300);

/// The clock of one end of a connection. Periods are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// An exact clock: timers expire at the end of their wait.
    Exact,
    /// BSD's clock, with ticks of this period.
    Ticks(u32),
    /// Linux's clock, with jiffies of this period.
    Jiffies(u32),
}

impl Clock {
    /// Returns BSD's clock with ticks of this period; without a period, the other clock.
    pub fn of_ticks(tick: Span, otherwise: Clock) -> Clock {
        match period(tick) {
            0 => otherwise,
            tick => Clock::Ticks(tick),
        }
    }

    /// Returns Linux's clock with jiffies of this period; without a period, the exact clock.
    pub fn of_jiffies(jiffy: Span) -> Clock {
        match period(jiffy) {
            0 => Clock::Exact,
            jiffy => Clock::Jiffies(jiffy),
        }
    }

    /// Returns the expiry of a timer that was set at `now` for `wait`.
    #[inline]
    pub fn expiry(self, now: Time, wait: Span) -> Time {
        let exact = now + wait;
        if exact == Time::MAX {
            return exact;
        }
        match self {
            Clock::Exact => exact,
            Clock::Ticks(tick) => {
                let tick = u64::from(tick);
                Time::from_nanos(exact.as_nanos().div_ceil(tick).saturating_mul(tick))
            }
            Clock::Jiffies(jiffy) => {
                let jiffy = u64::from(jiffy);
                let wait = wait.as_nanos().div_ceil(jiffy);
                let level = (0..LEVELS).find(|level| wait < STEPS << (LEVEL_SHIFT * level)).unwrap_or(LEVELS);
                let shift = LEVEL_SHIFT * level;
                let end = (((count(now, jiffy) + wait) >> shift) + 1) << shift;
                Time::from_nanos((end - first(jiffy)).saturating_mul(jiffy).saturating_sub(AGE.as_nanos()))
            }
        }
    }

    /// Returns the time between two moments as counted by the clock.
    #[inline]
    pub fn between(self, earlier: Time, later: Time) -> Span {
        let Clock::Jiffies(jiffy) = self else { return later.since(earlier) };
        let jiffy = u64::from(jiffy);
        // The initial value of the count cancels out; computing it would take a division.
        Span::from_nanos((of_host(later, jiffy) - of_host(earlier, jiffy)) * jiffy)
    }

    /// Returns `span` rounded down to whole jiffies.
    #[inline]
    pub fn whole(self, span: Span) -> Span {
        let Clock::Jiffies(jiffy) = self else { return span };
        Span::from_nanos(span.as_nanos() / u64::from(jiffy) * u64::from(jiffy))
    }

    /// Returns `span` rounded up to whole jiffies.
    #[inline]
    pub fn round_up(self, span: Span) -> Span {
        let Clock::Jiffies(jiffy) = self else { return span };
        Span::from_nanos(span.as_nanos().div_ceil(u64::from(jiffy)).saturating_mul(u64::from(jiffy)))
    }
}

/// Returns the initial count of a host's jiffies.
#[inline]
fn first(jiffy: u64) -> u64 {
    WRAP.saturating_sub(BEFORE_WRAP.as_nanos() / jiffy)
}

/// Returns the number of the host's present jiffy.
#[inline]
fn count(at: Time, jiffy: u64) -> u64 {
    first(jiffy) + of_host(at, jiffy)
}

/// Returns the number of jiffies that a host has counted.
#[inline]
fn of_host(at: Time, jiffy: u64) -> u64 {
    at.as_nanos().saturating_add(AGE.as_nanos()) / jiffy
}

/// Returns a period of a scenario, at most 1 s.
fn period(span: Span) -> u32 {
    u32::try_from(span.as_nanos()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: Clock = Clock::Jiffies(4_000_000);

    fn expiry(clock: Clock, now: u64, wait: u64) -> u64 {
        clock.expiry(Time::from_nanos(now * 1_000_000), Span::from_millis(wait)).as_nanos() / 1_000_000
    }

    #[test]
    fn a_timer_of_linux_expires_at_the_end_of_its_step_of_the_wheel() {
        // The documented steps at 250 Hz: 4 ms below 256 ms, 32 ms below 2 s, 256 ms below 16 s.
        // Steps of 32 ms end 16 ms after multiples of 32 ms of the run, because 10 s are 312 times
        // 32 ms plus 16 ms. Steps of 256 ms end 16 ms before multiples of 256 ms, because the count
        // begins 300 s before 2^32. Linux 6.12 set time-outs of 2.112 and 2.304 s at 8.592 and
        // 10.128 s; they expired at 10.96 and 12.496 s.
        for (now, wait, at) in [
            (0, 40, 44),
            (3, 40, 44),
            (4, 40, 48),
            (5, 1, 12),
            (0, 200, 204),
            (0, 256, 272),
            (7, 1000, 1008),
            (15, 1000, 1040),
            (31, 1000, 1040),
            (0, 3000, 3024),
            (200, 3000, 3280),
            (8592, 2112, 10_960),
            (10_128, 2304, 12_496),
        ] {
            assert_eq!(expiry(LINUX, now, wait), at, "set at {now} ms for {wait} ms");
        }
    }

    #[test]
    fn timers_of_linux_are_never_early_and_late_by_at_most_a_step() {
        let waits =
            [(0, 4), (1, 4), (39, 4), (40, 4), (248, 4), (252, 32), (1000, 32), (3000, 256), (60_000, 2048)];
        for now in (0..4_000_000_000).step_by(1_234_567) {
            for (wait, step) in waits {
                // A step after whole jiffies.
                let (now, wait) = (Time::from_nanos(now), Span::from_millis(wait));
                let late = LINUX.expiry(now, wait).since(now + LINUX.round_up(wait));
                assert!(
                    late > Span::ZERO && late <= Span::from_millis(step),
                    "{wait} at {now:?}: {late} late"
                );
            }
        }
    }

    #[test]
    fn stopped_timers_never_expire_and_an_exact_clock_adds_no_delay() {
        let now = Time::from_nanos(7);
        assert_eq!(Clock::Exact.expiry(now, Span::from_nanos(5)), Time::from_nanos(12));
        assert_eq!(LINUX.expiry(Time::MAX, Span::from_millis(1)), Time::MAX);
    }

    #[test]
    fn timers_of_bsd_expire_at_the_next_tick() {
        let clock = Clock::of_ticks(Span::from_millis(500), Clock::Exact);
        assert_eq!(expiry(clock, 1, 1000), 1500);
        assert_eq!(expiry(clock, 0, 1000), 1000);
        assert_eq!(Clock::of_jiffies(Span::ZERO), Clock::Exact);
    }
}
