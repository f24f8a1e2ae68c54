//! The machine's monotonic clock as the time of a run, and the scheduling of the thread that
//! follows it.

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

/// The progress of the machine's clock while its processors work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timing {
    /// The clock advances, and sleepers are woken late.
    #[default]
    Real,
    /// The clock stands still, and sleepers are woken exactly on time: the machine is a guest in
    /// virtual time.
    Virtual,
}

/// Time zero of a run on the machine's monotonic clock. All threads of a run have copies of it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    timing: Timing,
    zero: u64,
    /// The same moment in nanoseconds of Unix time.
    unix: u64,
}

thread_local! {
    /// Time at which this thread was last woken, for threads that record it.
    static WOKEN: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Time at which any thread of the guest was last woken, for threads that record it.
static MOMENT: AtomicU64 = AtomicU64::new(0);

const SECOND: u64 = 1_000_000_000;

/// Returns CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub(crate) fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// Returns the CPU time of this thread in nanoseconds.
pub(crate) fn cpu_time() -> u64 {
    let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has this clock");
    used.tv_sec() as u64 * 1_000_000_000 + used.tv_nsec() as u64
}

/// Sleeps until a time of CLOCK_MONOTONIC in nanoseconds, or until a signal.
pub(crate) fn sleep_until(nanoseconds: u64) {
    let at = TimeSpec::from_duration(Duration::from_nanos(nanoseconds));
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &at);
}

impl Clock {
    /// Creates a clock whose time zero is now.
    pub fn start() -> Clock {
        let unix = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has this clock");
        let unix = unix.tv_sec() as u64 * 1_000_000_000 + unix.tv_nsec() as u64;
        Clock { timing: Timing::Real, zero: monotonic(), unix }
    }

    /// Creates a clock whose time zero is `lead` later than now. Until then its time is zero.
    pub fn start_after(lead: Span) -> Clock {
        let now = Clock::start();
        Clock { zero: now.zero + lead.as_nanos(), unix: now.unix + lead.as_nanos(), ..now }
    }

    /// Returns the clock for a machine with this timing. In virtual time, time zero moves to the
    /// machine's next multiple of ten seconds. It is then the same moment in every run, also
    /// relative to the kernel's periodic work.
    pub fn with(self, timing: Timing) -> Clock {
        let wait = match timing {
            Timing::Real => 0,
            Timing::Virtual => self.zero.next_multiple_of(10 * SECOND) - self.zero,
        };
        Clock { timing, zero: self.zero + wait, unix: self.unix + wait }
    }

    /// Returns the clock for a machine with this timing, with an unchanged time zero.
    pub fn at_once(self, timing: Timing) -> Clock {
        Clock { timing, ..self }
    }

    /// Returns the clock with time zero at `nanoseconds` of CLOCK_MONOTONIC.
    pub fn from(self, nanoseconds: u64) -> Clock {
        let unix = (self.unix + nanoseconds).saturating_sub(self.zero);
        Clock { zero: nanoseconds, unix, ..self }
    }

    /// Records that this thread has slept until `time`, and returns the time. In virtual time the
    /// thread was woken at exactly that moment, so no query is needed.
    #[inline]
    pub fn woken_at(&self, time: Time) -> Time {
        if self.timing == Timing::Virtual {
            let moment = self.monotonic_at(time);
            MOMENT.fetch_max(moment, Ordering::Relaxed);
            WOKEN.set(Some(moment));
        }
        self.now()
    }

    /// Records that this thread has slept until another thread gave it work, and returns the time.
    /// In virtual time the moment is still that of the other thread's wake-up, so no query is
    /// needed.
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

    /// Returns the timing of the machine's clock.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Returns the time of the run. In virtual time, for a thread that records its
    /// [wake-ups](Self::woken), this is the time of the last wake-up, because no time passes until
    /// the thread sleeps again.
    #[inline]
    pub fn now(&self) -> Time {
        match self.timing {
            Timing::Real => self.at(monotonic()),
            Timing::Virtual => self.at(WOKEN.get().unwrap_or_else(monotonic)),
        }
    }

    /// Records that this thread has slept, and returns the time.
    #[inline]
    pub fn woken(&self) -> Time {
        if self.timing == Timing::Virtual {
            let moment = monotonic();
            MOMENT.fetch_max(moment, Ordering::Relaxed);
            WOKEN.set(Some(moment));
        }
        self.now()
    }

    /// Returns the time of the run at `nanoseconds` of CLOCK_MONOTONIC; zero before time zero.
    #[inline]
    pub fn at(&self, nanoseconds: u64) -> Time {
        Time::from_nanos(nanoseconds.saturating_sub(self.zero))
    }

    /// Returns the nanoseconds of Unix time at time zero.
    pub fn unix_zero(&self) -> u64 {
        self.unix
    }

    /// Returns the nanoseconds of CLOCK_MONOTONIC at a time of the run.
    #[inline]
    pub fn monotonic_at(&self, time: Time) -> u64 {
        self.zero.saturating_add(time.as_nanos())
    }
}

/// The scheduling class of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// First-in, first-out real time, with priority over every ordinary thread.
    RealTime,
    /// Ordinary scheduling, like other threads of the machine.
    Ordinary,
}

impl Scheduling {
    /// Gives this thread real-time priority if the machine allows it, and exact timers in any case.
    /// Returns the resulting class. In virtual time the priority makes nothing faster, but fixes
    /// the order of threads: threads of one priority run in the order of their wake-ups, whereas
    /// the order of ordinary threads depends on their past use of the processor.
    pub fn best() -> Scheduling {
        sys::exact_timers();
        match sys::real_time_priority(1) {
            Ok(()) => Scheduling::RealTime,
            Err(_) => Scheduling::Ordinary,
        }
    }
}
