//! Runs an agent on sockets, in one thread that waits for all of them.
//!
//! Received bundles are stored, the storage is committed, and only then are acknowledgments
//! written, so an acknowledged bundle survives the process. A connection to a peer is opened when a
//! bundle waits for it, and again after a second if it fails. With a contact plan, bundles leave
//! only in contacts, and datagrams at the contact's rate. Time counts from the start of the agent.

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

/// Keepalive interval of sessions in seconds.
const KEEPALIVE: u16 = 15;
/// Time between two attempts to reach a peer.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);
/// Largest bundle in a datagram over IPv4.
const DATAGRAM: usize = 65_507;
/// Bytes of the blocks of a fragment besides its payload.
const FRAGMENT: usize = 507;
/// Time from 1970 to 2000.
const SINCE_1970: Duration = Duration::from_secs(946_684_800);
/// Number of bundles that are delivered before sockets are served again.
const BATCH: usize = 1000;

/// An agent with its sockets and connections, driven by [`step`](Node::step).
pub struct Node {
    config: Config,
    agent: Agent,
    listeners: Vec<(TcpListener, Layer)>,
    datagrams: Vec<UdpSocket>,
    ltp: Links,
    connections: Vec<Connection>,
    /// Time at which each peer may be tried again.
    retry: Vec<Instant>,
    started: Instant,
    buffer: Vec<u8>,
    reported: Instant,
    /// Time at which the next datagram may leave to each peer.
    next_send: Vec<Time>,
    /// The number of LTP sockets on which the agent listens; others serve peers only.
    listens_ltp: usize,
}

impl Node {
    /// Opens the storage and the sockets.
    ///
    /// # Errors
    /// If one of them cannot be opened; the error names it.
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

    /// Returns the addresses on which it listens, TCP first.
    ///
    /// # Errors
    /// If a socket does not know its address.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let streams = self.listeners.iter().map(|(listener, _)| listener.local_addr());
        let segments = self.ltp.sockets().iter().take(self.listens_ltp).map(UdpSocket::local_addr);
        streams.chain(self.datagrams.iter().map(UdpSocket::local_addr)).chain(segments).collect()
    }

    /// Returns the counts since the start.
    pub fn counters(&self) -> Counters {
        self.agent.counters()
    }

    /// Waits at most `longest` for events, and processes them.
    ///
    /// # Errors
    /// If the storage or the folder of payloads cannot be written. Nothing more may be acknowledged
    /// then.
    pub fn step(&mut self, longest: Duration) -> io::Result<()> {
        self.wait(longest)?;
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

    /// Ends the sessions and writes the counts.
    ///
    /// # Errors
    /// If storage or counts cannot be written.
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

    fn wait(&mut self, longest: Duration) -> io::Result<()> {
        let now = self.now();
        let wakes = self.connections.iter().filter_map(Connection::next_wake);
        let timers = self.ltp.next_wake().filter(|wake| *wake < Time::MAX);
        let changes = self.agent.schedule().and_then(Schedule::next_change);
        let wake = wakes.chain(timers).chain(changes).min().map_or(Span::MAX, |wake| wake.since(now));
        let longest = longest.min(Duration::from_nanos(wake.as_nanos()));
        let peers = 0..self.config.peers.len();
        let datagrams = peers.filter(|peer| {
            let layer = self.config.peers[*peer].at.layer;
            matches!(layer, Layer::Udp | Layer::Ltp) && self.agent.has_bundles_for(*peer)
        });
        let paced = datagrams.count() > 0 || self.ltp.has_segments(self.agent.schedule());
        let longest = if paced { longest.min(Duration::from_millis(1)) } else { longest };
        let busy = self.agent.has_deliveries() || self.connections.iter().any(|one| self.could_send(one));
        let milliseconds = if busy { 0 } else { longest.as_millis().clamp(1, 1000) as u16 };
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
        connection.takes() && connection.peer.is_some_and(|peer| self.agent.has_bundles_for(peer))
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
            // A connection that cannot be accepted now is accepted later, or is gone.
            while let Ok((stream, _)) = listener.accept() {
                self.connections.extend(Connection::accepted(stream, *layer, session.clone(), now));
            }
        }
    }

    fn receive(&mut self, now: Time) -> io::Result<()> {
        for connection in &mut self.connections {
            connection.read(now, &mut self.buffer);
            if let (None, Some(node)) = (connection.peer, &connection.node) {
                // Bundles for the node go back over the connection that it has opened.
                let node = config::node(node).ok();
                let same = |peer: &config::Peer| node.is_some() && config::node(&peer.node).ok() == node;
                connection.peer = self.config.peers.iter().position(same);
            }
            for incoming in connection.take_incoming() {
                let verdict = self.agent.receive(&incoming.bundle);
                if let Some(transfer) = incoming.transfer {
                    // Malformed bundles are acknowledged, since repeating them would not help.
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

    /// Sends segments of LTP: first those of existing sessions, then new bundles.
    fn transmit(&mut self, now: Time) -> io::Result<()> {
        for link in 0..self.ltp.len() {
            let peer = self.ltp.link(link).peer;
            let gone = |schedule: &Schedule, peer: usize| {
                schedule.node_of(peer).is_some() && !schedule.has_later_contact(now, peer)
            };
            if peer.is_some_and(|peer| self.agent.schedule().is_some_and(|schedule| gone(schedule, peer))) {
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
                write_whole(&folder.join(name(&delivery.id)), &delivery.payload)?;
            }
            self.agent.delivered(&delivery);
        }
        Ok(())
    }

    /// Opens connections to peers for which something waits.
    fn connect(&mut self, now: Time) -> io::Result<()> {
        for peer in 0..self.config.peers.len() {
            let Address { layer, address } = self.config.peers[peer].at;
            let has = matches!(layer, Layer::Udp | Layer::Ltp)
                || self.connections.iter().any(|one| one.peer == Some(peer));
            if has || !self.agent.has_bundles_for(peer) || self.retry[peer] > Instant::now() {
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
            while connection.takes() {
                let Some((number, bundle)) = self.agent.next_for(peer)? else { break };
                let half = bundle.len() / 2;
                if !connection.send(number, bundle) {
                    // The bundle is longer than the peer accepts.
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
            if bundle.len() > DATAGRAM {
                self.agent.fragment_or_keep(number, DATAGRAM - FRAGMENT);
                continue;
            }
            match socket.send_to(&bundle, address) {
                Ok(_) => {
                    self.next_send[peer] =
                        self.next_send[peer].max(late) + rate.span_of(bundle.len() as u64 + HEADERS);
                    self.agent.sent(number);
                }
                Err(_) => {
                    // The peer is not listening or a buffer is full: retry later.
                    self.agent.failed(number);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Processes the results of connections, and removes closed ones.
    fn process_results(&mut self) {
        for connection in &mut self.connections {
            for (number, taken) in connection.take_finished() {
                match taken {
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
        write_whole(path, text.as_bytes())
    }
}

/// Returns the rate of datagrams to peers without contacts.
fn rate(config: &Config) -> BitRate {
    BitRate::from_millibits(config.ltp.rate.saturating_mul(1000))
        .expect("a rate of 0 is refused at the start")
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
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, content)?;
    fs::rename(&part, path)
}

/// Returns a file name for any text.
fn name(text: &str) -> String {
    let kept = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    let name: String = text.chars().map(|char| if kept(char) { char } else { '_' }).collect();
    name.trim_start_matches('.').to_owned()
}
