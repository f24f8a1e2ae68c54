//! The thread that calls ends when their timers are due and when their sockets are ready.

use super::exact::Exact;
use super::poll;
use super::rows::Rows;
use super::{Ending, Endpoint, Traces, Watch};
use crate::bridge::Handle;
use crate::clock::lateness::Lateness;
use crate::clock::{Clock, Timing};
use bentpipe_core::{Span, Time, Wakes};
use bentpipe_transport::app::End;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Maximum time between two checks for a stop of the run.
const LOOK: Span = Span::from_millis(50);
/// Number of such checks in a run in virtual time, in which a check costs more than the time
/// between two checks.
const LOOKS: u64 = 200;
/// Maximum number of timers served before sockets get their turn.
const TURN: usize = 1024;
const TIMER: u64 = u64::MAX;
/// Events of sockets that arriving packets cause.
const OF_PACKETS: EpollFlags = EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLRDHUP);

/// The driver of the ends of flows.
pub(super) struct Driver {
    clock: Clock,
    epoll: Epoll,
    rows: Rows,
    scratch: Vec<u8>,
    pub late: Lateness,
    /// The requested wakes of the ends, by time.
    due: Wakes,
    polls: bool,
    exact: Option<Exact>,
    look: Span,
}

impl Driver {
    /// Creates a driver for this many ends, until `end`. With `polls` it queries connections,
    /// because the kernel has no log; `exact` is for virtual time.
    ///
    /// # Errors
    /// Returns an error if there are no more file descriptors.
    pub fn new(
        clock: Clock,
        handle: &Handle,
        ends: usize,
        polls: bool,
        exact: Option<Exact>,
        end: Time,
    ) -> io::Result<Driver> {
        Ok(Driver {
            clock,
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            rows: Rows::new(handle.clone()),
            scratch: vec![0; 256 << 10],
            late: Lateness::default(),
            due: Wakes::new(ends),
            polls,
            exact,
            look: match clock.timing() {
                Timing::Real => LOOK,
                Timing::Virtual => LOOK.max(end.since(Time::ZERO) / LOOKS),
            },
        })
    }

    /// Runs until `end`, or until `stop` returns true.
    pub fn run(&mut self, ends: &mut [Ending], end: Time, stop: &dyn Fn() -> bool) -> io::Result<()> {
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        // Edge-triggered: an expiry wakes once and need not be read.
        self.epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        self.begin(ends)?;
        let mut events = [EpollEvent::empty(); 256];
        let mut next_look = Time::ZERO;
        let mut next_poll = Time::ZERO;
        let mut armed = None;
        loop {
            let now = self.clock.now();
            if now >= next_look {
                if now >= end || stop() {
                    return Ok(());
                }
                self.rows.flush();
                next_look = (now + self.look).min(end);
            }
            if self.polls && now >= next_poll {
                let asked = self.poll(ends, now);
                next_poll = now + poll::interval(asked);
            }
            self.wake_due(ends)?;
            let mut alarm = self.due.first().map_or(next_look, |(time, _)| time.min(next_look));
            if self.polls {
                alarm = alarm.min(next_poll);
            }
            let at = TimeSpec::from_duration(Duration::from_nanos(self.clock.monotonic_at(alarm).max(1)));
            if armed.replace(alarm) != Some(alarm) {
                timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            }
            let ready = self.wait(&mut events, alarm)?;
            for event in &events[..ready] {
                match event.data() {
                    TIMER => armed = None,
                    token => {
                        let (number, connection) = (token as u32 as usize, (token >> 32) as u16);
                        self.call(number, &mut ends[number], Some((connection, event.events())))?;
                    }
                }
            }
        }
    }

    /// Watches the sockets that are open before the first connection, and waits for time zero.
    fn begin(&mut self, ends: &mut [Ending]) -> io::Result<()> {
        for (number, Ending { endpoint, traces, .. }) in ends.iter_mut().enumerate() {
            let watched = match endpoint {
                Endpoint::Tcp(tcp) => tcp.listener(),
                Endpoint::Udp(udp) => Some((udp.fd(), 0)),
                Endpoint::Quic(quic) => Some((quic.fd(), 0)),
            };
            if let Some((fd, connection)) = watched {
                self.watch(number, *traces).add(fd, connection)?;
            }
            self.schedule(number, endpoint);
        }
        if self.clock.timing() == Timing::Real {
            // Before time zero the clock reads zero, so a SYN would wait in the network for time
            // zero.
            self.clock.wait_for_zero();
        }
        Ok(())
    }

    /// Serves the due timers, at most [`TURN`].
    fn wake_due(&mut self, ends: &mut [Ending]) -> io::Result<()> {
        for _ in 0..TURN {
            let Some((_, number)) = self.due.first().filter(|(time, _)| *time <= self.clock.now()) else {
                break;
            };
            self.call(number as usize, &mut ends[number as usize], None)?;
        }
        Ok(())
    }

    /// Sleeps until something is ready or until the `alarm`, and informs the clock of the cause.
    /// Returns the number of events.
    fn wait(&mut self, events: &mut [EpollEvent], alarm: Time) -> io::Result<usize> {
        let ready = match self.epoll.wait(events, EpollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => 0,
            other => other?,
        };
        // The sockets' own reports set the flag of errors.
        let passed_on = |event: &EpollEvent| event.data() != TIMER && (OF_PACKETS.contains(event.events()));
        if ready == 1 && events[0].data() == TIMER {
            self.clock.woken_at(alarm);
        } else if events[..ready].iter().all(passed_on) {
            self.clock.woken_by_another();
        } else {
            self.clock.woken();
        }
        Ok(ready)
    }

    /// Handles a ready connection of an end, or without one its due timers.
    fn call(&mut self, number: usize, end: &mut Ending, ready: Option<(u16, EpollFlags)>) -> io::Result<()> {
        let clock = self.clock;
        let Ending { endpoint, traces, .. } = end;
        let mut watch = self.watch(number, *traces);
        match (&mut *endpoint, ready) {
            (Endpoint::Tcp(tcp), Some((connection, flags))) => {
                tcp.ready(connection, flags, clock, &mut watch)?;
            }
            (Endpoint::Tcp(tcp), None) => tcp.wake(clock, &mut watch)?,
            (Endpoint::Udp(udp), Some(_)) => udp.ready(clock, &mut watch)?,
            (Endpoint::Udp(udp), None) => udp.wake(clock, &mut watch)?,
            (Endpoint::Quic(quic), Some(_)) => quic.ready(clock, &mut watch)?,
            (Endpoint::Quic(quic), None) => quic.wake(clock, &mut watch)?,
        }
        self.schedule(number, endpoint);
        Ok(())
    }

    fn schedule(&mut self, number: usize, endpoint: &mut Endpoint) {
        let next = match endpoint {
            Endpoint::Tcp(tcp) => tcp.next_wake(),
            Endpoint::Udp(udp) => udp.next_wake(),
            Endpoint::Quic(quic) => quic.next_wake(),
        };
        self.due.set(number as u32, (next != Time::MAX).then_some(next));
    }

    fn watch(&mut self, number: usize, traces: Traces) -> Watch<'_> {
        Watch {
            epoll: &self.epoll,
            number: number as u64,
            scratch: &mut self.scratch,
            rows: &mut self.rows,
            late: &mut self.late,
            traces,
            exact: self.exact.as_ref(),
        }
    }

    /// Writes rows of the trace `tcp` and the statistics of senders from queries of the kernel.
    /// Returns the number of queries.
    fn poll(&mut self, ends: &mut [Ending], now: Time) -> u64 {
        let mut asked = 0;
        for Ending { endpoint, asked: of_end, .. } in ends {
            let Endpoint::Tcp(tcp) = endpoint else { continue };
            let opened = tcp.site.end == End::Source;
            for line in tcp.lines() {
                let Some(info) = line.info() else { continue };
                asked += 1;
                line.polled.look(&info, opened, (now, line.probes.sender), &mut self.rows, of_end);
            }
        }
        asked
    }
}
