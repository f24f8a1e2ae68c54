//! Waiting of the engine's thread: it sleeps until a packet arrives or until shortly before
//! something is due, and spins over the rest, because a timer is late by some microseconds or tens
//! of them.
//!
//! The margin follows from the lateness of previous wake-ups, so that one wake-up in a hundred is
//! too late. The thread also rests regularly: Linux gives the ordinary threads of a processor 50 ms
//! of every second in one piece (the fair server; before Linux 6.12, real-time throttling) unless a
//! real-time thread has left them as much. So the thread yields a sixteenth of its time, in pauses
//! that delay packets very little.
//!
//! In a guest in virtual time the thread is woken exactly on time and nobody else waits for a
//! processor, so it needs none of this: it sleeps until something is due. There a system call costs
//! as much as all other work for a packet, so one call does everything of a moment ([`Ring`]): it
//! writes packets, waits, and reads arriving ones.

use crate::clock::lateness::Lateness;
use crate::clock::{cpu_time, sleep_until, Clock, Timing};
use crate::sys::ring::Ring;
use bentpipe_core::{Span, Time};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Nanoseconds of work per nanosecond of rest: 6.25 % of the time, where the fair server requires 5
/// %.
const AWAKE_PER_REST: u64 = 15;
/// Nanoseconds of an ordinary pause.
const PAUSE: u64 = 40_000;
/// Number that distinguishes the timer's event from those of files.
const TIMER: u64 = u64::MAX;

/// The means of the thread's waiting, and its statistics.
pub struct Wait {
    epoll: Epoll,
    timer: TimerFd,
    /// Nanoseconds of CLOCK_MONOTONIC at which the timer will expire.
    armed: Option<u64>,
    events: [EpollEvent; 64],
    /// Ring that replaces `epoll` and `timer` in virtual time, and the numbers of the ready files.
    ring: Option<Ring>,
    came: Vec<u64>,
    /// Margin of the sleep; `None` in virtual time.
    margin: Option<Margin>,
    rest: Option<Rest>,
    wakeups: Lateness,
}

/// The outcome of a wait: the number of events, and if the thread slept.
pub struct Ready {
    /// Number of events that ended the wait.
    pub count: usize,
    /// True if the thread slept, so that any events have just occurred.
    pub slept: bool,
    /// Time at which the wait ended.
    pub now: Time,
}

impl Wait {
    /// Creates the state without files to wait for.
    ///
    /// # Errors
    /// Returns an error if there are no more file descriptors.
    pub fn new(timing: Timing) -> io::Result<Wait> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        // Edge-triggered: an expiry wakes once and need not be read.
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        Ok(Wait {
            epoll,
            timer,
            armed: None,
            events: [EpollEvent::empty(); 64],
            ring: None,
            came: Vec::new(),
            margin: (timing == Timing::Real).then(Margin::default),
            rest: (timing == Timing::Real).then(Rest::default),
            wakeups: Lateness::default(),
        })
    }

    /// Adds `file` to the wait, under a number.
    ///
    /// # Errors
    /// Returns an error if the system is out of memory.
    pub fn watch(&self, file: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        Ok(self.epoll.add(file, EpollEvent::new(EpollFlags::EPOLLIN, number))?)
    }

    /// Prepares the waiting. The waiting thread calls this when the run begins.
    pub fn begin(&mut self, now: Time) {
        if let Some(rest) = &mut self.rest {
            *rest = Rest { checked: now, used: cpu_time(), owed: 0 };
        }
    }

    /// Makes this thread wait with a ring for `files`, which have consecutive numbers, and for
    /// `event` under its number. Packets of files with a given maximum packet length go through the
    /// ring. Returns true if the kernel supports such rings.
    pub fn by_ring<'a>(
        &mut self,
        files: impl Iterator<Item = (BorrowedFd<'a>, Option<usize>)>,
        event: (BorrowedFd<'_>, u64),
    ) -> bool {
        let files: Vec<_> = files.collect();
        let longest = files.iter().filter_map(|(_, longest)| *longest).max();
        self.ring = Ring::new(longest.unwrap_or_default()).ok();
        if let Some(ring) = &mut self.ring {
            for (number, (file, longest)) in files.into_iter().enumerate() {
                ring.watch(file, number as u64, longest.is_some());
            }
            ring.watch(event.0, event.1, false);
        }
        self.ring.is_some()
    }

    /// Returns the ring, if there is one.
    pub fn ring(&mut self) -> Option<&mut Ring> {
        self.ring.as_mut()
    }

    /// Writes the remaining packets and closes the ring. The waiting thread calls this when the run
    /// has ended.
    ///
    /// # Errors
    /// Returns an error if a packet cannot be written.
    pub fn end(&mut self) -> io::Result<()> {
        self.ring.take().map_or(Ok(()), |mut ring| ring.flush())
    }

    /// Waits until a file is ready or until shortly before `next`, and returns with or without
    /// events. The time is `now` on `clock`.
    ///
    /// # Errors
    /// Returns only errors that a running program cannot handle.
    #[inline]
    pub fn wait(&mut self, clock: &Clock, now: Time, next: Option<Time>) -> io::Result<Ready> {
        if self.ring.is_some() {
            return self.wait_by_ring(clock, now, next);
        }
        if let Some(rest) = self.rest.as_mut().filter(|rest| rest.due(now)) {
            if let Some(pause) = rest.pause(now, cpu_time()) {
                sleep_until(clock.monotonic_at(now) + pause);
            }
        }
        let spins = self.margin.is_some() || next.is_some_and(|next| next <= now);
        let count = if spins { self.epoll.wait(&mut self.events, EpollTimeout::ZERO)? } else { 0 };
        let now = if spins { clock.woken() } else { now };
        let margin = self.margin.as_ref().map_or(0, |margin| margin.nanos);
        let alarm = next.map(|next| Time::from_nanos(next.as_nanos().saturating_sub(margin)));
        if count > 0 || alarm.is_some_and(|alarm| alarm <= now) {
            return Ok(Ready { count, slept: false, now });
        }
        self.arm(alarm.map(|alarm| clock.monotonic_at(alarm)))?;
        let count = match self.epoll.wait(&mut self.events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => 0,
            other => other?,
        };
        let now = match alarm {
            Some(alarm) if count == 1 && self.events[0].data() == TIMER => clock.woken_at(alarm),
            _ => clock.woken(),
        };
        if let Some(late) = alarm.filter(|alarm| *alarm <= now).map(|alarm| now.since(alarm)) {
            self.wakeups.add(late);
            if let Some(margin) = &mut self.margin {
                margin.learn(late);
            }
        }
        Ok(Ready { count, slept: true, now })
    }

    fn wait_by_ring(&mut self, clock: &Clock, now: Time, next: Option<Time>) -> io::Result<Ready> {
        let ring = self.ring.as_mut().expect("it was asked for");
        let sleeps = next.is_none_or(|next| next > now) && !ring.has_any();
        let mut woken = now;
        if sleeps {
            let turn = ring.wait(next.map(|next| clock.monotonic_at(next)))?;
            woken = match next {
                _ if turn.at_once => now,
                Some(next) if turn.expired && !turn.came => clock.woken_at(next),
                _ => clock.woken(),
            };
            if let Some(next) = next.filter(|next| *next <= woken) {
                self.wakeups.add(woken.since(next));
            }
        } else {
            ring.flush()?;
        }
        self.came.clear();
        ring.take_ready(&mut self.came);
        Ok(Ready { count: self.came.len(), slept: sleeps, now: woken })
    }

    /// Returns the number of the `index`-th ready file; `None` for the timer.
    #[inline]
    pub fn ready(&self, index: usize) -> Option<u64> {
        if self.ring.is_some() {
            return self.came.get(index).copied();
        }
        Some(self.events[index].data()).filter(|number| *number != TIMER)
    }

    fn arm(&mut self, at: Option<u64>) -> io::Result<()> {
        if at == self.armed {
            return Ok(());
        }
        self.armed = at;
        match at {
            Some(at) => {
                let at = Expiration::OneShot(TimeSpec::from_duration(Duration::from_nanos(at)));
                self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            }
            None => self.timer.unset()?,
        }
        Ok(())
    }

    /// Returns the lateness of the thread's wake-ups by its timer.
    pub fn wakeups(&self) -> &Lateness {
        &self.wakeups
    }
}

/// The margin by which the thread is woken early: the lateness that one wake-up in a hundred
/// exceeds, tracked by steps up that are 99 times the steps down.
struct Margin {
    nanos: u64,
}

impl Default for Margin {
    fn default() -> Margin {
        Margin { nanos: 80_000 }
    }
}

impl Margin {
    const STEP_DOWN: u64 = 200;
    const STEP_UP: u64 = 99 * Margin::STEP_DOWN;
    /// Minimum margin: the cost of the work after a wake-up, and the benefit of spinning.
    const MIN: u64 = 15_000;
    const MAX: u64 = 150_000;

    fn learn(&mut self, late: Span) {
        let moved = if late.as_nanos() > self.nanos {
            self.nanos + Margin::STEP_UP
        } else {
            self.nanos - Margin::STEP_DOWN
        };
        self.nanos = moved.clamp(Margin::MIN, Margin::MAX);
    }
}

/// The rest that the thread owes to the others.
#[derive(Default)]
struct Rest {
    checked: Time,
    /// Nanoseconds of CPU time that the thread had used by then.
    used: u64,
    owed: u64,
}

impl Rest {
    /// Returns true if [`pause`](Self::pause) must be called now.
    #[inline]
    fn due(&self, now: Time) -> bool {
        now.since(self.checked).as_nanos() >= AWAKE_PER_REST * PAUSE
    }

    /// Returns the rest due now, if any, for a thread that has `used` this much CPU time until
    /// `now`. A large debt is paid in parts, which bounds the delay of a packet.
    fn pause(&mut self, now: Time, used: u64) -> Option<u64> {
        let awake = used - self.used;
        let others = now.since(self.checked).as_nanos().saturating_sub(awake);
        self.owed = (self.owed + awake / AWAKE_PER_REST).saturating_sub(others);
        (self.checked, self.used) = (now, used);
        // At the next check, the pause itself counts as time for others.
        (self.owed >= PAUSE / 2).then_some(self.owed.min(2 * PAUSE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_follows_the_lateness_that_one_wakeup_in_a_hundred_exceeds() {
        let mut margin = Margin::default();
        // Evenly distributed from 0 to 50 us, in scrambled order: 1 % of the values exceed 49.5 us.
        for round in 0..100_000_u64 {
            margin.learn(Span::from_nanos(round * 7919 % 50_000));
        }
        assert!((35_000..=70_000).contains(&margin.nanos), "{}", margin.nanos);
        for _ in 0..1000 {
            margin.learn(Span::from_millis(1));
        }
        assert_eq!(margin.nanos, Margin::MAX);
        for _ in 0..10_000 {
            margin.learn(Span::ZERO);
        }
        assert_eq!(margin.nanos, Margin::MIN);
    }

    #[test]
    fn rest_is_a_sixteenth_of_the_time_and_sleep_counts() {
        let (mut rest, mut now, mut used) = (Rest::default(), Time::ZERO, 0);
        while now < Time::ZERO + Span::from_millis(1000) {
            now += Span::from_micros(3);
            used += 3000;
            if rest.due(now) {
                now += Span::from_nanos(rest.pause(now, used).unwrap_or(0));
            }
        }
        assert!((935_000_000..940_000_000).contains(&used), "{used}");
        // The rest for a long piece of work is paid in parts.
        now += Span::from_millis(30);
        used += 30_000_000;
        assert_eq!(rest.pause(now, used), Some(2 * PAUSE));
        now += Span::from_micros(680);
        used += 600_000;
        assert_eq!(rest.pause(now, used), Some(2 * PAUSE));
        // A thread that sleeps often never owes a rest.
        let mut rest = Rest { checked: now, used, owed: 0 };
        for _ in 0..1000 {
            now += Span::from_micros(700);
            used += 600_000;
            assert_eq!(rest.pause(now, used), None);
        }
    }
}
