//! The engine between real hosts: one thread that takes packets in, lets the network do what is due, and hands packets
//! out on time.
//!
//! It blocks until a packet comes or until shortly before something is due, and spins over the rest, because a timer is
//! tens of microseconds late. After a millisecond without a pause it takes a short one: a thread of real-time priority
//! that never rests is stopped by the kernel for 50 ms of every second, and starves its machine until then.

use crate::clock::Clock;
use crate::frame;
use crate::lateness::Lateness;
use crate::port::Port;
use bentpipe_core::address::Plan;
use bentpipe_core::{Body, Ecn, Packet, Span, Time};
use bentpipe_engine::{Host, Network};
use bentpipe_models::net::gate;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{clock_nanosleep, ClockNanosleepFlags};
use std::io;
use std::os::fd::AsFd;
use std::sync::{mpsc, Arc};
use std::time::Duration;

/// How long before something is due the thread stops sleeping and spins.
const MARGIN: Span = Span::from_micros(80);
/// Longest time without a pause, and the length of the pause.
const UNINTERRUPTED: Span = Span::from_millis(1);
const PAUSE: Duration = Duration::from_micros(20);
/// Packets taken from one port before the others get their turn.
const TURN: usize = 64;
/// Size of pooled buffers: any packet of an Ethernet; longer ones have buffers of their own.
const BUFFER: usize = 2048;
/// Events for the thread itself.
const EVENT: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

/// What a thread asks of the one that runs the engine.
type Request = Box<dyn FnOnce(&mut Bridge, Time) + Send>;

/// One way to a real host, and what went over it.
struct Way {
    host: Host,
    port: Box<dyn Port>,
    /// Packets that the host sent into the network.
    entered: u32,
    /// Packets for which the host had no room.
    refused: u64,
}

/// The engine, its hosts, and the clock between them.
pub struct Bridge {
    network: Network,
    clock: Clock,
    ways: Vec<Way>,
    plan: Plan,
    /// Number of the way to the rest of the world, which is the last. What comes to its gate for no node takes it.
    outlet: Option<usize>,
    epoll: Epoll,
    timer: TimerFd,
    event: Arc<EventFd>,
    requests: mpsc::Receiver<Request>,
    pool: Vec<Box<[u8]>>,
    rest: Box<[u8]>,
    stopping: bool,
    lateness: Lateness,
    wakeups: Lateness,
    strays: u64,
}

/// Reaches a [`Bridge`] from other threads.
#[derive(Clone)]
pub struct Handle {
    requests: mpsc::Sender<Request>,
    event: Arc<EventFd>,
}

/// The engine has ended.
#[derive(Debug, thiserror::Error)]
#[error("the emulation has ended")]
pub struct Ended;

impl Handle {
    /// Has the engine's thread run `task` soon, in the time of the run.
    ///
    /// # Errors
    /// It has ended.
    pub fn post(&self, task: impl FnOnce(&mut Bridge, Time) + Send + 'static) -> Result<(), Ended> {
        self.requests.send(Box::new(task)).map_err(|_| Ended)?;
        let _ = self.event.write(1);
        Ok(())
    }

    /// The same, and waits for its answer.
    ///
    /// # Errors
    /// It has ended.
    pub fn ask<R: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Bridge, Time) -> R + Send + 'static,
    ) -> Result<R, Ended> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.post(move |bridge, now| {
            let _ = answer.send(task(bridge, now));
        })?;
        answered.recv().map_err(|_| Ended)
    }
}

impl Bridge {
    /// A bridge between `network` and its hosts, each with its port. What is for no node leaves at the host with the number
    /// in `outlet` by the port there.
    ///
    /// # Errors
    /// No file descriptors are left.
    pub fn new(
        network: Network,
        clock: Clock,
        plan: Plan,
        hosts: Vec<(Host, Box<dyn Port>)>,
        outlet: Option<(usize, Box<dyn Port>)>,
    ) -> io::Result<(Bridge, Handle)> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let event = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        epoll.add(event.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, EVENT))?;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        let beyond = outlet.map(|(number, port)| (hosts[number].0.clone(), port));
        let has_outlet = beyond.is_some();
        let ways = hosts.into_iter().chain(beyond);
        let ways: Vec<_> = ways.map(|(host, port)| Way { host, port, entered: 0, refused: 0 }).collect();
        let outlet = has_outlet.then(|| ways.len() - 1);
        for (number, way) in ways.iter().enumerate() {
            epoll.add(way.port.fd(), EpollEvent::new(EpollFlags::EPOLLIN, number as u64))?;
        }
        let (sender, requests) = mpsc::channel();
        let handle = Handle { requests: sender, event: Arc::clone(&event) };
        let bridge = Bridge {
            network,
            clock,
            plan,
            ways,
            outlet,
            epoll,
            timer,
            event,
            requests,
            pool: Vec::new(),
            rest: vec![0; 65_536].into_boxed_slice(),
            stopping: false,
            lateness: Lateness::default(),
            wakeups: Lateness::default(),
            strays: 0,
        };
        Ok((bridge, handle))
    }

    /// Runs until `end`, or until [`stop`](Self::stop).
    ///
    /// # Errors
    /// A port broke.
    pub fn run(&mut self, end: Option<Time>) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); 64];
        let mut rested = self.clock.now();
        loop {
            let now = self.advance()?;
            if self.stopping || end.is_some_and(|end| end <= now) {
                return Ok(());
            }
            if now.since(rested) > UNINTERRUPTED {
                let _ = clock_nanosleep(
                    nix::time::ClockId::CLOCK_MONOTONIC,
                    ClockNanosleepFlags::empty(),
                    &TimeSpec::from_duration(PAUSE),
                );
                rested = self.clock.now();
            }
            let ready = self.epoll.wait(&mut events, EpollTimeout::ZERO)?;
            if ready > 0 {
                self.serve(&events[..ready])?;
                continue;
            }
            let next = [self.network.next_wake(), end].into_iter().flatten().min();
            let alarm = next.map(|next| Time::from_nanos(next.as_nanos().saturating_sub(MARGIN.as_nanos())));
            if alarm.is_some_and(|alarm| alarm <= self.clock.now()) {
                std::hint::spin_loop();
                continue;
            }
            self.arm(alarm)?;
            let ready = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => 0,
                other => other?,
            };
            rested = self.clock.now();
            if let Some(alarm) = alarm.filter(|alarm| *alarm <= rested) {
                self.wakeups.add(rested.since(alarm));
            }
            self.serve(&events[..ready])?;
        }
    }

    /// Ends [`run`](Self::run) after the current turn.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Does all that is due; returns the time.
    #[inline]
    fn advance(&mut self) -> io::Result<Time> {
        let now = self.clock.now();
        self.network.step(now);
        self.hand_out()?;
        Ok(now)
    }

    fn arm(&self, alarm: Option<Time>) -> io::Result<()> {
        match alarm {
            Some(alarm) => {
                let at = TimeSpec::from_duration(Duration::from_nanos(self.clock.monotonic_at(alarm)));
                self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            }
            None => self.timer.unset()?,
        }
        Ok(())
    }

    fn serve(&mut self, events: &[EpollEvent]) -> io::Result<()> {
        for event in events {
            match event.data() {
                TIMER => {
                    let _ = nix::unistd::read(&self.timer, &mut [0; 8]);
                }
                EVENT => {
                    let _ = self.event.read();
                    while let Ok(request) = self.requests.try_recv() {
                        let now = self.advance()?;
                        request(self, now);
                        self.hand_out()?;
                    }
                }
                number => self.take_in(number as usize)?,
            }
        }
        Ok(())
    }

    /// Takes the packets that a host has sent.
    fn take_in(&mut self, number: usize) -> io::Result<()> {
        for _ in 0..TURN {
            if self.pool.is_empty() {
                self.recycle_dropped();
            }
            let mut buffer = self.pool.pop().unwrap_or_else(|| vec![0; BUFFER].into_boxed_slice());
            let Some(size) = self.ways[number].port.read(&mut buffer, &mut self.rest)? else {
                self.pool.push(buffer);
                break;
            };
            if size > BUFFER {
                let tail = &self.rest[..size - BUFFER];
                let mut whole = Vec::with_capacity(size);
                whole.extend_from_slice(&buffer);
                whole.extend_from_slice(tail);
                self.pool.push(std::mem::replace(&mut buffer, whole.into_boxed_slice()));
            }
            let now = self.advance()?;
            self.enter(number, now, buffer, size)?;
        }
        Ok(())
    }

    #[inline]
    fn enter(&mut self, number: usize, now: Time, buffer: Box<[u8]>, size: usize) -> io::Result<()> {
        let headers = frame::parse(&buffer[..size]);
        let outlet = self.outlet.map(|outlet| self.ways[outlet].host.node);
        let destination = headers.and_then(|headers| match self.plan.node(headers.destination) {
            None if headers.destination.is_multicast() => None,
            None => outlet,
            node => node,
        });
        let (Some(headers), Some(destination)) = (headers, destination) else {
            // A host's neighbour discovery and the like: for nobody in the network.
            self.strays += 1;
            self.pool.push(buffer);
            return Ok(());
        };
        let way = &mut self.ways[number];
        let packet = Packet {
            birth: now,
            number: way.entered,
            size: size as u32,
            flow: headers.flow,
            source: way.host.node,
            destination,
            dscp: headers.dscp,
            ecn: headers.ecn,
            body: Body::Frame(buffer),
        };
        way.entered = way.entered.wrapping_add(1);
        self.network.inject(now, way.host.gate, gate::HOST, packet);
        self.hand_out()
    }

    /// Hands the hosts what the network has let go.
    #[inline]
    fn hand_out(&mut self) -> io::Result<()> {
        while let Some(leaving) = self.network.out().next_leaving() {
            let packet = leaving.packet;
            let Body::Frame(mut buffer) = packet.body else {
                self.strays += 1;
                continue;
            };
            let bytes = &mut buffer[..packet.size as usize];
            let mut number = leaving.gate as usize;
            if let Some(outlet) =
                self.outlet.filter(|outlet| self.ways[*outlet].host.gate == self.ways[number].host.gate)
            {
                let destination = frame::parse(bytes).map(|headers| headers.destination);
                if destination.is_some_and(|destination| self.plan.node(destination).is_none()) {
                    number = outlet;
                }
            }
            let way = &mut self.ways[number];
            if packet.ecn == Ecn::Ce {
                frame::mark_congestion(bytes);
            }
            if !way.port.write(bytes)? {
                way.refused += 1;
            }
            self.lateness.add(self.clock.now().since(leaving.due));
            self.reuse(buffer);
        }
        Ok(())
    }

    #[inline]
    fn reuse(&mut self, buffer: Box<[u8]>) {
        if buffer.len() == BUFFER {
            self.pool.push(buffer);
        }
    }

    fn recycle_dropped(&mut self) {
        let spare = self.network.out().spare();
        self.pool.extend(spare.drain(..).filter(|buffer| buffer.len() == BUFFER));
    }

    /// The network, for what its stages and its outbox have to say.
    pub fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// How late packets reached their hosts.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// How late the thread was woken by its timer.
    pub fn wakeups(&self) -> &Lateness {
        &self.wakeups
    }

    /// Packets lost between the hosts and the engine, which no model dropped: in the kernel's queues, and where a host
    /// had no room.
    pub fn lost(&self) -> u64 {
        self.ways.iter().map(|way| way.port.lost() + way.refused).sum()
    }

    /// Packets that were for nobody in the network: multicast, unknown addresses, no IP.
    pub fn strays(&self) -> u64 {
        self.strays
    }
}
