//! Sets up connections: from a client's SYN to two connected ends, or to an error for the client.

use super::{Worker, CLIENT, EVENTS, SERVER};
use crate::connection::{Connection, Phase};
use crate::direction::Direction;
use crate::packet::{self, Flow, Segment, Unreachable};
use crate::sockets::{reset_on_close, set_tos};
use crate::sys;
use socket2::Socket;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

/// Most connections whose server has not answered. The kernel answers further SYNs at once: its SYN
/// cookies reject clients with forged addresses.
const CONNECTING: usize = 4096;
/// Most connections whose server has accepted and whose client has not finished its handshake.
/// The limit is lower, because each one occupies a server, perhaps for a forged client.
const RELEASED: usize = 512;

impl Worker {
    /// Processes the SYNs that the packet filter held back.
    pub(super) fn receive_syns(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        // The number is limited, so that existing connections get their turn.
        for _ in 0..EVENTS {
            let mut packets: Vec<Box<[u8]>> = Vec::new();
            match self.parts.syn_queue.next(&mut buffer, |packet| packets.push((&*packet).into())) {
                Ok(()) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => self.parts.counts.unseen.up(),
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
            self.parts.counts.unheld.up();
            return self.release(&packet, flow.server.ip());
        }
        if self.connections.len() >= self.parts.capacity {
            return self.pass(&packet, flow.server.ip());
        }
        match self.parts.settings.connect(&flow, segment.tos) {
            Ok(server) => self.begin(flow, Phase::Connecting(Some(packet)), None, server),
            Err(error) => self.refuse(&packet, &segment, &error),
        }
    }

    /// Copies the type of service of the server's SYN-ACK.
    fn answered(&mut self, segment: &Segment) {
        let flow = Flow { client: segment.destination, server: segment.source };
        if let Some(connection) = self.flows.get(&flow).and_then(|&slot| self.connections.get_mut(slot)) {
            connection.server_tos = segment.tos;
            if let Some(client) = &connection.client {
                let _ = set_tos(client, flow.client.is_ipv6(), segment.tos);
            }
        }
    }

    /// Handles an error of this machine about an unreachable server; it was sent to the client's
    /// address, which the proxy uses.
    fn unreachable(&mut self, packet: &[u8]) {
        let Some((flow, error)) = packet::read_error(packet) else { return };
        if let Some(&slot) = self.flows.get(&flow) {
            if matches!(self.connections[slot].phase, Phase::Connecting(_)) {
                self.failed(slot, &io::Error::from_raw_os_error(error));
            }
        }
    }

    /// Handles a SYN of a known client: a retransmission or a new attempt.
    fn repeated(&mut self, slot: usize, packet: Box<[u8]>) {
        let second = self.second;
        let connection = &mut self.connections[slot];
        let server = connection.flow.server.ip();
        match &mut connection.phase {
            Phase::Connecting(Some(syn)) => *syn = packet,
            // The kernel knows the answer.
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
        // If it cannot be sent now, the client repeats it.
        let _ = self.parts.release.send(packet, server);
    }

    /// Lets a connection pass by the proxy.
    fn pass(&self, packet: &[u8], server: IpAddr) {
        self.parts.counts.passed.up();
        let _ = self.parts.forward.send(packet, server);
    }

    /// Answers a client whose connection failed, as the network would without a proxy.
    fn refuse(&self, syn: &[u8], segment: &Segment, error: &io::Error) {
        let counts = &self.parts.counts;
        let answer = match error.raw_os_error() {
            Some(libc::ECONNREFUSED | libc::ECONNRESET) => {
                counts.failed_refused.up();
                packet::refusal(syn, segment)
            }
            Some(code @ (libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EACCES | libc::EPERM)) => {
                counts.failed_unreachable.up();
                let reason = match code {
                    libc::ENETUNREACH => Unreachable::Network,
                    libc::EHOSTUNREACH => Unreachable::Host,
                    _ => Unreachable::Forbidden,
                };
                packet::unreachable(syn, segment, reason)
            }
            // Without the proxy, the client would have got no answer.
            Some(libc::ETIMEDOUT) => return counts.failed_timeout.up(),
            // The client's port is still in use by its last connection to this server (TIME-WAIT).
            Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => return counts.failed_address.up(),
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS) => {
                return self.pass(syn, segment.destination.ip());
            }
            _ => return counts.failed_other.up(),
        };
        let _ = self.parts.forward.send(&answer, segment.source.ip());
    }

    /// Accepts clients that have finished their handshake.
    pub(super) fn accept(&mut self, which: usize) {
        while let Ok((client, peer)) = sys::accept(&self.parts.listeners[which]) {
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
        // Otherwise the server has not answered, and the kernel took a SYN that the proxy did not
        // release. The connection opens when the server answers.
        else if matches!(connection.phase, Phase::Connecting(Some(_))) {
            connection.phase = Phase::Connecting(None);
        }
    }

    fn accepted_early(&mut self, flow: Flow, client: Socket) {
        let mut syn = [0; 256];
        let tos =
            sys::saved_syn(client.as_fd(), &mut syn).ok().and_then(|length| packet::read(&syn[..length]));
        let tos = tos.map_or(0, |segment| segment.tos);
        let full = self.connections.len() >= self.parts.capacity;
        match self.parts.settings.connect(&flow, tos) {
            Ok(server) if !full => {
                // Until the server says otherwise, its packets get the client's type of service.
                let _ = set_tos(&client, flow.client.is_ipv6(), tos);
                self.begin(flow, Phase::Connecting(None), Some(client), server);
            }
            _ => {
                self.parts.counts.failed_other.up();
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
            kept_alive: false,
            queued: false,
        });
        self.flows.insert(flow, slot);
        self.connecting += 1;
        self.parts.counts.handshakes.up();
        let connection = &self.connections[slot];
        let watched = [(&connection.client, CLIENT), (&connection.server, SERVER)]
            .into_iter()
            .filter_map(|(socket, side)| Some(self.watch(socket.as_ref()?, slot, side)))
            .collect::<io::Result<()>>();
        if watched.is_err() {
            self.reset(slot, "no memory");
        }
    }

    /// Called when the server has accepted.
    pub(super) fn connected(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        connection.active = self.second;
        match std::mem::replace(&mut connection.phase, Phase::Connecting(None)) {
            Phase::Connecting(Some(syn)) if self.released >= RELEASED => {
                // The server should not keep it for a client that may not exist; a new connection
                // is made for one that does.
                let server = connection.flow.server.ip();
                self.parts.counts.unheld.up();
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

    /// Called when the server has not accepted.
    pub(super) fn failed(&mut self, slot: usize, error: &io::Error) {
        match &self.connections[slot].phase {
            Phase::Connecting(Some(syn)) | Phase::Released(syn) => {
                if let Some(segment) = packet::read(syn) {
                    self.refuse(syn, &segment, error);
                }
            }
            // The client's handshake is complete, so only a reset can be sent.
            _ => self.parts.counts.failed_refused.up(),
        }
        self.reset(slot, &error.to_string());
    }

    /// Starts to carry data, when both ends are connected.
    fn open(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        match std::mem::replace(&mut connection.phase, Phase::Open) {
            Phase::Released(_) => self.released -= 1,
            _ => self.connecting -= 1,
        }
        connection.active = self.second;
        self.parts.counts.handshakes.down();
        self.parts.counts.connections.up();
        self.parts.counts.accepted.up();
        // Data seen earlier is known to be there; the kernel reports other data next.
        self.visit(slot);
    }
}

/// Returns IPv6 addresses as packets contain them.
fn without_scope(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port())
}
