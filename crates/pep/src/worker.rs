//! A worker: one thread, its connections, and the kernel's word on what can be done (epoll, edge-triggered).

use crate::connection::{Connection, Phase};
use crate::control::{Control, Order};
use crate::direction::{Direction, Visit, BUFFER};
use crate::hold::Hold;
use crate::journal;
use crate::metrics::Counts;
use crate::packet::{self, Flow, Segment, Unreachable};
use crate::pipe::Pipes;
use crate::raw::Raw;
use crate::sockets::{reset_on_close, set_tos, Settings};
use crate::sys;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use serde_json::json;
use slab::Slab;
use socket2::Socket;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

/// Connections at once whose server has not answered. Further SYNs the kernel answers at once: only it can tell by SYN
/// cookies which clients are real.
const CONNECTING: usize = 4096;
/// Connections at once whose server has accepted and whose client has not finished its handshake. Fewer, as each is one
/// that a server keeps for perhaps nobody.
const RELEASED: usize = 512;
/// Seconds that a client has to finish its handshake after the server has accepted.
const FINISH: u32 = 20;
/// Events that one call to the kernel returns.
const EVENTS: usize = 256;

const CLIENT: u64 = 0;
const SERVER: u64 = 1;
const LISTENERS: [u64; 2] = [u64::MAX, u64::MAX - 1];
const HOLD: u64 = u64::MAX - 2;
const BELL: u64 = u64::MAX - 3;

/// What a worker is made of, set up while there are privileges to do so.
pub struct Tools {
    /// Take clients' connections, of IPv4 and IPv6.
    pub listeners: Vec<Socket>,
    /// Hands out the SYNs.
    pub hold: Hold,
    /// Sends SYNs back to the kernel.
    pub release: Raw,
    /// Sends packets on their way.
    pub forward: Raw,
    /// How sockets are set.
    pub settings: Settings,
    /// Most connections at once.
    pub capacity: usize,
    /// Pipes.
    pub pipes: Pipes,
    /// Seconds without a byte after which a connection is reset.
    pub idle_timeout: Option<u32>,
    /// Seconds that a server has to accept.
    pub connect_timeout: u32,
    /// Whether each connection is in the log.
    pub log_connections: bool,
    /// What it counts.
    pub counts: Arc<Counts>,
    /// What it is told.
    pub control: Arc<Control>,
}

impl Tools {
    /// Those that a worker uses.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let listeners = self.listeners.iter().map(AsRawFd::as_raw_fd);
        let raw = [&self.release, &self.forward].into_iter().flat_map(Raw::descriptors);
        let others = [self.hold.as_fd().as_raw_fd(), self.control.bell.as_fd().as_raw_fd()];
        listeners.chain(raw).chain(others).collect()
    }
}

/// A worker at work.
pub struct Worker {
    tools: Tools,
    epoll: Epoll,
    connections: Slab<Connection>,
    flows: HashMap<Flow, usize>,
    /// How many are in these phases.
    connecting: usize,
    released: usize,
    /// Those with more to carry than one visit may.
    queue: VecDeque<usize>,
    /// Ended in this round; their places are given again only after it, as events may still name them.
    ended: Vec<usize>,
    buffer: Vec<u8>,
    began: Instant,
    second: u32,
}

impl Worker {
    /// Makes it ready.
    ///
    /// # Errors
    /// The kernel has no more epoll instances.
    pub fn new(tools: Tools) -> io::Result<Worker> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let level = EpollFlags::EPOLLIN;
        for (listener, token) in tools.listeners.iter().zip(LISTENERS) {
            epoll.add(listener, EpollEvent::new(level, token))?;
        }
        epoll.add(&tools.hold, EpollEvent::new(level, HOLD))?;
        epoll.add(&tools.control.bell, EpollEvent::new(level, BELL))?;
        Ok(Worker {
            tools,
            epoll,
            connections: Slab::new(),
            flows: HashMap::new(),
            connecting: 0,
            released: 0,
            queue: VecDeque::new(),
            ended: Vec::new(),
            buffer: vec![0; BUFFER],
            began: Instant::now(),
            second: 0,
        })
    }

    /// Serves until it is told to end.
    ///
    /// # Errors
    /// The kernel's waiting fails, which it does not.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); EVENTS];
        loop {
            let order = self.tools.control.order();
            if order == Order::Stop || order == Order::Drain && self.connections.is_empty() {
                let left: Vec<_> = self.connections.iter().map(|(slot, _)| slot).collect();
                left.into_iter().for_each(|slot| self.reset(slot, "stopped"));
                return Ok(());
            }
            let timeout = if self.queue.is_empty() { 1000_u16 } else { 0 };
            let count = match self.epoll.wait(&mut events, EpollTimeout::from(timeout)) {
                Ok(count) => count,
                Err(nix::errno::Errno::EINTR) => 0,
                Err(error) => return Err(error.into()),
            };
            let second = self.began.elapsed().as_secs() as u32;
            for event in &events[..count] {
                match event.data() {
                    HOLD => self.held(),
                    BELL => drop(self.tools.control.bell.read()),
                    token if LISTENERS.contains(&token) => self.accept((u64::MAX - token) as usize),
                    token => self.event((token >> 1) as usize, token & 1, event.events()),
                }
            }
            for _ in 0..self.queue.len() {
                if let Some(slot) = self.queue.pop_front() {
                    if let Some(connection) = self.connections.get_mut(slot) {
                        connection.queued = false;
                        self.visit(slot);
                    }
                }
            }
            self.tools.counts.pipes.set(self.tools.pipes.made() as u64);
            if second != self.second {
                self.second = second;
                self.look_at_all();
            }
            for slot in self.ended.drain(..) {
                self.connections.remove(slot);
            }
        }
    }

    /// Takes the SYNs that are kept back.
    fn held(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        // Not without end: what is under way has its turn too.
        for _ in 0..EVENTS {
            let mut packets: Vec<Box<[u8]>> = Vec::new();
            match self.tools.hold.next(&mut buffer, |packet| packets.push((&*packet).into())) {
                Ok(()) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => self.tools.counts.unseen.up(),
                Err(_) => break,
            }
            for packet in packets {
                self.segment(packet);
            }
        }
        self.buffer = buffer;
    }

    fn segment(&mut self, mut packet: Box<[u8]>) {
        let Some(segment) = packet::read(&packet) else { return self.unreachable(&packet) };
        if segment.flags & packet::ACK != 0 {
            return self.answered(&segment);
        }
        packet::complete(&mut packet, &segment);
        let flow = Flow { client: segment.source, server: segment.destination };
        if let Some(&slot) = self.flows.get(&flow) {
            return self.repeated(slot, packet);
        }
        if self.connecting >= CONNECTING || self.released >= RELEASED {
            self.tools.counts.unheld.up();
            return self.release(&packet, flow.server.ip());
        }
        if self.connections.len() >= self.tools.capacity {
            return self.pass(&packet, flow.server.ip());
        }
        match self.tools.settings.connect(&flow, segment.tos) {
            Ok(server) => self.begin(flow, Phase::Connecting(Some(packet)), None, server),
            Err(error) => self.refuse(&packet, &segment, &error),
        }
    }

    /// The server's SYN-ACK says how it wants its packets to be treated.
    fn answered(&mut self, segment: &Segment) {
        let flow = Flow { client: segment.destination, server: segment.source };
        if let Some(connection) = self.flows.get(&flow).and_then(|&slot| self.connections.get_mut(slot)) {
            connection.server_tos = segment.tos;
            if let Some(client) = &connection.client {
                let _ = set_tos(client, flow.client.is_ipv6(), segment.tos);
            }
        }
    }

    /// This machine says that a server cannot be reached; it says so to the client, as ours is the client's address.
    fn unreachable(&mut self, packet: &[u8]) {
        let Some((flow, error)) = packet::read_error(packet) else { return };
        if let Some(&slot) = self.flows.get(&flow) {
            if matches!(self.connections[slot].phase, Phase::Connecting(_)) {
                self.failed(slot, &io::Error::from_raw_os_error(error));
            }
        }
    }

    /// A client says again what it has said, or begins anew.
    fn repeated(&mut self, slot: usize, packet: Box<[u8]>) {
        let second = self.second;
        let connection = &mut self.connections[slot];
        let server = connection.flow.server.ip();
        match &mut connection.phase {
            Phase::Connecting(Some(syn)) => *syn = packet,
            // The kernel knows what to answer.
            Phase::Connecting(None) | Phase::Open => self.release(&packet, server),
            Phase::Released(syn) => {
                connection.active = second;
                *syn = packet;
                let syn = syn.clone();
                self.release(&syn, server);
            }
        }
    }

    /// Lets the kernel complete the handshake of a SYN.
    fn release(&self, packet: &[u8], server: IpAddr) {
        // What cannot be sent now is repeated by the client.
        let _ = self.tools.release.send(packet, server);
    }

    /// Lets a connection pass by the proxy.
    fn pass(&self, packet: &[u8], server: IpAddr) {
        self.tools.counts.passed.up();
        let _ = self.tools.forward.send(packet, server);
    }

    /// Tells a client why there is no connection, as the network would.
    fn refuse(&self, syn: &[u8], segment: &Segment, error: &io::Error) {
        let counts = &self.tools.counts;
        let answer = match error.raw_os_error() {
            Some(libc::ECONNREFUSED | libc::ECONNRESET) => {
                counts.failed_refused.up();
                packet::refusal(syn, segment)
            }
            Some(code @ (libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EACCES | libc::EPERM)) => {
                counts.failed_unreachable.up();
                let why = match code {
                    libc::ENETUNREACH => Unreachable::Network,
                    libc::EHOSTUNREACH => Unreachable::Host,
                    _ => Unreachable::Forbidden,
                };
                packet::unreachable(syn, segment, why)
            }
            // Silence is what the client would have heard.
            Some(libc::ETIMEDOUT) => return counts.failed_timeout.up(),
            // The client's port is still in use by its last connection to this server (TIME-WAIT).
            Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => return counts.failed_address.up(),
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS) => {
                return self.pass(syn, segment.destination.ip());
            }
            _ => return counts.failed_other.up(),
        };
        let _ = self.tools.forward.send(&answer, segment.source.ip());
    }

    /// Takes clients that have finished their handshake.
    fn accept(&mut self, which: usize) {
        while let Ok((client, peer)) = sys::accept(&self.tools.listeners[which]) {
            let local = client.local_addr().ok().and_then(|address| address.as_socket());
            let (Some(peer), Some(local)) = (peer.as_socket(), local) else { continue };
            let flow = Flow { client: without_scope(peer), server: without_scope(local) };
            match self.flows.get(&flow).copied() {
                Some(slot) => self.accepted(slot, client),
                None => self.accepted_early(flow, client),
            }
        }
    }

    fn accepted(&mut self, slot: usize, client: Socket) {
        let connection = &mut self.connections[slot];
        if connection.client.is_some() || self.watch(&client, slot, CLIENT).is_err() {
            return reset_on_close(&client);
        }
        let connection = &mut self.connections[slot];
        let _ = set_tos(&client, connection.flow.client.is_ipv6(), connection.server_tos);
        connection.client = Some(client);
        if matches!(connection.phase, Phase::Released(_)) {
            self.open(slot);
        }
        // Else the server has not answered; the kernel took a SYN that we did not give it: it opens when it has.
        else if matches!(connection.phase, Phase::Connecting(Some(_))) {
            connection.phase = Phase::Connecting(None);
        }
    }

    fn accepted_early(&mut self, flow: Flow, client: Socket) {
        let mut syn = [0; 256];
        let tos =
            sys::saved_syn(client.as_fd(), &mut syn).ok().and_then(|length| packet::read(&syn[..length]));
        let tos = tos.map_or(0, |segment| segment.tos);
        let full = self.connections.len() >= self.tools.capacity;
        match self.tools.settings.connect(&flow, tos) {
            Ok(server) if !full => {
                // Until the server says otherwise, its packets are treated as the client's.
                let _ = set_tos(&client, flow.client.is_ipv6(), tos);
                self.begin(flow, Phase::Connecting(None), Some(client), server);
            }
            _ => {
                self.tools.counts.failed_other.up();
                reset_on_close(&client);
            }
        }
    }

    fn begin(&mut self, flow: Flow, phase: Phase, client: Option<Socket>, server: Socket) {
        let (active, since) = (self.second, self.second);
        let slot = self.connections.insert(Connection {
            flow,
            phase,
            client,
            server: Some(server),
            up: Direction::default(),
            down: Direction::default(),
            server_tos: 0,
            active,
            since,
            queued: false,
        });
        self.flows.insert(flow, slot);
        self.connecting += 1;
        self.tools.counts.handshakes.up();
        let connection = &self.connections[slot];
        let watched = [(&connection.client, CLIENT), (&connection.server, SERVER)]
            .into_iter()
            .filter_map(|(socket, side)| Some(self.watch(socket.as_ref()?, slot, side)))
            .collect::<io::Result<()>>();
        if watched.is_err() {
            self.reset(slot, "no memory");
        }
    }

    /// Has the kernel tell of what happens on a socket.
    fn watch(&self, socket: &Socket, slot: usize, side: u64) -> io::Result<()> {
        let all = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        Ok(self.epoll.add(socket, EpollEvent::new(all, (slot as u64) << 1 | side))?)
    }

    fn event(&mut self, slot: usize, side: u64, flags: EpollFlags) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let socket = if side == CLIENT { &connection.client } else { &connection.server };
        let Some(socket) = socket else { return };
        let broken = flags.contains(EpollFlags::EPOLLERR);
        match &connection.phase {
            Phase::Connecting(_) if side == CLIENT => {
                if broken {
                    self.reset(slot, "reset");
                }
            }
            Phase::Connecting(_) => match socket.take_error() {
                Ok(Some(error)) | Err(error) => self.failed(slot, &error),
                Ok(None) if flags.contains(EpollFlags::EPOLLOUT) => self.connected(slot),
                Ok(None) => {}
            },
            Phase::Released(_) => {
                if broken {
                    self.failed(slot, &io::Error::from_raw_os_error(libc::ECONNRESET));
                }
            }
            Phase::Open => {
                let end = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
                let (from, to) = match side {
                    CLIENT => (&mut connection.up, &mut connection.down),
                    _ => (&mut connection.down, &mut connection.up),
                };
                from.readable |= flags.intersects(end | EpollFlags::EPOLLIN);
                to.writable |= flags.intersects(end | EpollFlags::EPOLLOUT);
                self.visit(slot);
                if broken {
                    // Its error may wait behind data that the other end does not take.
                    let Some(connection) = self.connections.get(slot) else { return };
                    let socket = if side == CLIENT { &connection.client } else { &connection.server };
                    if socket.as_ref().is_some_and(|socket| !matches!(socket.take_error(), Ok(None))) {
                        self.reset(slot, "reset");
                    }
                }
            }
        }
    }

    /// The server has accepted.
    fn connected(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        connection.active = self.second;
        match std::mem::replace(&mut connection.phase, Phase::Connecting(None)) {
            Phase::Connecting(Some(syn)) if self.released >= RELEASED => {
                // The server shall not keep it for a client that may not be; it is asked again for one that is.
                let server = connection.flow.server.ip();
                self.tools.counts.unheld.up();
                self.release(&syn, server);
                self.reset(slot, "too many unfinished handshakes");
            }
            Phase::Connecting(Some(syn)) => {
                let server = connection.flow.server.ip();
                connection.phase = Phase::Released(syn.clone());
                self.connecting -= 1;
                self.released += 1;
                self.release(&syn, server);
            }
            _ => self.open(slot),
        }
    }

    /// The server has not accepted.
    fn failed(&mut self, slot: usize, error: &io::Error) {
        match &self.connections[slot].phase {
            Phase::Connecting(Some(syn)) | Phase::Released(syn) => {
                if let Some(segment) = packet::read(syn) {
                    self.refuse(syn, &segment, error);
                }
            }
            // Its handshake is over: a reset is all that it can be told.
            _ => self.tools.counts.failed_refused.up(),
        }
        self.reset(slot, &error.to_string());
    }

    /// Both ends are there.
    fn open(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        match std::mem::replace(&mut connection.phase, Phase::Open) {
            Phase::Released(_) => self.released -= 1,
            _ => self.connecting -= 1,
        }
        connection.active = self.second;
        self.tools.counts.handshakes.down();
        self.tools.counts.connections.up();
        self.tools.counts.accepted.up();
        self.visit(slot);
    }

    /// Carries what can be carried, both ways.
    fn visit(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        let (Some(client), Some(server)) = (&connection.client, &connection.server) else { return };
        let before = (connection.up.bytes, connection.down.bytes);
        let (pipes, buffer) = (&mut self.tools.pipes, &mut self.buffer);
        let up = connection.up.visit(client, server, pipes, buffer);
        let down = up.and_then(|up| Ok((up, connection.down.visit(server, client, pipes, buffer)?)));
        let carried = (connection.up.bytes - before.0, connection.down.bytes - before.1);
        self.tools.counts.bytes_up.add(carried.0);
        self.tools.counts.bytes_down.add(carried.1);
        if carried != (0, 0) {
            connection.active = self.second;
        }
        match down {
            Err(_) => self.reset(slot, "reset"),
            Ok(_) if connection.up.is_shut() && connection.down.is_shut() => {
                self.tools.counts.closed.up();
                self.end(slot, "closed");
            }
            Ok(visits) if visits.0 == Visit::More || visits.1 == Visit::More => {
                if !connection.queued {
                    connection.queued = true;
                    self.queue.push_back(slot);
                }
            }
            Ok(_) => {}
        }
    }

    /// Ends a connection by resetting both its ends.
    fn reset(&mut self, slot: usize, why: &str) {
        let connection = &self.connections[slot];
        [&connection.client, &connection.server].into_iter().flatten().for_each(reset_on_close);
        if matches!(connection.phase, Phase::Open) {
            self.tools.counts.reset.up();
        }
        self.end(slot, why);
    }

    fn end(&mut self, slot: usize, how: &str) {
        let connection = &mut self.connections[slot];
        if connection.client.is_none() && connection.server.is_none() {
            return;
        }
        (connection.client, connection.server) = (None, None);
        let (up, down) = (std::mem::take(&mut connection.up), std::mem::take(&mut connection.down));
        if self.tools.log_connections {
            journal::info(
                "connection",
                json!({
                    "client": connection.flow.client.to_string(), "server": connection.flow.server.to_string(),
                    "bytes_up": up.bytes, "bytes_down": down.bytes, "end": how,
                    "seconds": self.second - connection.since,
                }),
            );
        }
        match connection.phase {
            Phase::Open => self.tools.counts.connections.down(),
            Phase::Released(_) => self.released -= 1,
            Phase::Connecting(_) => self.connecting -= 1,
        }
        if !matches!(connection.phase, Phase::Open) {
            self.tools.counts.handshakes.down();
        }
        up.end(&mut self.tools.pipes);
        down.end(&mut self.tools.pipes);
        self.flows.remove(&self.connections[slot].flow);
        self.ended.push(slot);
    }

    /// Once a second: whose time is over.
    fn look_at_all(&mut self) {
        let (second, connect, idle) = (self.second, self.tools.connect_timeout, self.tools.idle_timeout);
        let over: Vec<_> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.server.is_some())
            .filter(|(_, connection)| {
                let quiet = second - connection.active;
                match &connection.phase {
                    Phase::Connecting(_) => quiet > connect,
                    Phase::Released(_) => quiet > FINISH,
                    Phase::Open => idle.is_some_and(|idle| quiet > idle),
                }
            })
            .map(|(slot, _)| slot)
            .collect();
        for slot in over {
            match &self.connections[slot].phase {
                Phase::Connecting(_) => self.failed(slot, &io::Error::from_raw_os_error(libc::ETIMEDOUT)),
                Phase::Released(_) => {
                    self.tools.counts.failed_client.up();
                    self.reset(slot, "client did not finish its handshake");
                }
                Phase::Open => {
                    self.tools.counts.idle.up();
                    self.reset(slot, "idle");
                }
            }
        }
    }
}

/// Addresses of IPv6 as packets have them.
fn without_scope(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port())
}
