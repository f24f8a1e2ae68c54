//! A worker: one thread with its connections, and the kernel's reports on what can be done (epoll,
//! edge-triggered).

mod handshake;

use crate::connection::{Connection, Phase};
use crate::control::{Command, Control};
use crate::direction::{Visit, BUFFER};
use crate::journal;
use crate::metrics::Counts;
use crate::packet::Flow;
use crate::pipe::Pipes;
use crate::raw::Raw;
use crate::sockets::{reset_on_close, Settings};
use crate::syn_queue::SynQueue;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use serde_json::json;
use slab::Slab;
use socket2::Socket;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

/// Seconds in which a client must finish its handshake after the server has accepted.
const FINISH: u32 = 20;
/// Most events that one call to the kernel returns.
const EVENTS: usize = 256;

const CLIENT: u64 = 0;
const SERVER: u64 = 1;
const LISTENERS: [u64; 2] = [u64::MAX, u64::MAX - 1];
const SYN_QUEUE: u64 = u64::MAX - 2;
const WAKE_EVENT: u64 = u64::MAX - 3;

/// The parts of a worker that are created while the process has the privileges for it.
pub struct WorkerParts {
    /// Listeners for clients' connections over IPv4 and IPv6.
    pub listeners: Vec<Socket>,
    /// The queue of held SYNs.
    pub syn_queue: SynQueue,
    /// Sends SYNs back to the kernel.
    pub release: Raw,
    /// Sends packets into the network.
    pub forward: Raw,
    /// The options of sockets.
    pub settings: Settings,
    /// Largest number of connections at once.
    pub capacity: usize,
    /// Pipes that are not in use.
    pub pipes: Pipes,
    /// Seconds without a byte after which a connection is reset.
    pub idle_timeout: Option<u32>,
    /// Seconds within which a server must accept.
    pub connect_timeout: u32,
    /// True if each connection is logged.
    pub log_connections: bool,
    /// Counters of the worker, which the metrics add up.
    pub counts: Arc<Counts>,
    /// The orders for the worker.
    pub control: Arc<Control>,
}

impl WorkerParts {
    /// Returns the file descriptors that a worker uses.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let listeners = self.listeners.iter().map(AsRawFd::as_raw_fd);
        let raw = [&self.release, &self.forward].into_iter().flat_map(Raw::descriptors);
        let others = [self.syn_queue.as_fd().as_raw_fd(), self.control.wake_event.as_fd().as_raw_fd()];
        listeners.chain(raw).chain(others).collect()
    }
}

/// A worker: one thread with its connections.
pub struct Worker {
    parts: WorkerParts,
    epoll: Epoll,
    connections: Slab<Connection>,
    flows: HashMap<Flow, usize>,
    /// Number of connections in these phases.
    connecting: usize,
    released: usize,
    /// Connections with more data than one visit may carry.
    queue: VecDeque<usize>,
    /// Connections that ended in this round. Their slots are reused only in the next round, because
    /// pending events may still refer to them.
    ended: Vec<usize>,
    buffer: Vec<u8>,
    began: Instant,
    second: u32,
}

impl Worker {
    /// Opens an epoll instance and registers the listeners with it.
    ///
    /// # Errors
    /// The kernel has no more epoll instances.
    pub fn new(parts: WorkerParts) -> io::Result<Worker> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let level = EpollFlags::EPOLLIN;
        for (listener, token) in parts.listeners.iter().zip(LISTENERS) {
            epoll.add(listener, EpollEvent::new(level, token))?;
        }
        epoll.add(&parts.syn_queue, EpollEvent::new(level, SYN_QUEUE))?;
        epoll.add(&parts.control.wake_event, EpollEvent::new(level, WAKE_EVENT))?;
        Ok(Worker {
            parts,
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

    /// Serves until an order tells it to end.
    ///
    /// # Errors
    /// The kernel's wait fails, which does not happen.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); EVENTS];
        loop {
            let command = self.parts.control.command();
            if command == Command::Stop || command == Command::Drain && self.connections.is_empty() {
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
                    SYN_QUEUE => self.receive_syns(),
                    WAKE_EVENT => drop(self.parts.control.wake_event.read()),
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
            self.parts.counts.pipes.set(self.parts.pipes.made() as u64);
            if second != self.second {
                self.second = second;
                self.check_timers();
            }
            for slot in self.ended.drain(..) {
                self.connections.remove(slot);
            }
        }
    }

    /// Registers a socket for events.
    fn watch(&self, socket: &Socket, slot: usize, side: u64) -> io::Result<()> {
        let all = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLPRI
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        Ok(self.epoll.add(socket, EpollEvent::new(all, (slot as u64) << 1 | side))?)
    }

    fn event(&mut self, slot: usize, side: u64, flags: EpollFlags) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let socket = if side == CLIENT { &connection.client } else { &connection.server };
        let Some(socket) = socket else { return };
        let broken = flags.contains(EpollFlags::EPOLLERR);
        let end = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        let (from, to) = match side {
            CLIENT => (&mut connection.up, &mut connection.down),
            _ => (&mut connection.down, &mut connection.up),
        };
        from.readable |= flags.intersects(end | EpollFlags::EPOLLIN);
        from.urgent |= flags.contains(EpollFlags::EPOLLPRI);
        from.ending |= flags.intersects(end);
        from.broken |= broken;
        to.writable |= flags.intersects(end | EpollFlags::EPOLLOUT);
        match &connection.phase {
            Phase::Connecting(_) if side == CLIENT => {
                if broken {
                    self.reset(slot, "reset");
                }
            }
            // Reads and writes are attempted only after an event of the kernel.
            Phase::Connecting(_) if !flags.intersects(end) => {
                if flags.contains(EpollFlags::EPOLLOUT) {
                    self.connected(slot);
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
                self.visit(slot);
                if broken {
                    // The error may be queued behind data that the other end does not read.
                    let Some(connection) = self.connections.get(slot) else { return };
                    let socket = if side == CLIENT { &connection.client } else { &connection.server };
                    if socket.as_ref().is_some_and(|socket| !matches!(socket.take_error(), Ok(None))) {
                        self.reset(slot, "reset");
                    }
                }
            }
        }
    }

    /// Carries as much as possible in both directions.
    fn visit(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        let (Some(client), Some(server)) = (&connection.client, &connection.server) else { return };
        let before = (connection.up.bytes, connection.down.bytes);
        let (pipes, buffer) = (&mut self.parts.pipes, &mut self.buffer);
        let (up, down) = (&mut connection.up, &mut connection.down);
        let both = up.visit(client, server, pipes, buffer, down.is_shut());
        let both =
            both.and_then(|there| Ok((there, down.visit(server, client, pipes, buffer, up.is_shut())?)));
        let transit = (connection.up.bytes - before.0, connection.down.bytes - before.1);
        self.parts.counts.bytes_up.add(transit.0);
        self.parts.counts.bytes_down.add(transit.1);
        if transit != (0, 0) {
            connection.active = self.second;
        }
        match both {
            Err(_) => self.reset(slot, "reset"),
            Ok(_) if connection.up.is_shut() && connection.down.is_shut() => {
                self.parts.counts.closed.up();
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
    fn reset(&mut self, slot: usize, reason: &str) {
        let connection = &self.connections[slot];
        [&connection.client, &connection.server].into_iter().flatten().for_each(reset_on_close);
        if matches!(connection.phase, Phase::Open) {
            self.parts.counts.reset.up();
        }
        self.end(slot, reason);
    }

    fn end(&mut self, slot: usize, how: &str) {
        let connection = &mut self.connections[slot];
        if connection.client.is_none() && connection.server.is_none() {
            return;
        }
        (connection.client, connection.server) = (None, None);
        let (up, down) = (std::mem::take(&mut connection.up), std::mem::take(&mut connection.down));
        if self.parts.log_connections {
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
            Phase::Open => self.parts.counts.connections.down(),
            Phase::Released(_) => self.released -= 1,
            Phase::Connecting(_) => self.connecting -= 1,
        }
        if !matches!(connection.phase, Phase::Open) {
            self.parts.counts.handshakes.down();
        }
        up.end(&mut self.parts.pipes);
        down.end(&mut self.parts.pipes);
        self.flows.remove(&self.connections[slot].flow);
        self.ended.push(slot);
    }

    /// Checks all connections, once a second: for time-outs, and for the age at which keepalive
    /// starts.
    fn check_timers(&mut self) {
        let (now, settings) = (self.second, &self.parts.settings);
        for (_, connection) in &mut self.connections {
            let young = connection.kept_alive || now == connection.since;
            if let (Phase::Open, Some(server), false) = (&connection.phase, &connection.server, young) {
                // It can fail only for a descriptor that is no socket.
                let _ = settings.keep_alive(server);
                connection.kept_alive = true;
            }
        }
        let (second, connect, idle) = (self.second, self.parts.connect_timeout, self.parts.idle_timeout);
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
                    self.parts.counts.failed_client.up();
                    self.reset(slot, "client did not finish its handshake");
                }
                Phase::Open => {
                    self.parts.counts.idle.up();
                    self.reset(slot, "idle");
                }
            }
        }
    }
}
