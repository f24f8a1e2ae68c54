//! The scenario's flows over real sockets: one thread, and the applications of the simulation.

mod info;
mod log;
mod rows;
pub mod settings;
mod tcp;
mod udp;

use crate::bridge::Handle;
use crate::clock::Clock;
use crate::error::{Doing, Error};
use crate::live::LiveHost;
use crate::variants::Variants;
use bentpipe_core::{address, FlowId, NodeId, Probe, Report, Span, Streams, Table, Time};
use bentpipe_engine::scenario::{Endpoints, Flow, Scenario};
use bentpipe_kernel::Log;
use bentpipe_models::app::End;
use bentpipe_models::transport::hosting::{Hosted, Site};
use bentpipe_models::transport::{tcp as tcp_model, udp as udp_model, Config};
use log::{Seen, Sockets, Statistics, TcpLog};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use rows::Rows;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How often TCP_INFO is asked where the kernel gives no log of acknowledgments.
const POLL: Span = Span::from_millis(10);
/// Longest time in which nobody looks whether to stop.
const LOOK: Span = Span::from_millis(50);
const TIMER: u64 = u64::MAX;

/// What an end has at hand while it is called.
pub struct Watch<'a> {
    epoll: &'a Epoll,
    token: u64,
    scratch: &'a mut [u8],
    rows: &'a mut Rows,
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
        for (id, flow) in flows(scenario) {
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
        for (number, (_, planned)) in made.iter().enumerate() {
            let probes = planned.probes(probe);
            if let Config::Tcp(_) = &planned.flow.transport {
                let (local, remote) = planned.addresses();
                traffic
                    .sockets
                    .insert((local.into(), remote.into()), Seen { end: number, probe: probes.tcp });
            }
            traffic.ends.push((planned.make(&streams, variants)?, probes));
        }
        if !traffic.sockets.is_empty() {
            let namespaces: Vec<u64> = hosts.iter().map(|host| host.namespace.inode()).collect();
            traffic.notes.push(match log::attach(&namespaces) {
                Ok(log) => {
                    traffic.log = Some(log);
                    "the trace tcp is the kernel's, acknowledgment by acknowledgment (BPF)".to_owned()
                }
                Err(why) => format!("the trace tcp is TCP_INFO every 10 ms, without BPF: {why}"),
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
            due: BinaryHeap::new(),
            polls: log.is_none(),
        };
        let outcome = driver.run(&mut self.ends, end, stop);
        for (endpoint, _) in &mut self.ends {
            if let Endpoint::Tcp(tcp) = endpoint {
                tcp.finish();
            }
        }
        drop(driver);
        outcome.doing("running the flows")?;
        let statistics = log.map(TcpLog::finish);
        if let Some(lost) = statistics.as_ref().map(|statistics| statistics.lost).filter(|lost| *lost > 0) {
            self.notes.push(format!("{lost} events of the kernel's TCP were lost on the way to the trace"));
        }
        Ok(Ran { ends: self.ends, statistics: statistics.unwrap_or_default(), notes: self.notes })
    }
}

/// Flows that have run.
pub struct Ran {
    ends: Vec<(Endpoint, Probes)>,
    statistics: Statistics,
    notes: Vec<String>,
}

impl Ran {
    /// Writes the rows of the flows.
    pub fn report(&mut self, report: &mut Report) {
        for (number, (endpoint, _)) in self.ends.iter_mut().enumerate() {
            match endpoint {
                Endpoint::Tcp(tcp) => {
                    if let Some(seen) = self.statistics.senders.remove(&number) {
                        tcp.sent.rtt = seen.rtt;
                        tcp.sent.retransmissions = seen.retransmissions;
                        tcp.sent.timeouts = seen.timeouts;
                    }
                    tcp.report(report);
                    if let Some(failure) = &tcp.failure {
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
        let stream = streams.stream(&format!("{}.{part}", self.flow.name));
        let hosted = Hosted::new(&site, self.flow.app.build(self.end), stream);
        let (local, remote) = self.addresses();
        let made = own.namespace.within(|| match &self.flow.transport {
            Config::Tcp(config) => {
                let congestion = variants.name(config);
                let end = tcp::Endpoint::new(site, hosted, config, congestion, local, remote)?;
                Ok(Endpoint::Tcp(Box::new(end)))
            }
            Config::Udp(_) => Ok(Endpoint::Udp(Box::new(udp::Endpoint::new(site, hosted, local, remote)?))),
        });
        made.and_then(|made| made)
            .doing(format!("making the socket of flow {} at host {}", self.flow.name, own.name))
    }
}

struct Driver {
    clock: Clock,
    epoll: Epoll,
    rows: Rows,
    scratch: Vec<u8>,
    /// When to wake which end. An end may stand here more than once; it does what is due, whoever wakes it.
    due: BinaryHeap<Reverse<(Time, usize)>>,
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
            watch(&self.epoll, &mut self.scratch, &mut self.rows, number, *probes).add(fd)?;
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
                self.poll(ends, now);
                next_poll = now + POLL;
            }
            while let Some(&Reverse((time, number))) = self.due.peek() {
                if time > self.clock.now() {
                    break;
                }
                self.due.pop();
                self.call(number, &mut ends[number], false)?;
            }
            let mut alarm = self.due.peek().map_or(next_look, |Reverse((time, _))| (*time).min(next_look));
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
        let mut watch = watch(&self.epoll, &mut self.scratch, &mut self.rows, number, *probes);
        match (&mut *endpoint, is_ready) {
            (Endpoint::Tcp(tcp), true) => tcp.ready(clock, &mut watch)?,
            (Endpoint::Tcp(tcp), false) => tcp.wake(clock, &mut watch)?,
            (Endpoint::Udp(udp), true) => udp.ready(clock, &mut watch)?,
            (Endpoint::Udp(udp), false) => udp.wake(clock)?,
        }
        self.schedule(number, endpoint);
        Ok(())
    }

    fn schedule(&mut self, number: usize, endpoint: &Endpoint) {
        let next = match endpoint {
            Endpoint::Tcp(tcp) => tcp.next_wake(),
            Endpoint::Udp(udp) => udp.next_wake(),
        };
        if next != Time::MAX {
            self.due.push(Reverse((next, number)));
        }
    }

    /// The trace `tcp` and the statistics of senders, from what the kernel says when asked.
    fn poll(&mut self, ends: &mut [(Endpoint, Probes)], now: Time) {
        for (endpoint, probes) in ends {
            let Endpoint::Tcp(tcp) = endpoint else { continue };
            let Some(info) = tcp.info() else { continue };
            if info.data_segments_out() == 0 {
                continue;
            }
            if info.srtt() > 0 {
                tcp.sent.rtt.add(Span::from_micros(info.srtt().into()));
            }
            self.rows.add(probes.tcp, now, &info.row());
        }
    }
}

fn watch<'a>(
    epoll: &'a Epoll,
    scratch: &'a mut [u8],
    rows: &'a mut Rows,
    number: usize,
    probes: Probes,
) -> Watch<'a> {
    Watch { epoll, token: number as u64, scratch, rows, probes }
}
