//! The machine's monotonic clock as the time of a run, and how the thread that watches it is
//! scheduled.

pub(crate) mod attendance;
pub(crate) mod lateness;
pub(crate) mod wait;

use crate::sys;
use bentpipe_core::{Span, Time};
use nix::sys::time::TimeSpec;
use nix::time::{clock_gettime, clock_nanosleep, ClockId, ClockNanosleepFlags};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the machine's clock does while its processors work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timing {
    /// It goes on, and who sleeps is woken late.
    #[default]
    Real,
    /// It stands still, and who sleeps is woken at the very moment: the machine is a guest in
    /// virtual time.
    Virtual,
}

/// Time zero of a run on the machine's monotonic clock. All threads of a run have copies of one.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    timing: Timing,
    zero: u64,
    /// The same moment in nanoseconds of Unix time.
    unix: u64,
}

thread_local! {
    /// When this thread was woken last, for those that say so.
    static WOKEN: Cell<Option<u64>> = const { Cell::new(None) };
}

/// When any thread of the guest was woken last, for those that say so.
static MOMENT: AtomicU64 = AtomicU64::new(0);

const SECOND: u64 = 1_000_000_000;

/// Returns CLOCK_MONOTONIC in nanoseconds.
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
    /// Returns a clock whose time zero is now.
    pub fn start() -> Clock {
        let unix = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has this clock");
        let unix = unix.tv_sec() as u64 * 1_000_000_000 + unix.tv_nsec() as u64;
        Clock { timing: Timing::Real, zero: monotonic(), unix }
    }

    /// Returns a clock whose time zero is that much later than now; until then its time is zero.
    pub fn start_after(lead: Span) -> Clock {
        let now = Clock::start();
        Clock { zero: now.zero + lead.as_nanos(), unix: now.unix + lead.as_nanos(), ..now }
    }

    /// Returns the same clock of a machine with this timing. In virtual time its time zero waits
    /// for the next whole ten seconds of the machine's, so that it is the same moment in every run,
    /// also for what the kernel does now and then.
    pub fn with(self, timing: Timing) -> Clock {
        let wait = match timing {
            Timing::Real => 0,
            Timing::Virtual => self.zero.next_multiple_of(10 * SECOND) - self.zero,
        };
        Clock { timing, zero: self.zero + wait, unix: self.unix + wait }
    }

    /// Returns the same clock of a machine with this timing, whose time zero stays where it is.
    pub fn at_once(self, timing: Timing) -> Clock {
        Clock { timing, ..self }
    }

    /// Returns the same clock whose time zero is at `nanoseconds` of CLOCK_MONOTONIC.
    pub fn from(self, nanoseconds: u64) -> Clock {
        let unix = (self.unix + nanoseconds).saturating_sub(self.zero);
        Clock { zero: nanoseconds, unix, ..self }
    }

    /// This thread has slept until `time`; returns the time. In virtual time it was woken at that
    /// very moment, so nobody has to look.
    #[inline]
    pub fn woken_at(&self, time: Time) -> Time {
        if self.timing == Timing::Virtual {
            let moment = self.monotonic_at(time);
            MOMENT.fetch_max(moment, Ordering::Relaxed);
            WOKEN.set(Some(moment));
        }
        self.now()
    }

    /// This thread has slept until another one passed something on to it; returns the time. In
    /// virtual time it is still the moment at which that one was woken, so nobody has to look.
    #[inline]
    pub fn woken_by_another(&self) -> Time {
        if self.timing == Timing::Virtual {
            WOKEN.set(Some(MOMENT.load(Ordering::Relaxed)));
        }
        self.now()
    }

    /// Sleeps until time zero of the run.
    pub fn wait_for_zero(&self) {
        while monotonic() < self.zero {
            sleep_until(self.zero);
        }
    }

    /// What it does while the processors work.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Returns the time of the run. In virtual time, for a thread that says when it was
    /// [`woken`](Self::woken), it is that moment, since none passes until it sleeps again.
    #[inline]
    pub fn now(&self) -> Time {
        match self.timing {
            Timing::Real => self.at(monotonic()),
            Timing::Virtual => self.at(WOKEN.get().unwrap_or_else(monotonic)),
        }
    }

    /// This thread has slept; returns the time.
    #[inline]
    pub fn woken(&self) -> Time {
        if self.timing == Timing::Virtual {
            let moment = monotonic();
            MOMENT.fetch_max(moment, Ordering::Relaxed);
            WOKEN.set(Some(moment));
        }
        self.now()
    }

    /// Returns the time of the run at `nanoseconds` of CLOCK_MONOTONIC; zero for what was before
    /// it.
    #[inline]
    pub fn at(&self, nanoseconds: u64) -> Time {
        Time::from_nanos(nanoseconds.saturating_sub(self.zero))
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
    /// Scheduled like every other thread of the machine.
    Ordinary,
}

impl Scheduling {
    /// Gives this thread real-time priority if the machine allows it, and exact timers in any case;
    /// says what it got. In virtual time it makes nothing faster, but threads of one priority run
    /// in the order in which they were woken, where ordinary ones run in one that depends on what
    /// each has used of the processor before.
    pub fn best() -> Scheduling {
        sys::exact_timers();
        match sys::real_time_priority(1) {
            Ok(()) => Scheduling::RealTime,
            Err(_) => Scheduling::Ordinary,
        }
    }
}
