//! The scenario's flows over real sockets: one thread, and the applications of the simulation.

mod diag;
mod driver;
mod exact;
pub(crate) mod info;
mod limits;
mod line;
mod log;
pub(crate) mod poll;
mod quic;
pub(crate) mod rows;
pub mod settings;
pub(crate) mod sockets;
mod tcp;
mod threshold;
mod udp;
pub(crate) mod unapplied;

use crate::bridge::Handle;
use crate::clock::lateness::Lateness;
use crate::clock::{Clock, Scheduling, Timing};
use crate::error::{Doing, Error};
use crate::flows::variants::Variants;
use crate::host::live::LiveHost;
use crate::observer::Observer;
use bentpipe_bpf::Log;
use bentpipe_core::{address, FlowId, Probe, Report, Streams, Table, Time};
use bentpipe_engine::scenario::{Flow, Scenario};
use bentpipe_transport::app::{Connections, End, Transaction};
use bentpipe_transport::flow::SourceCounters;
use bentpipe_transport::hosting::{self, Hosted, Site};
use bentpipe_transport::tcp::endpoint::Probes;
use bentpipe_transport::{datagrams, names, quic as quic_model, tcp as tcp_model, Socket};
use driver::Driver;
use exact::{Exact, Watched};
use log::{Seen, Sockets, Statistics, TcpLog};
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use rows::Rows;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::BorrowedFd;

/// Number of connections that the kernel's log follows, for flows whose connections come and go.
const KNOWN: u16 = 4096;

/// The driver's services to an end during a call.
pub struct Watch<'a> {
    epoll: &'a Epoll,
    /// Number of the end in the driver.
    number: u64,
    scratch: &'a mut [u8],
    rows: &'a mut Rows,
    late: &'a mut Lateness,
    traces: Traces,
    exact: Option<&'a Exact>,
}

impl Watch<'_> {
    /// Watches the socket of a connection.
    fn add(&self, fd: BorrowedFd<'_>, connection: u16) -> io::Result<()> {
        sockets::watch(self.epoll, fd, u64::from(connection) << 32 | self.number)
    }

    /// Watches a socket only for the end of the arriving data, once the engine's thread discards
    /// the data. Earlier rows are written before the rows of that thread.
    fn only_its_end(&mut self, fd: BorrowedFd<'_>, connection: u16) -> io::Result<()> {
        self.rows.flush();
        let number = u64::from(connection) << 32 | self.number;
        Ok(self
            .epoll
            .modify(fd, &mut EpollEvent::new(EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET, number))?)
    }

    /// Records a new connection, which this end `opened` or accepted. It is watched as long as the
    /// returned value exists.
    fn connected(
        &self,
        connection: u16,
        opened: bool,
        probe: Option<Probe>,
        fd: BorrowedFd<'_>,
    ) -> io::Result<Option<Watched>> {
        let end = (self.number as usize, connection);
        self.exact.map(|exact| exact.watch(fd, opened, Seen { end, probe })).transpose()
    }

    fn datagram(&mut self, now: Time, values: [f64; 4]) {
        self.rows.add(self.traces.arrival, now, &values);
    }

    /// Adds a row of the application's own trace, if it has written one.
    fn measured(&mut self, now: Time, row: &[f64]) {
        if !row.is_empty() {
            self.rows.add(self.traces.measures, now, row);
        }
    }

    fn over(&mut self, now: Time, over: &Transaction) {
        self.rows.add(self.traces.transactions, now, &hosting::row(now, over));
    }
}

/// Probes of an end's traces.
#[derive(Clone, Copy, Debug, Default)]
struct Traces {
    /// Probe of the trace `datagram`, if it is recorded.
    arrival: Option<Probe>,
    transactions: Option<Probe>,
    /// Probe of the application's own trace, if it has one and it is recorded.
    measures: Option<Probe>,
}

/// An end with its connections and state.
struct Ending {
    endpoint: Endpoint,
    traces: Traces,
    /// Round-trip times of a sender whose connections are queried.
    asked: SourceCounters,
}

enum Endpoint {
    Tcp(Box<tcp::Endpoint>),
    Udp(Box<udp::Endpoint>),
    Quic(Box<quic::Endpoint>),
}

/// Flows that are ready to begin.
pub struct Traffic {
    ends: Vec<Ending>,
    sockets: BTreeMap<Sockets, Seen>,
    /// The kernel's log of the connections, if there are any and the log is available.
    log: Option<Log>,
    /// Queries by the engine's thread, in virtual time.
    exact: Option<Exact>,
    notes: Vec<String>,
    /// Keys of the scenario that the kernel cannot apply, a sentence each.
    unapplied: Vec<String>,
}

/// Returns the flows of `scenario` over the kernel's sockets, with their numbers.
pub fn flows(scenario: &Scenario) -> impl Iterator<Item = (FlowId, &Flow)> {
    let all = scenario.flow.iter().enumerate().map(|(number, flow)| (FlowId(number as u32), flow));
    all.filter(|(_, flow)| !flow.is_modelled())
}

/// Returns the ends of the flows with the index of their host. A destination comes before its
/// source, so that it listens when the source calls.
fn planned<'a>(scenario: &'a Scenario, hosts: &'a [LiveHost]) -> Result<Vec<(usize, Planned<'a>)>, Error> {
    let node = |name: &str| hosts.iter().position(|host| host.name == name).expect("all ends are hosts");
    let mut made = Vec::new();
    for (id, flow) in flows(scenario).filter(|(_, flow)| !flow.is_command()) {
        let (from, to) = (node(&flow.from), node(&flow.to));
        let secrets = match flow.transport.socket() {
            Some(Socket::Quic(config)) => {
                let secrets = quic::prepare(config);
                Some(secrets.doing(format!("making the certificate of flow {}", flow.name))?)
            }
            _ => None,
        };
        for (end, at, peer) in [(End::Destination, to, from), (End::Source, from, to)] {
            let hosts = (&hosts[at], &hosts[peer]);
            made.push((at, Planned { id, flow, end, hosts, secrets: secrets.clone() }));
        }
    }
    Ok(made)
}

impl Traffic {
    /// Creates the sockets of all flows of `scenario` over the kernel's sockets, in their hosts.
    /// `probe` opens traces.
    ///
    /// # Errors
    /// Returns an error if a socket cannot be created as the scenario requires.
    pub fn new(
        scenario: &Scenario,
        seed: (u64, u64),
        hosts: &[LiveHost],
        variants: &Variants,
        timing: Timing,
        probe: &mut dyn FnMut(&'static Table, &str) -> Option<Probe>,
    ) -> Result<Traffic, Error> {
        let streams = Streams::new(seed.0, seed.1);
        let mut traffic = Traffic {
            ends: Vec::new(),
            sockets: BTreeMap::new(),
            log: None,
            exact: (timing == Timing::Virtual).then(Exact::default),
            notes: variants.notes().to_vec(),
            unapplied: unapplied::of(scenario, variants),
        };
        let made = planned(scenario, hosts)?;
        limits::make_room(made.len() as u64)?;
        let probes: Vec<_> = made.iter().map(|(_, planned)| planned.probes(probe)).collect();
        let traces: Vec<_> = made.iter().map(|(_, planned)| planned.traces(probe)).collect();
        let mut endpoints: Vec<Option<Endpoint>> = made.iter().map(|_| None).collect();
        for (at, host) in hosts.iter().enumerate() {
            let own = made.iter().zip(&probes).zip(&mut endpoints).filter(|(((own, _), _), _)| *own == at);
            let all = host.namespace.within(|| {
                for (((_, planned), probes), endpoint) in own {
                    *endpoint = Some(planned.make(&streams, variants, probes)?);
                }
                Ok(())
            });
            all.doing(format!("entering host {}", host.name))??;
        }
        let made = made.iter().zip(probes).zip(traces).zip(endpoints).enumerate();
        for (number, ((((_, planned), probes), traces), endpoint)) in made {
            if planned.flow.transport.tcp().is_some() {
                for (connection, sockets) in planned.connections() {
                    let probe = probes.get(usize::from(connection)).and_then(|probes| probes.sender);
                    traffic.sockets.insert(sockets, Seen { end: (number, connection), probe });
                }
            }
            let endpoint = endpoint.expect("every end is at a host");
            traffic.ends.push(Ending { endpoint, traces, asked: SourceCounters::default() });
        }
        if !traffic.sockets.is_empty() {
            let note = traffic.trace(hosts);
            traffic.notes.push(note);
        }
        Ok(traffic)
    }

    /// Attaches to the source of reports about the kernel's connections, and returns its name.
    fn trace(&mut self, hosts: &[LiveHost]) -> String {
        if let Some(exact) = &self.exact {
            for host in hosts {
                // Without it, sockets are queried one by one.
                if let Ok(Ok(socket)) = host.namespace.within(diag::open) {
                    exact.ask_by(host.node, socket);
                }
            }
            return "the trace tcp is TCP_INFO after each packet that a sender got, in the same instant"
                .to_owned();
        }
        let namespaces: Vec<u64> = hosts.iter().map(|host| host.namespace.inode()).collect();
        match log::attach(&namespaces) {
            Ok(log) => {
                self.log = Some(log);
                "the trace tcp is the kernel's, acknowledgment by acknowledgment (BPF)".to_owned()
            }
            Err(why) => format!(
                "the trace tcp is TCP_INFO every 10 ms or more, and round-trip times are smoothed ones: {why}"
            ),
        }
    }

    /// Returns notes on the way the flows are run, for the provenance.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the observer of packets between the engine's thread and the hosts.
    pub fn observer(&self) -> Option<Box<dyn Observer>> {
        self.exact.clone().map(|exact| Box::new(exact) as Box<dyn Observer>)
    }

    /// Runs the flows until `end`, or until `stop` returns true, which is called every 50 ms.
    ///
    /// # Errors
    /// Returns an error if the kernel has no more file descriptors or memory.
    pub fn run(
        mut self,
        clock: Clock,
        end: Time,
        handle: &Handle,
        stop: &dyn Fn() -> bool,
    ) -> Result<Ran, Error> {
        match clock.timing() {
            Timing::Real => crate::sys::exact_timers(),
            // With the scheduling of the engine's thread, so that the two run in the same order in
            // every run.
            Timing::Virtual => {
                let _ = Scheduling::best();
                clock.wait_for_zero();
                clock.woken_at(Time::ZERO);
            }
        }
        let log = self.log.take().and_then(|log| {
            let ends = std::mem::take(&mut self.sockets);
            TcpLog::start(log, ends, clock, Rows::new(handle.clone()), end).ok()
        });
        let polls = log.is_none() && self.exact.is_none();
        let mut driver = Driver::new(clock, handle, self.ends.len(), polls, self.exact.clone(), end)
            .doing("running the flows")?;
        let outcome = driver.run(&mut self.ends, end, stop);
        for Ending { endpoint, .. } in &mut self.ends {
            if let Endpoint::Tcp(tcp) = endpoint {
                tcp.finish();
            }
        }
        let lateness = driver.late.clone();
        drop(driver);
        outcome.doing("running the flows")?;
        let statistics = log.map(TcpLog::finish).or_else(|| self.exact.map(|exact| exact.finish()));
        if let Some(lost) = statistics.as_ref().map(|statistics| statistics.lost).filter(|lost| *lost > 0) {
            self.notes.push(format!("{lost} events of the kernel's TCP were lost on the path to the trace"));
        }
        Ok(Ran { ends: self.ends, statistics, lateness, notes: self.notes, unapplied: self.unapplied })
    }
}

/// The flows of a run that has ended.
pub struct Ran {
    ends: Vec<Ending>,
    /// Statistics from the log, if there was one.
    statistics: Option<Statistics>,
    lateness: Lateness,
    notes: Vec<String>,
    unapplied: Vec<String>,
}

impl Ran {
    /// Writes the rows of the flows.
    pub fn report(&mut self, now: Time, report: &mut Report) {
        for (number, Ending { endpoint, asked, .. }) in self.ends.iter_mut().enumerate() {
            match endpoint {
                Endpoint::Tcp(tcp) => {
                    let seen = self.statistics.as_mut().map(|statistics| statistics.take(number));
                    tcp.report(now, seen, asked, report);
                    if let Some((_, failure)) = &tcp.failure {
                        self.notes.push(format!("{}: {failure}", tcp.site.name));
                    }
                }
                Endpoint::Quic(quic) => {
                    quic.report(now, report);
                    let name = &quic.site.name;
                    self.notes.extend(quic.failure().map(|failure| format!("{name}: {failure}")));
                    self.notes.extend(no_room(name, quic.drops()));
                }
                Endpoint::Udp(udp) => {
                    udp.report(now, report);
                    self.notes.extend(no_room(&udp.site.name, udp.drops()));
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

    /// Returns the number of datagrams that the kernel refused or that found no room in a socket.
    pub fn lost_datagrams(&self) -> u64 {
        let lost = |ending: &Ending| match &ending.endpoint {
            Endpoint::Tcp(_) => 0,
            Endpoint::Quic(quic) => quic.drops(),
            Endpoint::Udp(udp) => udp.drops() + udp.refused,
        };
        self.ends.iter().map(lost).sum()
    }

    /// Returns the lateness of datagrams: from the moment at which the application wanted to send
    /// one to the hand-over to the kernel.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// Returns the keys of the scenario that the kernel did not apply, as sentences.
    pub fn unapplied(&self) -> &[String] {
        &self.unapplied
    }

    /// Returns the number of rows of the trace `tcp` with an impossible threshold or window that no
    /// acknowledgment had changed.
    pub fn absurd(&self) -> u64 {
        self.statistics.as_ref().map_or(0, |statistics| statistics.absurd)
    }

    /// Returns notes on the way the flows ran.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Returns the note about datagrams that were lost at a socket.
fn no_room(name: &str, drops: u64) -> Option<String> {
    (drops > 0).then(|| format!("{name}: {drops} datagrams found no room in the socket"))
}

/// An end that has not been created yet.
struct Planned<'a> {
    id: FlowId,
    flow: &'a Flow,
    end: End,
    hosts: (&'a LiveHost, &'a LiveHost),
    /// Certificate and keys of a flow over QUIC.
    secrets: Option<quic::Secrets>,
}

impl Planned<'_> {
    fn addresses(&self) -> (SocketAddrV4, SocketAddrV4) {
        let (own, peer) = self.hosts;
        let of = |one: &LiveHost, other: &LiveHost| {
            SocketAddrV4::new(one.ipv4, address::port_at(self.id, one.node, other.node))
        };
        (of(own, peer), of(peer, own))
    }

    /// Returns the connections of the flow that are known in advance, as seen from this end.
    fn connections(&self) -> impl Iterator<Item = (u16, log::Sockets)> {
        let (local, remote) = self.addresses();
        let count = match self.flow.app.connections() {
            Connections::Fixed(count) => count,
            Connections::Endless => KNOWN,
        };
        let end = self.end;
        (0..count).map(move |number| {
            // The end that opens has the ports of the connections, the other end one port for all.
            let of = |address: SocketAddrV4| {
                SocketAddrV4::new(*address.ip(), address::port_of(number, address.port()))
            };
            let (local, remote) = if end == End::Source { (of(local), remote) } else { (local, of(remote)) };
            (number, (local.into(), remote.into()))
        })
    }

    /// Opens the traces of the end's connections.
    fn probes(&self, probe: &mut dyn FnMut(&'static Table, &str) -> Option<Probe>) -> Vec<Probes> {
        let (table, connections) = match self.flow.transport.socket() {
            Some(Socket::Stream(_)) => (&tcp_model::endpoint::TRACE, self.flow.app.connections().traced()),
            Some(Socket::Quic(_)) => (&quic_model::endpoint::TRACE, 1),
            _ => return Vec::new(),
        };
        let numbers = 0..connections;
        let probes = numbers.map(|number| {
            let (sender, receiver) = names::traced_as(&self.flow.name, self.end, number);
            Probes {
                sender: probe(table, &sender),
                delivery: probe(&tcp_model::endpoint::DELIVERY, &receiver),
            }
        });
        probes.collect()
    }

    fn traces(&self, probe: &mut dyn FnMut(&'static Table, &str) -> Option<Probe>) -> Traces {
        let name = &self.flow.name;
        match (self.end, self.flow.transport.socket()) {
            (End::Source, _) => {
                let app = &self.flow.app;
                let measures = app.measures().filter(|_| app.measures_both());
                Traces {
                    transactions: app.has_transactions().then(|| probe(&hosting::TRACE, name)).flatten(),
                    measures: measures.and_then(|table| probe(table, &names::reverse(name))),
                    arrival: None,
                }
            }
            (End::Destination, Some(Socket::Datagram)) => {
                let measures = self.flow.app.measures().and_then(|table| probe(table, name));
                Traces { arrival: probe(&datagrams::TRACE, name), transactions: None, measures }
            }
            (End::Destination, _) => Traces::default(),
        }
    }

    /// Creates the end, in its host's namespace.
    fn make(&self, streams: &Streams, variants: &Variants, probes: &[Probes]) -> Result<Endpoint, Error> {
        let (own, peer) = self.hosts;
        let site = Site {
            flow: self.id,
            name: self.flow.name.clone(),
            node: own.node,
            peer: peer.node,
            end: self.end,
            start: Time::ZERO + self.flow.start,
            dscp: self.flow.dscp.value(),
            details: false,
            capture: None,
        };
        let mut stream = streams.stream(&names::end(&self.flow.name, self.end));
        // The application's draws equal those of a simulation, after the draw of the transport: it
        // seeds QUIC, TCP's initial sequence number is the kernel's, and datagrams draw nothing.
        let drawn = self.flow.transport.draw(&mut stream);
        let plan = streams.stream(&names::plan(&self.flow.name));
        let hosted = Hosted::new(&site, self.flow.app.build(self.end, plan), stream);
        let (local, remote) = self.addresses();
        let made = match self.flow.transport.socket() {
            Some(Socket::Stream(config)) => {
                let (congestion, dscp) = (variants.name(config), site.dscp);
                let namespace = own.namespace.again().doing("holding a namespace")?;
                let sockets = sockets::Sockets::new(namespace, config, congestion, dscp, local, remote);
                tcp::Endpoint::new(site, hosted, sockets, probes.to_vec())
                    .map(|end| Endpoint::Tcp(Box::new(end)))
            }
            Some(Socket::Quic(config)) => {
                let secrets = self.secrets.as_ref().expect("every flow over QUIC has secrets");
                let parts = (site, hosted, probes.first().copied().unwrap_or_default());
                quic::Endpoint::new(parts, config, secrets, (local, remote), drawn)
                    .map(|end| Endpoint::Quic(Box::new(end)))
            }
            None => unreachable!("models stand at the ends of such flows"),
            Some(Socket::Datagram) => {
                udp::Endpoint::new(site, hosted, local, remote).map(|end| Endpoint::Udp(Box::new(end)))
            }
        };
        made.doing(format!("making the socket of flow {} at host {}", self.flow.name, own.name))
    }
}
