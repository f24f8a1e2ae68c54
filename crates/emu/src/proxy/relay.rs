//! The thread of a proxy: opens and accepts connections, and copies their data.

use super::line::{self, Counters, Line, DESTINATION};
use super::port::{Inbox, Key, Syn};
use super::{SideHost, SplitFlow};
use crate::clock::{Clock, Scheduling, Timing};
use crate::flows::traffic::info::Info;
use crate::flows::traffic::poll::{self, Polled};
use crate::flows::traffic::rows::Rows;
use crate::flows::traffic::sockets::{self, Sockets};
use crate::flows::variants::Variants;
use bentpipe_core::{Probe, Report, Time};
use bentpipe_engine::RealProxy;
use bentpipe_networks::node::proxy::directions_at;
use bentpipe_networks::node::proxy::split::{self, Accept, REPORT};
use bentpipe_transport::tcp;
use nix::errno::Errno;
use nix::sched::{setns, CloneFlags};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{connect, getpeername, getsockopt, listen, sockopt, Backlog, SockaddrIn};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Event number of arriving SYNs.
const ARRIVED: u64 = u64::MAX;
/// The first event number of listening sockets. Lower numbers are those of lines.
const LISTENERS: u64 = 1 << 62;
/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// A proxy, as its thread sees it.
pub struct Relay {
    name: String,
    config: split::Config,
    flows: Vec<SplitFlow>,
    sides: Vec<SideHost>,
    inbox: Arc<Inbox>,
    /// The kernel's names of congestion controls, by the settings of a leg.
    congestion: Vec<(tcp::Config, String)>,
    listeners: Vec<(usize, SocketAddrV4, OwnedFd)>,
    lines: Vec<Option<Split>>,
    /// Numbers of unused places in `lines`.
    free: Vec<usize>,
    by_key: BTreeMap<Key, usize>,
    /// Totals of ended connections, by flow.
    totals: Vec<[Counters; 2]>,
    /// Number of connections so far, by flow.
    opened: Vec<usize>,
    connections: u64,
    broken: u64,
}

/// A connection with its place in the proxy.
struct Split {
    line: Line,
    key: Key,
    /// Index of the flow, if the connection belongs to a flow of the scenario.
    flow: Option<usize>,
    /// The SYN that the kernel has not got yet.
    syn: Option<Syn>,
    /// The senders towards the source and towards the destination, with their traces.
    senders: [(Polled, Option<Probe>); 2],
}

/// A proxy whose thread has ended.
pub struct Ended {
    relay: Relay,
    outcome: io::Result<()>,
}

impl Relay {
    /// Creates the proxy of a network, with the namespaces of its sides.
    pub fn new(
        proxy: RealProxy,
        flows: Vec<SplitFlow>,
        sides: Vec<SideHost>,
        inbox: Arc<Inbox>,
        variants: &Variants,
    ) -> Relay {
        let congestion = super::configs(&proxy).into_iter();
        let congestion =
            congestion.map(|config| (config.clone(), variants.name(&config).to_owned())).collect();
        let totals = flows.iter().map(|_| Default::default()).collect();
        let opened = vec![0; flows.len()];
        Relay {
            name: proxy.name,
            config: proxy.config,
            flows,
            sides,
            inbox,
            congestion,
            listeners: Vec::new(),
            lines: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            totals,
            opened,
            connections: 0,
            broken: 0,
        }
    }

    /// Returns the inbox, whose event wakes the thread.
    pub fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.inbox)
    }

    /// Runs until `stop` is true, and writes the traces of the connections to `rows`.
    pub fn run(mut self, clock: Clock, mut rows: Rows, stop: &AtomicBool) -> Ended {
        match clock.timing() {
            Timing::Real => crate::sys::exact_timers(),
            Timing::Virtual => _ = Scheduling::best(),
        }
        let outcome = self.serve(clock, &mut rows, stop);
        for split in self.lines.iter_mut().flatten() {
            split.line.count(None);
        }
        Ended { relay: self, outcome }
    }

    fn serve(&mut self, clock: Clock, rows: &mut Rows, stop: &AtomicBool) -> io::Result<()> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&self.inbox.event, EpollEvent::new(EpollFlags::EPOLLIN, ARRIVED))?;
        let mut events = [EpollEvent::empty(); 64];
        let mut next_poll = Time::ZERO;
        while !stop.load(Ordering::Relaxed) {
            let now = clock.now();
            if now >= next_poll {
                next_poll = now + poll::interval(self.poll(now, rows));
            }
            // Without connections, the thread sleeps until the next SYN.
            let pause = Duration::from_micros(next_poll.since(now).as_micros() + 1000);
            let timeout = match self.by_key.is_empty() {
                true => EpollTimeout::NONE,
                false => EpollTimeout::try_from(pause).unwrap_or(EpollTimeout::MAX),
            };
            let count = match epoll.wait(&mut events, timeout) {
                Ok(count) => count,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for event in &events[..count] {
                match event.data() {
                    ARRIVED => self.take_syns(clock, &epoll)?,
                    number if number >= LISTENERS => {
                        while self.accept((number - LISTENERS) as usize, clock, &epoll)? {}
                    }
                    number => self.ready(number as usize, clock, &epoll),
                }
            }
        }
        Ok(())
    }

    /// Opens the connections of the SYNs that have arrived.
    fn take_syns(&mut self, clock: Clock, epoll: &Epoll) -> io::Result<()> {
        let _ = self.inbox.event.read();
        let syns = std::mem::take(&mut self.inbox.open().syns);
        for syn in syns {
            let key = syn.key;
            if self.open(syn, clock, epoll).is_err() {
                // The source repeats its SYN. Other connections continue.
                self.inbox.open().known.remove(&key);
                self.broken += 1;
            }
        }
        Ok(())
    }

    fn open(&mut self, syn: Syn, clock: Clock, epoll: &Epoll) -> io::Result<()> {
        let (source, destination) = syn.key;
        let beyond =
            |address: SocketAddrV4| self.sides.iter().position(|side| side.hosts.contains(address.ip()));
        let Some(other) = beyond(destination).filter(|other| *other != syn.side) else {
            self.inbox.open().known.remove(&syn.key);
            return Ok(());
        };
        let flow = self.flow_of(source, destination);
        if self.config.accept == Accept::Early {
            self.listen(syn.side, destination, flow, epoll)?;
        }
        setns(&self.sides[other].namespace, CloneFlags::CLONE_NEWNET)?;
        let socket = self.sockets(other, flow, source)?.make(source.port())?;
        match connect(socket.as_raw_fd(), &SockaddrIn::from(destination)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let number = self.free.pop().unwrap_or(self.lines.len());
        sockets::watch(epoll, socket.as_fd(), number as u64)?;
        let line = Line::new(socket, self.config.buffer.bytes());
        let key = syn.key;
        let probes = flow.and_then(|flow| self.flows[flow].probes.get(self.opened[flow]).copied());
        if let Some(flow) = flow {
            self.opened[flow] += 1;
        }
        let senders = probes.unwrap_or_default().map(|probe| (Polled::default(), probe));
        let mut split = Split { line, key, flow, syn: Some(syn), senders };
        if self.config.accept == Accept::Early {
            release(&self.inbox, &mut self.sides, &mut split)?;
        }
        if number == self.lines.len() {
            self.lines.push(None);
        }
        self.lines[number] = Some(split);
        self.by_key.insert(key, number);
        self.connections += 1;
        self.ready(number, clock, epoll);
        Ok(())
    }

    /// Returns the flow of a connection: the one with these addresses and ports, or one between the
    /// same hosts, whose program chooses its own ports.
    fn flow_of(&self, source: SocketAddrV4, destination: SocketAddrV4) -> Option<usize> {
        let between =
            |flow: &SplitFlow| flow.source == *source.ip() && flow.destination.ip() == destination.ip();
        let exact = self.flows.iter().position(|flow| between(flow) && flow.destination == destination);
        exact.or_else(|| self.flows.iter().position(between))
    }

    /// Returns the settings of sockets of a side, at the address `local`.
    fn sockets(&self, side: usize, flow: Option<usize>, local: SocketAddrV4) -> io::Result<Sockets> {
        let (side, flow) = (&self.sides[side], flow.map(|flow| &self.flows[flow].served));
        let config = self.config.side(&side.link, flow.and_then(|flow| flow.transport.tcp()));
        let known = self.congestion.iter().find(|(other, _)| *other == config);
        let congestion = known.map_or(&config.congestion, |(_, name)| name);
        let dscp = flow.map_or(0, |flow| flow.dscp);
        Ok(Sockets::new(side.namespace.again()?, &config, congestion, dscp, local, local))
    }

    /// Listens for connections to `destination` in the namespace of a side.
    fn listen(
        &mut self,
        side: usize,
        destination: SocketAddrV4,
        flow: Option<usize>,
        epoll: &Epoll,
    ) -> io::Result<()> {
        if self.listeners.iter().any(|(at, address, _)| (*at, *address) == (side, destination)) {
            return Ok(());
        }
        setns(&self.sides[side].namespace, CloneFlags::CLONE_NEWNET)?;
        let socket = self.sockets(side, flow, destination)?.make(destination.port())?;
        listen(&socket, Backlog::new(BACKLOG)?)?;
        let number = LISTENERS + self.listeners.len() as u64;
        epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, number))?;
        self.listeners.push((side, destination, socket));
        Ok(())
    }

    /// Accepts a connection. Returns false if none is waiting.
    fn accept(&mut self, listener: usize, clock: Clock, epoll: &Epoll) -> io::Result<bool> {
        let (_, destination, socket) = &self.listeners[listener];
        let destination = *destination;
        let Some((socket, peer)) = sockets::accept(socket)? else { return Ok(false) };
        let number = self.by_key.get(&(peer, destination)).copied();
        let split = number.and_then(|number| Some((number, self.lines[number].as_mut()?)));
        let Some((number, split)) = split.filter(|(_, split)| !split.line.is_accepted()) else {
            // The destination has refused the connection.
            line::reset(&socket);
            return Ok(true);
        };
        sockets::watch(epoll, socket.as_fd(), number as u64)?;
        split.line.accept(clock.now(), socket);
        split.line.limit(self.config.buffer.bytes());
        self.ready(number, clock, epoll);
        Ok(true)
    }

    /// Handles the events of a connection. A connection that fails does not affect others.
    fn ready(&mut self, number: usize, clock: Clock, epoll: &Epoll) {
        let advanced = self.advance(number, clock, epoll);
        let Some(Some(split)) = self.lines.get_mut(number) else { return };
        if advanced.is_err() {
            split.line.abort();
        }
        if split.line.has_ended() {
            self.end(number);
        }
    }

    fn advance(&mut self, number: usize, clock: Clock, epoll: &Epoll) -> io::Result<()> {
        let Some(Some(split)) = self.lines.get_mut(number) else { return Ok(()) };
        if split.line.opening {
            let Some(outcome) = opened(split.line.socket(DESTINATION)) else { return Ok(()) };
            split.line.opening = false;
            let (waits, flow, (_, destination)) =
                (split.syn.as_ref().map(|syn| syn.side), split.flow, split.key);
            if let Some(side) = waits.filter(|_| outcome.is_ok()) {
                self.listen(side, destination, flow, epoll)?;
            }
            let Some(Some(split)) = self.lines.get_mut(number) else { return Ok(()) };
            if matches!(outcome, Ok(()) | Err(Errno::ECONNREFUSED)) {
                // Without a listening socket, the kernel refuses the SYN.
                release(&self.inbox, &mut self.sides, split)?;
            }
            outcome?;
        }
        if let Some(Some(split)) = self.lines.get_mut(number) {
            split.line.pump(clock.now());
        }
        Ok(())
    }

    /// Writes rows of the trace `tcp` and measures the round-trip times of the scenario's flows.
    /// Returns the number of queries.
    fn poll(&mut self, now: Time, rows: &mut Rows) -> u64 {
        let mut asked = 0;
        for split in self.lines.iter_mut().flatten().filter(|split| split.flow.is_some()) {
            for (side, (sender, probe)) in split.senders.iter_mut().enumerate() {
                let info = split.line.socket(side).and_then(|socket| Info::of(socket.as_fd()).ok());
                let Some(info) = info else { continue };
                asked += 1;
                let sent = &mut split.line.counters[side].sent;
                sender.look(&info, side == DESTINATION, (now, *probe), rows, sent);
            }
        }
        rows.flush();
        asked
    }

    fn end(&mut self, number: usize) {
        let Some(split) = self.lines[number].take() else { return };
        self.broken += u64::from(split.line.broken);
        self.by_key.remove(&split.key);
        self.inbox.open().known.remove(&split.key);
        self.free.push(number);
        if let Some(flow) = split.flow {
            add(&mut self.totals[flow], split.line.counters);
        }
    }
}

/// Adds the counters of a connection to those of its flow.
fn add(totals: &mut [Counters; 2], counters: [Counters; 2]) {
    for (total, one) in totals.iter_mut().zip(counters) {
        total.sent.merge(&one.sent);
        total.received.delivered_bytes += one.received.delivered_bytes;
        total.received.delivered_packets += one.received.delivered_packets;
        total.received.last_delivery = total.received.last_delivery.max(one.received.last_delivery);
    }
}

/// Gives the SYN of a connection to the kernel, which answers it.
fn release(inbox: &Inbox, sides: &mut [SideHost], split: &mut Split) -> io::Result<()> {
    let Some(syn) = split.syn.take() else { return Ok(()) };
    inbox.open().known.insert(syn.key, true);
    sides[syn.side].packets.write_all(&syn.packet)
}

/// Returns the outcome of an opening connection, if there is one.
fn opened(socket: Option<&OwnedFd>) -> Option<Result<(), Errno>> {
    let socket = socket?;
    match getsockopt(socket, sockopt::SocketError) {
        Ok(0) => getpeername::<SockaddrIn>(socket.as_raw_fd()).ok().map(|_| Ok(())),
        Ok(error) => Some(Err(Errno::from_raw(error))),
        Err(error) => Some(Err(error)),
    }
}

impl Ended {
    /// Writes the rows of the proxy.
    ///
    /// # Errors
    /// Returns the error with which the proxy has ended.
    pub fn report(self, report: &mut Report) -> io::Result<()> {
        let Ended { mut relay, outcome } = self;
        let open = relay.lines.iter().flatten().count();
        for split in relay.lines.into_iter().flatten() {
            if let Some(flow) = split.flow {
                add(&mut relay.totals[flow], split.line.counters);
            }
        }
        for (flow, [source, destination]) in relay.flows.iter().zip(relay.totals) {
            let [there, back] = directions_at(&flow.served.name, &relay.name);
            if destination.sent.start.is_some() {
                source.received.report(&there, report);
                destination.sent.report(&there, report);
            }
            if destination.received.delivered_packets > 0 {
                destination.received.report(&back, report);
                source.sent.report(&back, report);
            }
        }
        let values = [relay.connections as f64, open as f64, relay.broken as f64, 0.0, f64::NAN, f64::NAN];
        report.row(&REPORT, &relay.name, &values);
        outcome
    }
}
