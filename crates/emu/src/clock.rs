//! The machine's monotonic clock as the time of a run, and how the thread that watches it is scheduled.

use crate::sys;
use bentpipe_core::{Span, Time};
use nix::sys::time::TimeSpec;
use nix::time::{clock_gettime, clock_nanosleep, ClockId, ClockNanosleepFlags};
use std::time::Duration;

/// Time zero of a run on the machine's monotonic clock. All threads of a run have copies of one.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: u64,
    /// The same moment in nanoseconds of Unix time.
    unix: u64,
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[inline]
pub(crate) fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// CPU time of this thread in nanoseconds.
pub(crate) fn cpu_time() -> u64 {
    let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has this clock");
    used.tv_sec() as u64 * 1_000_000_000 + used.tv_nsec() as u64
}

/// Sleeps until a moment of CLOCK_MONOTONIC in nanoseconds, or until a signal comes.
pub(crate) fn sleep_until(nanoseconds: u64) {
    let at = TimeSpec::from_duration(Duration::from_nanos(nanoseconds));
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &at);
}

impl Clock {
    /// A clock whose time zero is now.
    pub fn start() -> Clock {
        let unix = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has this clock");
        let unix = unix.tv_sec() as u64 * 1_000_000_000 + unix.tv_nsec() as u64;
        Clock { zero: monotonic(), unix }
    }

    /// A clock whose time zero is that much later than now; until then its time is zero.
    pub fn start_after(lead: Span) -> Clock {
        let now = Clock::start();
        Clock { zero: now.zero + lead.as_nanos(), unix: now.unix + lead.as_nanos() }
    }

    /// The time of the run.
    #[inline]
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.zero))
    }

    /// The time of the run at `nanoseconds` of CLOCK_MONOTONIC; zero for what was before it.
    #[inline]
    pub fn at(&self, nanoseconds: u64) -> Time {
        Time::from_nanos(nanoseconds.saturating_sub(self.zero))
    }

    /// The time of the run at `nanoseconds` of Unix time, as the kernel stamps packets.
    #[inline]
    pub fn at_unix(&self, nanoseconds: u64) -> Time {
        Time::from_nanos(nanoseconds.saturating_sub(self.unix))
    }

    /// Nanoseconds of Unix time at time zero.
    pub fn unix_zero(&self) -> u64 {
        self.unix
    }

    /// Nanoseconds of CLOCK_MONOTONIC at a time of the run.
    #[inline]
    pub fn monotonic_at(&self, time: Time) -> u64 {
        self.zero.saturating_add(time.as_nanos())
    }
}

/// How a thread is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// First-in, first-out real time: before every ordinary thread.
    RealTime,
    /// Like everything else on the machine.
    Ordinary,
}

impl Scheduling {
    /// Gives this thread real-time priority if the machine allows it, and exact timers in any case; says what it got.
    pub fn best() -> Scheduling {
        sys::exact_timers();
        match sys::real_time_priority(1) {
            Ok(()) => Scheduling::RealTime,
            Err(_) => Scheduling::Ordinary,
        }
    }
}
