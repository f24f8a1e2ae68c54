//! An agent on sockets: one thread that waits for all of them.
//!
//! What comes is stored, the storage is committed, and only then are acknowledgments written: an acknowledged bundle survives the process. A
//! connection to a peer is opened when a bundle waits for it, and again after a second if it fails.

use crate::agent::{Agent, Counters, Routes, Verdict};
use crate::config::{self, Address, Config, Layer};
use crate::connection::Connection;
use crate::store::Store;
use bentpipe_core::{Span, Time};
use bentpipe_dtn::convergence::tcpcl;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Keepalive interval of sessions in seconds.
const KEEPALIVE: u16 = 15;
/// Time between two attempts to reach a peer.
const AGAIN: Duration = Duration::from_secs(1);
/// Largest bundle in a datagram over IPv4.
const DATAGRAM: usize = 65_507;
/// Bundles that are delivered before sockets are looked at again.
const BATCH: usize = 1000;

/// A running agent.
pub struct Node {
    config: Config,
    agent: Agent,
    listeners: Vec<(TcpListener, Layer)>,
    datagrams: Vec<UdpSocket>,
    connections: Vec<Connection>,
    /// When each peer may be tried again.
    retry: Vec<Instant>,
    started: Instant,
    buffer: Vec<u8>,
    told: Instant,
}

impl Node {
    /// Opens the storage and the sockets.
    ///
    /// # Errors
    /// With what cannot be opened.
    pub fn new(config: Config) -> io::Result<Node> {
        let about =
            |what: String| move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        let routes = Routes::new(&config)?;
        let store = Store::open(&config.storage, config.limit, config.sync)
            .map_err(about(format!("storage {}", config.storage.display())))?;
        let agent = Agent::new(routes, store)?;
        let (mut listeners, mut datagrams) = (Vec::new(), Vec::new());
        for Address { layer, address } in &config.listen {
            let opened = about(format!("listening on {address}"));
            if *layer == Layer::Udp {
                let socket = UdpSocket::bind(address).map_err(opened)?;
                socket.set_nonblocking(true)?;
                datagrams.push(socket);
            } else {
                let listener = TcpListener::bind(address).map_err(opened)?;
                listener.set_nonblocking(true)?;
                listeners.push((listener, *layer));
            }
        }
        if let Some(folder) = &config.deliver {
            fs::create_dir_all(folder).map_err(about(format!("folder {}", folder.display())))?;
        }
        let now = Instant::now();
        Ok(Node {
            retry: config.peers.iter().map(|_| now).collect(),
            config,
            agent,
            listeners,
            datagrams,
            connections: Vec::new(),
            started: now,
            buffer: vec![0; 1 << 18],
            told: now,
        })
    }

    /// The addresses on which it listens, TCP first.
    ///
    /// # Errors
    /// If a socket does not know.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let streams = self.listeners.iter().map(|(listener, _)| listener.local_addr());
        streams.chain(self.datagrams.iter().map(UdpSocket::local_addr)).collect()
    }

    /// Counts since the start.
    pub fn counters(&self) -> Counters {
        self.agent.counters()
    }

    /// Waits for something to do, for `longest` at most, and does it.
    ///
    /// # Errors
    /// If the storage or the folder of payloads cannot be written: then nothing more may be acknowledged.
    pub fn step(&mut self, longest: Duration) -> io::Result<()> {
        self.wait(longest)?;
        let now = self.now();
        self.accept(now);
        self.receive(now)?;
        self.agent.expire();
        self.deliver()?;
        self.connect(now)?;
        self.forward()?;
        self.agent.commit()?;
        for connection in &mut self.connections {
            connection.write(now);
        }
        self.settle();
        if self.told.elapsed() >= Duration::from_secs(1) {
            self.told = Instant::now();
            self.tell()?;
        }
        Ok(())
    }

    /// Ends the sessions, and writes the counts.
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
        self.tell()?;
        Ok(self.agent.counters())
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.started.elapsed().as_nanos() as u64)
    }

    fn wait(&mut self, longest: Duration) -> io::Result<()> {
        let now = self.now();
        let wakes = self.connections.iter().filter_map(Connection::next_wake);
        let wake = wakes.min().map_or(Span::MAX, |wake| wake.since(now));
        let longest = longest.min(Duration::from_nanos(wake.as_nanos()));
        let busy = self.agent.has_deliveries() || self.connections.iter().any(|one| self.could_send(one));
        let milliseconds = if busy { 0 } else { longest.as_millis().clamp(1, 1000) as u16 };
        let read = PollFlags::POLLIN;
        let descriptors = self.listeners.iter().map(|(listener, _)| PollFd::new(listener.as_fd(), read));
        let descriptors =
            descriptors.chain(self.datagrams.iter().map(|socket| PollFd::new(socket.as_fd(), read)));
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
        connection.takes() && connection.peer.is_some_and(|peer| self.agent.waits_for(peer))
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
            // What cannot be accepted now is accepted later, or is gone.
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
                    // What is malformed is acknowledged, for it would not be better the next time.
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

    /// Opens connections to peers for whom something waits.
    fn connect(&mut self, now: Time) -> io::Result<()> {
        for peer in 0..self.config.peers.len() {
            let Address { layer, address } = self.config.peers[peer].at;
            let has = layer == Layer::Udp || self.connections.iter().any(|one| one.peer == Some(peer));
            if has || !self.agent.waits_for(peer) || self.retry[peer] > Instant::now() {
                continue;
            }
            self.retry[peer] = Instant::now() + AGAIN;
            if let Ok(connection) = Connection::open(address, layer, self.session(), peer, now) {
                self.connections.push(connection);
            }
        }
        Ok(())
    }

    fn forward(&mut self) -> io::Result<()> {
        for connection in &mut self.connections {
            let Some(peer) = connection.peer else { continue };
            while connection.takes() {
                let Some((number, bundle)) = self.agent.next_for(peer)? else { break };
                if !connection.send(number, bundle) {
                    // It is longer than the peer takes: it waits for its end, or another peer.
                    self.agent.hold(number);
                }
            }
        }
        for peer in 0..self.config.peers.len() {
            let Address { layer, address } = self.config.peers[peer].at;
            if layer == Layer::Udp && self.agent.waits_for(peer) {
                self.send_datagrams(peer, address)?;
            }
        }
        Ok(())
    }

    fn send_datagrams(&mut self, peer: usize, address: SocketAddr) -> io::Result<()> {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        for _ in 0..BATCH {
            let Some((number, bundle)) = self.agent.next_for(peer)? else { break };
            if bundle.len() > DATAGRAM {
                self.agent.hold(number);
                continue;
            }
            match socket.send_to(&bundle, address) {
                Ok(_) => self.agent.sent(number),
                Err(_) => {
                    // Nobody is there, or no room: later.
                    self.agent.failed(number);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes note of what connections have sent, and removes those that are over.
    fn settle(&mut self) {
        for connection in &mut self.connections {
            for (number, taken) in connection.take_finished() {
                match taken {
                    true => self.agent.sent(number),
                    false => self.agent.failed(number),
                }
            }
            if connection.over.is_some() {
                connection.take_flying().into_iter().rev().for_each(|number| self.agent.failed(number));
            }
        }
        self.connections.retain(|connection| connection.over.is_none());
    }

    fn tell(&self) -> io::Result<()> {
        let Some(path) = &self.config.status else { return Ok(()) };
        let text = serde_json::to_string(&self.counters())?;
        write_whole(path, text.as_bytes())
    }
}

/// Writes a file that is whole whenever it is there.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, content)?;
    fs::rename(&part, path)
}

/// A name of a file for any text.
fn name(text: &str) -> String {
    let kept = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    let name: String = text.chars().map(|char| if kept(char) { char } else { '_' }).collect();
    name.trim_start_matches('.').to_owned()
}
