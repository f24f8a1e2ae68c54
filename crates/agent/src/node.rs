//! Connects an agent to its sockets. One thread waits for all of them.
//!
//! Each [step](Node::step) stores the received bundles, commits the storage, and only then writes
//! acknowledgments, so an acknowledged bundle survives a crash of the process. The node opens a
//! connection to a peer when a bundle waits for the peer, and retries after a second if the
//! connection fails. With a contact plan, bundles are sent only during contacts, and datagrams
//! leave at the contact's rate. Time counts from the start of the agent.

use crate::agent::{Agent, Counters, Routes, Verdict};
use crate::config::{self, Address, Config, Layer};
use crate::connection::Connection;
use crate::ltp::{LinkEvent, Links, Settings, HEADERS, SLACK};
use crate::schedule::Schedule;
use crate::store::Store;
use bentpipe_core::{Span, Time};
use bentpipe_dtn::contacts::number::BitRate;
use bentpipe_dtn::convergence::tcpcl;
use bp7::crc::CASTAGNOLI;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Keepalive interval of TCPCL sessions, in seconds.
const KEEPALIVE: u16 = 15;
/// Minimum time between two attempts to connect to a peer.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum size of a UDP payload over IPv4, in bytes.
const MAX_DATAGRAM: usize = 65_507;
/// Bytes of a datagram that are reserved for a fragment's blocks other than the payload.
const FRAGMENT_OVERHEAD: usize = 507;
/// Time from the start of 1970 to the start of 2000.
const SINCE_1970: Duration = Duration::from_secs(946_684_800);
/// Maximum number of deliveries, and of datagrams per socket or peer, in one step.
const BATCH: usize = 1000;

/// An agent with its sockets and connections, driven by [`step`](Node::step).
pub struct Node {
    config: Config,
    agent: Agent,
    listeners: Vec<(TcpListener, Layer)>,
    datagrams: Vec<UdpSocket>,
    ltp: Links,
    connections: Vec<Connection>,
    /// Time of the next permitted attempt to connect to each peer.
    retry: Vec<Instant>,
    started: Instant,
    buffer: Vec<u8>,
    reported: Instant,
    /// Time at which the next datagram may be sent to each peer.
    next_send: Vec<Time>,
    /// The number of LTP sockets on which the agent listens. The other LTP sockets serve only
    /// peers.
    listens_ltp: usize,
}

impl Node {
    /// Opens the storage and the sockets.
    ///
    /// # Errors
    /// If the storage or a socket cannot be opened. The error names it.
    pub fn new(config: Config) -> io::Result<Node> {
        let context =
            |what: String| move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        let routes = Routes::new(&config)?;
        let schedule = match &config.plan {
            Some(plan) => Some(Schedule::new(&config, plan)?),
            None => None,
        };
        let store = Store::open(&config.storage, config.sync)
            .map_err(context(format!("storage {}", config.storage.display())))?;
        let agent = Agent::new(routes, store, config.limit, schedule, config.keys.clone())?;
        let (mut listeners, mut datagrams, mut segments) = (Vec::new(), Vec::new(), Vec::new());
        for Address { layer, address } in &config.listen {
            let opened = context(format!("listening on {address}"));
            if matches!(layer, Layer::Udp | Layer::Ltp) {
                let socket = UdpSocket::bind(address).map_err(opened)?;
                socket.set_nonblocking(true)?;
                match layer {
                    Layer::Ltp => segments.push(socket),
                    _ => datagrams.push(socket),
                }
            } else {
                let listener = TcpListener::bind(address).map_err(opened)?;
                listener.set_nonblocking(true)?;
                listeners.push((listener, *layer));
            }
        }
        if let Some(folder) = &config.deliver {
            fs::create_dir_all(folder).map_err(context(format!("folder {}", folder.display())))?;
        }
        let at = |(peer, index): (&config::Peer, usize)| {
            (peer.at.layer == Layer::Ltp).then_some((index, peer.at.address))
        };
        let peers: Vec<_> = config.peers.iter().zip(0..).filter_map(at).collect();
        let since_2000 = SystemTime::now().duration_since(UNIX_EPOCH + SINCE_1970).unwrap_or_default();
        let listens_ltp = segments.len();
        let ltp = Links::new(segments, &peers, settings(&config)?, since_2000.as_micros() as u64)?;
        let now = Instant::now();
        Ok(Node {
            retry: config.peers.iter().map(|_| now).collect(),
            agent,
            listeners,
            datagrams,
            ltp,
            next_send: vec![Time::ZERO; config.peers.len()],
            listens_ltp,
            connections: Vec::new(),
            started: now,
            buffer: vec![0; 1 << 18],
            reported: now,
            config,
        })
    }

    /// Returns the addresses on which the agent listens: first TCP, then UDP, then LTP.
    ///
    /// # Errors
    /// If the system does not return the address of a socket.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let streams = self.listeners.iter().map(|(listener, _)| listener.local_addr());
        let segments = self.ltp.sockets().iter().take(self.listens_ltp).map(UdpSocket::local_addr);
        streams.chain(self.datagrams.iter().map(UdpSocket::local_addr)).chain(segments).collect()
    }

    /// Returns the agent's counts since its start.
    pub fn counters(&self) -> Counters {
        self.agent.counters()
    }

    /// Waits for events until `timeout` at the latest, and processes them.
    ///
    /// # Errors
    /// If the storage, the folder of payloads or the status file cannot be written. The node must
    /// not be used after an error, since it could acknowledge bundles that are not stored.
    pub fn step(&mut self, timeout: Duration) -> io::Result<()> {
        self.wait(timeout)?;
        let now = self.now();
        self.agent.advance(now);
        self.accept(now);
        self.receive(now)?;
        self.agent.expire();
        self.deliver()?;
        self.connect(now)?;
        self.forward(now)?;
        self.agent.commit()?;
        for connection in &mut self.connections {
            connection.write(now);
        }
        self.transmit(now)?;
        self.process_results();
        if self.reported.elapsed() >= Duration::from_secs(1) {
            self.reported = Instant::now();
            self.write_status()?;
        }
        Ok(())
    }

    /// Ends the sessions, writes the status file, and returns the counts.
    ///
    /// # Errors
    /// If the storage or the status file cannot be written.
    pub fn finish(mut self) -> io::Result<Counters> {
        let now = self.now();
        for connection in &mut self.connections {
            connection.close();
            connection.write(now);
        }
        self.agent.commit()?;
        self.write_status()?;
        Ok(self.agent.counters())
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.started.elapsed().as_nanos() as u64)
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        let now = self.now();
        let wakes = self.connections.iter().filter_map(Connection::next_wake);
        let timers = self.ltp.next_wake().filter(|wake| *wake < Time::MAX);
        let changes = self.agent.schedule().and_then(Schedule::next_change);
        let wake = wakes.chain(timers).chain(changes).min().map_or(Span::MAX, |wake| wake.since(now));
        let timeout = timeout.min(Duration::from_nanos(wake.as_nanos()));
        let peers = 0..self.config.peers.len();
        let datagrams = peers.filter(|peer| {
            let layer = self.config.peers[*peer].at.layer;
            matches!(layer, Layer::Udp | Layer::Ltp) && self.agent.has_bundles_for(*peer)
        });
        let paced = datagrams.count() > 0 || self.ltp.has_segments(self.agent.schedule());
        let timeout = if paced { timeout.min(Duration::from_millis(1)) } else { timeout };
        let busy = self.agent.has_deliveries()
            || self.connections.iter().any(|connection| self.could_send(connection));
        let milliseconds = if busy { 0 } else { timeout.as_millis().clamp(1, 1000) as u16 };
        let read = PollFlags::POLLIN;
        let descriptors = self.listeners.iter().map(|(listener, _)| PollFd::new(listener.as_fd(), read));
        let descriptors =
            descriptors.chain(self.datagrams.iter().map(|socket| PollFd::new(socket.as_fd(), read)));
        let descriptors =
            descriptors.chain(self.ltp.sockets().iter().map(|socket| PollFd::new(socket.as_fd(), read)));
        let streams = self.connections.iter().map(|connection| {
            let flags = if connection.is_blocked() { read | PollFlags::POLLOUT } else { read };
            let descriptor: BorrowedFd<'_> = connection.stream.as_fd();
            PollFd::new(descriptor, flags)
        });
        let mut descriptors: Vec<PollFd<'_>> = descriptors.chain(streams).collect();
        match poll(&mut descriptors, PollTimeout::from(milliseconds)) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn could_send(&self, connection: &Connection) -> bool {
        connection.can_send() && connection.peer.is_some_and(|peer| self.agent.has_bundles_for(peer))
    }

    fn session(&self) -> tcpcl::Config {
        tcpcl::Config {
            node: self.config.node.clone(),
            keepalive: KEEPALIVE,
            segment: 1 << 20,
            transfer: self.config.longest,
        }
    }

    fn accept(&mut self, now: Time) {
        let session = self.session();
        for (listener, layer) in &self.listeners {
            // After an error, the connection is accepted in a later step, or it no longer exists.
            while let Ok((stream, _)) = listener.accept() {
                self.connections.extend(Connection::accepted(stream, *layer, session.clone(), now));
            }
        }
    }

    fn receive(&mut self, now: Time) -> io::Result<()> {
        for connection in &mut self.connections {
            connection.read(now, &mut self.buffer);
            if let (None, Some(node)) = (connection.peer, &connection.node) {
                // Bundles for a peer are also sent over a connection that the peer has opened.
                let node = config::node(node).ok();
                let same = |peer: &config::Peer| node.is_some() && config::node(&peer.node).ok() == node;
                connection.peer = self.config.peers.iter().position(same);
            }
            for incoming in connection.take_incoming() {
                let verdict = self.agent.receive(&incoming.bundle);
                if let Some(transfer) = incoming.transfer {
                    // Malformed bundles are acknowledged, since retransmission would not help.
                    connection.answer(transfer, incoming.bundle.len() as u64, verdict != Verdict::NoRoom);
                }
            }
        }
        for socket in &self.datagrams {
            for _ in 0..BATCH {
                match socket.recv(&mut self.buffer) {
                    Ok(length) => {
                        let _verdict = self.agent.receive(&self.buffer[..length]);
                    }
                    Err(_) => break,
                }
            }
        }
        self.ltp.read(now, &mut self.buffer, BATCH);
        for link in 0..self.ltp.len() {
            for event in self.ltp.events(link) {
                match event {
                    LinkEvent::Arrived(session, bundle) => {
                        let fits = bundle.len() as u64 <= self.config.longest;
                        if !fits || self.agent.receive(&bundle) == Verdict::NoRoom {
                            self.ltp.refuse(link, session);
                        }
                    }
                    LinkEvent::Sent(number) => self.agent.sent(number),
                    LinkEvent::Failed(number) => self.agent.failed(number),
                }
            }
        }
        Ok(())
    }

    /// Sends LTP segments. New bundles are sent when the existing sessions have nothing to send.
    fn transmit(&mut self, now: Time) -> io::Result<()> {
        for link in 0..self.ltp.len() {
            let peer = self.ltp.link(link).peer;
            let unreachable = |schedule: &Schedule, peer: usize| {
                schedule.node_of(peer).is_some() && !schedule.has_later_contact(now, peer)
            };
            if peer
                .is_some_and(|peer| self.agent.schedule().is_some_and(|schedule| unreachable(schedule, peer)))
            {
                self.ltp.cancel_bundles(link).into_iter().for_each(|number| self.agent.failed(number));
            }
            for _ in 0..BATCH {
                if !self.ltp.may_send(link, now, self.agent.schedule()) {
                    break;
                }
                if self.ltp.transmit(link, now, self.agent.schedule()) {
                    continue;
                }
                let Some(peer) = peer.filter(|_| !self.ltp.is_full(link)) else { break };
                let Some((number, bundle)) = self.agent.next_for(peer)? else { break };
                self.ltp.send(link, number, bundle);
            }
        }
        Ok(())
    }

    fn deliver(&mut self) -> io::Result<()> {
        for _ in 0..BATCH {
            let Some(delivery) = self.agent.next_delivery()? else { break };
            if let Some(folder) = &self.config.deliver {
                let service = name(&delivery.service);
                let folder = if service.is_empty() { folder.clone() } else { folder.join(service) };
                fs::create_dir_all(&folder)?;
                write_atomically(&folder.join(name(&delivery.id)), &delivery.payload)?;
            }
            self.agent.delivered(&delivery);
        }
        Ok(())
    }

    /// Opens connections to the peers that have waiting bundles.
    fn connect(&mut self, now: Time) -> io::Result<()> {
        for peer in 0..self.config.peers.len() {
            let Address { layer, address } = self.config.peers[peer].at;
            let connected = matches!(layer, Layer::Udp | Layer::Ltp)
                || self.connections.iter().any(|connection| connection.peer == Some(peer));
            if connected || !self.agent.has_bundles_for(peer) || self.retry[peer] > Instant::now() {
                continue;
            }
            self.retry[peer] = Instant::now() + RECONNECT_INTERVAL;
            if let Ok(connection) = Connection::open(address, layer, self.session(), peer, now) {
                self.connections.push(connection);
            }
        }
        Ok(())
    }

    fn forward(&mut self, now: Time) -> io::Result<()> {
        for connection in &mut self.connections {
            let Some(peer) = connection.peer else { continue };
            while connection.can_send() {
                let Some((number, bundle)) = self.agent.next_for(peer)? else { break };
                let half = bundle.len() / 2;
                if !connection.send(number, bundle) {
                    // The bundle is too long for the peer or its convergence layer.
                    self.agent.fragment_or_keep(number, half);
                }
            }
        }
        for peer in 0..self.config.peers.len() {
            let Address { layer, address } = self.config.peers[peer].at;
            if layer == Layer::Udp && self.agent.has_bundles_for(peer) {
                self.send_datagrams(now, peer, address)?;
            }
        }
        Ok(())
    }

    fn send_datagrams(&mut self, now: Time, peer: usize, address: SocketAddr) -> io::Result<()> {
        let contact = self.agent.schedule().and_then(|schedule| schedule.contact_to(peer));
        let rate = contact.map_or_else(|| rate(&self.config), |contact| contact.rate);
        let late = Time::from_nanos(now.as_nanos().saturating_sub(SLACK.as_nanos()));
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        for _ in 0..BATCH {
            if self.next_send[peer] > now {
                break;
            }
            let Some((number, bundle)) = self.agent.next_for(peer)? else { break };
            if bundle.len() > MAX_DATAGRAM {
                self.agent.fragment_or_keep(number, MAX_DATAGRAM - FRAGMENT_OVERHEAD);
                continue;
            }
            match socket.send_to(&bundle, address) {
                Ok(_) => {
                    self.next_send[peer] =
                        self.next_send[peer].max(late) + rate.span_of(bundle.len() as u64 + HEADERS);
                    self.agent.sent(number);
                }
                Err(_) => {
                    // The peer is not listening or a buffer is full: retry in a later step.
                    self.agent.failed(number);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Processes the results of all connections, and removes the connections that have ended.
    fn process_results(&mut self) {
        for connection in &mut self.connections {
            for (number, sent) in connection.take_finished() {
                match sent {
                    true => self.agent.sent(number),
                    false => self.agent.failed(number),
                }
            }
            if connection.end_reason.is_some() {
                connection
                    .take_unacknowledged()
                    .into_iter()
                    .rev()
                    .for_each(|number| self.agent.failed(number));
            }
        }
        self.connections.retain(|connection| connection.end_reason.is_none());
    }

    fn write_status(&self) -> io::Result<()> {
        let Some(path) = &self.config.status else { return Ok(()) };
        let text = serde_json::to_string(&self.counters())?;
        write_atomically(path, text.as_bytes())
    }
}

/// Returns the rate of datagrams to peers that are not in the contact plan.
fn rate(config: &Config) -> BitRate {
    BitRate::from_millibits(config.ltp.rate.saturating_mul(1000))
        .expect("`settings` refuses a configuration with a rate of 0")
}

/// Returns the LTP settings of a configuration.
fn settings(config: &Config) -> io::Result<Settings> {
    let ltp = &config.ltp;
    let span = |seconds: f64| Span::from_nanos((seconds.max(0.0) * 1e9) as u64);
    if ltp.rate == 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the rate is 0; allowed: a positive rate"));
    }
    let engine = ltp.engine.unwrap_or_else(|| {
        let node = config.node.strip_prefix("ipn:").and_then(|rest| rest.split('.').next()?.parse().ok());
        node.unwrap_or_else(|| u64::from(CASTAGNOLI.checksum(config.node.as_bytes())).max(1))
    });
    let (light_time, margin) = (span(ltp.light_time), span(ltp.margin));
    Ok(Settings { engine, light_time, margin, rate: rate(config), in_flight: ltp.in_flight })
}

/// Writes a file atomically.
fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, content)?;
    fs::rename(&part, path)
}

/// Returns a text as a file name: other characters become `_`, and leading dots are removed.
fn name(text: &str) -> String {
    let kept = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    let name: String = text.chars().map(|char| if kept(char) { char } else { '_' }).collect();
    name.trim_start_matches('.').to_owned()
}
