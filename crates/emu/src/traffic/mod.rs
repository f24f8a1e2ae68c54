//! The scenario's flows over real sockets: one thread, and the applications of the simulation.

mod info;
mod limits;
mod log;
mod rows;
pub mod settings;
mod tcp;
mod udp;

use crate::bridge::Handle;
use crate::clock::Clock;
use crate::error::{Doing, Error};
use crate::lateness::Lateness;
use crate::live::LiveHost;
use crate::variants::Variants;
use bentpipe_core::{address, FlowId, NodeId, Probe, Report, Span, Streams, Table, Time};
use bentpipe_engine::scenario::{Endpoints, Flow, Scenario};
use bentpipe_engine::Wakes;
use bentpipe_kernel::Log;
use bentpipe_models::app::End;
use bentpipe_models::transport::hosting::{Hosted, Site};
use bentpipe_models::transport::{tcp as tcp_model, udp as udp_model, Config};
use log::{Seen, Sockets, Statistics, TcpLog};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use rows::Rows;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How often TCP_INFO is asked where the kernel gives no log of acknowledgments.
const POLL: Span = Span::from_millis(10);
/// Time between two questions to one connection for each that there is, so that asking takes a few percent of the time.
const POLL_EACH: Span = Span::from_micros(50);
/// Longest time in which nobody looks whether to stop.
const LOOK: Span = Span::from_millis(50);
/// Timers that are served before sockets get their turn.
const TURN: usize = 1024;
const TIMER: u64 = u64::MAX;

/// What an end has at hand while it is called.
pub struct Watch<'a> {
    epoll: &'a Epoll,
    token: u64,
    scratch: &'a mut [u8],
    rows: &'a mut Rows,
    late: &'a mut Lateness,
    probes: Probes,
}

impl Watch<'_> {
    fn add(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let events =
            EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        Ok(self.epoll.add(fd, EpollEvent::new(events, self.token))?)
    }

    fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(self.epoll.delete(fd)?)
    }

    fn delivered(&mut self, now: Time, bytes: u64) {
        self.rows.add(self.probes.arrival, now, &[bytes as f64, f64::NAN]);
    }

    fn datagram(&mut self, now: Time, values: [f64; 4]) {
        self.rows.add(self.probes.arrival, now, &values);
    }
}

/// Traces of an end.
#[derive(Clone, Copy, Debug, Default)]
struct Probes {
    tcp: Option<Probe>,
    /// `delivery` or `datagram`.
    arrival: Option<Probe>,
}

enum Endpoint {
    Tcp(Box<tcp::Endpoint>),
    Udp(Box<udp::Endpoint>),
}

/// Flows that are ready to begin.
pub struct Traffic {
    ends: Vec<(Endpoint, Probes)>,
    sockets: BTreeMap<Sockets, Seen>,
    /// The kernel's log of its connections, where there are any and it can be had.
    log: Option<Log>,
    notes: Vec<String>,
}

/// The flows of `scenario` that are the kernel's, with their numbers.
pub fn flows(scenario: &Scenario) -> impl Iterator<Item = (FlowId, &Flow)> {
    let all = scenario.flow.iter().enumerate().map(|(number, flow)| (FlowId(number as u32), flow));
    all.filter(|(_, flow)| flow.endpoints == Endpoints::Kernel)
}

impl Traffic {
    /// Makes the sockets of all flows of `scenario` that are the kernel's in their hosts. `probe` opens traces.
    ///
    /// # Errors
    /// A socket cannot be had as the scenario wants it.
    pub fn new(
        scenario: &Scenario,
        seed: (u64, u64),
        hosts: &[LiveHost],
        variants: &Variants,
        probe: &mut dyn FnMut(&'static Table, &str) -> Option<Probe>,
    ) -> Result<Traffic, Error> {
        let streams = Streams::new(seed.0, seed.1);
        let mut traffic = Traffic {
            ends: Vec::new(),
            sockets: BTreeMap::new(),
            log: None,
            notes: variants.notes().to_vec(),
        };
        let mut made: Vec<(usize, Planned<'_>)> = Vec::new();
        for (id, flow) in flows(scenario).filter(|(_, flow)| !flow.is_command()) {
            let node =
                |name: &str| hosts.iter().position(|host| host.name == name).expect("all ends are hosts");
            let (from, to) = (node(&flow.from), node(&flow.to));
            // The destination first, so that it listens before the source calls.
            for (end, at, peer) in [(End::Destination, to, from), (End::Source, from, to)] {
                made.push((at, Planned { id, flow, end, hosts: (&hosts[at], &hosts[peer]) }));
            }
            if let Config::Tcp(config) = &flow.transport {
                for note in settings::impossible(config) {
                    let note = format!("{}: {note}", flow.name);
                    traffic.notes.push(note);
                }
            }
        }
        limits::make_room(made.len() as u64)?;
        let mut endpoints: Vec<Option<Endpoint>> = made.iter().map(|_| None).collect();
        for (at, host) in hosts.iter().enumerate() {
            let own = made.iter().zip(&mut endpoints).filter(|((own, _), _)| *own == at);
            let all = host.namespace.within(|| {
                for ((_, planned), endpoint) in own {
                    *endpoint = Some(planned.make(&streams, variants)?);
                }
                Ok(())
            });
            all.doing(format!("entering host {}", host.name))??;
        }
        for (number, ((_, planned), endpoint)) in made.iter().zip(endpoints).enumerate() {
            let probes = planned.probes(probe);
            if let Config::Tcp(_) = &planned.flow.transport {
                let (local, remote) = planned.addresses();
                traffic
                    .sockets
                    .insert((local.into(), remote.into()), Seen { end: number, probe: probes.tcp });
            }
            traffic.ends.push((endpoint.expect("every end is at a host"), probes));
        }
        if !traffic.sockets.is_empty() {
            let namespaces: Vec<u64> = hosts.iter().map(|host| host.namespace.inode()).collect();
            traffic.notes.push(match log::attach(&namespaces) {
                Ok(log) => {
                    traffic.log = Some(log);
                    "the trace tcp is the kernel's, acknowledgment by acknowledgment (BPF)".to_owned()
                }
                Err(why) => format!(
                    "the trace tcp is TCP_INFO every 10 ms or more, and round-trip times are smoothed ones: {why}"
                ),
            });
        }
        Ok(traffic)
    }

    /// What is worth knowing about how the flows are run, for the provenance.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Runs the flows until `end`, or until `stop` says so; it is asked every 50 ms.
    ///
    /// # Errors
    /// The kernel has no more file descriptors or memory.
    pub fn run(
        mut self,
        clock: Clock,
        end: Time,
        handle: &Handle,
        stop: &dyn Fn() -> bool,
    ) -> Result<Ran, Error> {
        crate::sys::exact_timers();
        let log = self.log.take().and_then(|log| {
            let ends = std::mem::take(&mut self.sockets);
            TcpLog::start(log, ends, clock, Rows::new(handle.clone()), end).ok()
        });
        let mut driver = Driver {
            clock,
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("running the flows")?,
            rows: Rows::new(handle.clone()),
            scratch: vec![0; 256 << 10],
            late: Lateness::default(),
            due: Wakes::new(self.ends.len()),
            polls: log.is_none(),
        };
        let outcome = driver.run(&mut self.ends, end, stop);
        for (endpoint, _) in &mut self.ends {
            if let Endpoint::Tcp(tcp) = endpoint {
                tcp.finish();
            }
        }
        let lateness = driver.late.clone();
        drop(driver);
        outcome.doing("running the flows")?;
        let statistics = log.map(TcpLog::finish);
        if let Some(lost) = statistics.as_ref().map(|statistics| statistics.lost).filter(|lost| *lost > 0) {
            self.notes.push(format!("{lost} events of the kernel's TCP were lost on the way to the trace"));
        }
        Ok(Ran { ends: self.ends, statistics, lateness, notes: self.notes })
    }
}

/// Flows that have run.
pub struct Ran {
    ends: Vec<(Endpoint, Probes)>,
    /// From the log, if there was one.
    statistics: Option<Statistics>,
    lateness: Lateness,
    notes: Vec<String>,
}

impl Ran {
    /// Writes the rows of the flows.
    pub fn report(&mut self, report: &mut Report) {
        for (number, (endpoint, _)) in self.ends.iter_mut().enumerate() {
            match endpoint {
                Endpoint::Tcp(tcp) => {
                    let seen = self.statistics.as_mut().map(|statistics| statistics.senders.remove(&number));
                    let logged = seen.is_some();
                    if let Some(seen) = seen.flatten() {
                        tcp.sent.rtt = seen.rtt;
                        tcp.sent.retransmissions = seen.retransmissions;
                        tcp.sent.timeouts = seen.timeouts;
                    }
                    tcp.report(logged, report);
                    if let Some((_, failure)) = &tcp.failure {
                        self.notes.push(format!("{}: {failure}", tcp.site.name));
                    }
                }
                Endpoint::Udp(udp) => {
                    udp.report(report);
                    let drops = udp.drops();
                    if drops > 0 {
                        self.notes.push(format!(
                            "{}: {drops} datagrams found no room in the socket",
                            udp.site.name
                        ));
                    }
                    if udp.refused > 0 {
                        self.notes.push(format!(
                            "{}: {} datagrams were not taken by the kernel",
                            udp.site.name, udp.refused
                        ));
                    }
                }
            }
        }
    }

    /// How late datagrams were handed to the kernel, after the moment at which the application wanted to send them.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// What is worth knowing about how they ran.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// An end that is still to be made.
struct Planned<'a> {
    id: FlowId,
    flow: &'a Flow,
    end: End,
    hosts: (&'a LiveHost, &'a LiveHost),
}

impl Planned<'_> {
    fn addresses(&self) -> (SocketAddrV4, SocketAddrV4) {
        let (own, peer) = self.hosts;
        let (low, high) = address::ports(self.id);
        let of = |node: NodeId, other: NodeId| if node < other { low } else { high };
        let local = SocketAddrV4::new(own.ipv4, of(own.node, peer.node));
        let remote = SocketAddrV4::new(peer.ipv4, of(peer.node, own.node));
        (local, remote)
    }

    fn probes(&self, probe: &mut dyn FnMut(&'static Table, &str) -> Option<Probe>) -> Probes {
        let name = &self.flow.name;
        let reverse = format!("{name}.reverse");
        let (sender, receiver) = match self.end {
            End::Source => (name, &reverse),
            End::Destination => (&reverse, name),
        };
        match (&self.flow.transport, self.end) {
            (Config::Tcp(_), _) => Probes {
                tcp: probe(&tcp_model::endpoint::TRACE, sender),
                arrival: probe(&tcp_model::endpoint::DELIVERY, receiver),
            },
            (Config::Udp(_), End::Destination) => {
                Probes { tcp: None, arrival: probe(&udp_model::TRACE, name) }
            }
            (Config::Udp(_), End::Source) => Probes::default(),
        }
    }

    /// Makes the end, in its host's namespace.
    fn make(&self, streams: &Streams, variants: &Variants) -> Result<Endpoint, Error> {
        let (own, peer) = self.hosts;
        let part = match self.end {
            End::Source => "source",
            End::Destination => "destination",
        };
        let site = Site {
            flow: self.id,
            name: self.flow.name.clone(),
            node: own.node,
            peer: peer.node,
            end: self.end,
            start: Time::ZERO + self.flow.start,
            dscp: self.flow.dscp.value() as u8,
            capture: None,
        };
        let mut stream = streams.stream(&format!("{}.{part}", self.flow.name));
        if let Config::Tcp(_) = &self.flow.transport {
            // What the simulated endpoint draws for itself, so that the application's draws are the same.
            stream.bits();
        }
        let hosted = Hosted::new(&site, self.flow.app.build(self.end), stream);
        let (local, remote) = self.addresses();
        let made = match &self.flow.transport {
            Config::Tcp(config) => {
                tcp::Endpoint::new(site, hosted, config, variants.name(config), local, remote)
                    .map(|end| Endpoint::Tcp(Box::new(end)))
            }
            Config::Udp(_) => {
                udp::Endpoint::new(site, hosted, local, remote).map(|end| Endpoint::Udp(Box::new(end)))
            }
        };
        made.doing(format!("making the socket of flow {} at host {}", self.flow.name, own.name))
    }
}

struct Driver {
    clock: Clock,
    epoll: Epoll,
    rows: Rows,
    scratch: Vec<u8>,
    late: Lateness,
    /// When to wake which end.
    due: Wakes,
    polls: bool,
}

impl Driver {
    fn run(&mut self, ends: &mut [(Endpoint, Probes)], end: Time, stop: &dyn Fn() -> bool) -> io::Result<()> {
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        self.epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        for (number, (endpoint, probes)) in ends.iter().enumerate() {
            let fd = match endpoint {
                Endpoint::Tcp(tcp) if tcp.listens() => tcp.fd(),
                Endpoint::Udp(udp) => udp.fd(),
                Endpoint::Tcp(_) => {
                    self.schedule(number, endpoint);
                    continue;
                }
            };
            self.watch(number, *probes).add(fd)?;
            self.schedule(number, endpoint);
        }
        let mut events = [EpollEvent::empty(); 256];
        let mut next_look = Time::ZERO;
        let mut next_poll = Time::ZERO;
        loop {
            let now = self.clock.now();
            if now >= next_look {
                if now >= end || stop() {
                    return Ok(());
                }
                self.rows.flush();
                next_look = (now + LOOK).min(end);
            }
            if self.polls && now >= next_poll {
                let asked = self.poll(ends, now);
                next_poll = now + POLL.max(POLL_EACH * asked);
            }
            for _ in 0..TURN {
                let Some((_, number)) = self.due.first().filter(|(time, _)| *time <= self.clock.now()) else {
                    break;
                };
                self.call(number as usize, &mut ends[number as usize], false)?;
            }
            let mut alarm = self.due.first().map_or(next_look, |(time, _)| time.min(next_look));
            if self.polls {
                alarm = alarm.min(next_poll);
            }
            let at = TimeSpec::from_duration(Duration::from_nanos(self.clock.monotonic_at(alarm).max(1)));
            timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            let ready = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => 0,
                other => other?,
            };
            for event in &events[..ready] {
                match event.data() {
                    TIMER => drop(nix::unistd::read(&timer, &mut [0; 8])),
                    number => self.call(number as usize, &mut ends[number as usize], true)?,
                }
            }
        }
    }

    fn call(&mut self, number: usize, end: &mut (Endpoint, Probes), is_ready: bool) -> io::Result<()> {
        let clock = self.clock;
        let (endpoint, probes) = end;
        let mut watch = self.watch(number, *probes);
        match (&mut *endpoint, is_ready) {
            (Endpoint::Tcp(tcp), true) => tcp.ready(clock, &mut watch)?,
            (Endpoint::Tcp(tcp), false) => tcp.wake(clock, &mut watch)?,
            (Endpoint::Udp(udp), true) => udp.ready(clock, &mut watch)?,
            (Endpoint::Udp(udp), false) => udp.wake(clock, &mut watch)?,
        }
        self.schedule(number, endpoint);
        Ok(())
    }

    fn schedule(&mut self, number: usize, endpoint: &Endpoint) {
        let next = match endpoint {
            Endpoint::Tcp(tcp) => tcp.next_wake(),
            Endpoint::Udp(udp) => udp.next_wake(),
        };
        self.due.set(number as u32, (next != Time::MAX).then_some(next));
    }

    fn watch(&mut self, number: usize, probes: Probes) -> Watch<'_> {
        Watch {
            epoll: &self.epoll,
            token: number as u64,
            scratch: &mut self.scratch,
            rows: &mut self.rows,
            late: &mut self.late,
            probes,
        }
    }

    /// The trace `tcp` and the statistics of senders, from what the kernel says when asked; returns how often it was. As
    /// with the log, there is a row only where something has been acknowledged or has timed out.
    fn poll(&mut self, ends: &mut [(Endpoint, Probes)], now: Time) -> u64 {
        let mut asked = 0;
        for (endpoint, probes) in ends {
            let Endpoint::Tcp(tcp) = endpoint else { continue };
            let Some(info) = tcp.info() else { continue };
            asked += 1;
            if info.data_segments_out() == 0 {
                continue;
            }
            let row = info.row(tcp.site.end == End::Source);
            let [.., acknowledged, _, _, timeouts, _] = row;
            let [.., last_acknowledged, _, _, last_timeouts, _] = tcp.traced.unwrap_or([0.0; 12]);
            if acknowledged > last_acknowledged {
                tcp.sent.rtt.add(Span::from_micros(info.srtt().into()));
            }
            if acknowledged > last_acknowledged || timeouts > last_timeouts {
                tcp.traced = Some(row);
                self.rows.add(probes.tcp, now, &row);
            }
        }
        asked
    }
}
