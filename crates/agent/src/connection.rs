//! A TCP connection to another agent, for any layer over TCP.

use crate::config::Layer;
use bentpipe_core::{Span, Time};
use bentpipe_dtn::convergence::{stream, tcpcl};
use bytes::Bytes;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Bytes that may wait for the other side before no further bundles are taken from the queue.
const MAX_UNSENT: usize = 1 << 20;
/// Most bundles without an acknowledgment.
const MAX_UNACKNOWLEDGED: usize = 1024;
/// Time after which a connection that is not established is given up; a handshake takes twice the
/// light time.
const HANDSHAKE_TIMEOUT: Span = Span::from_secs(60);

/// A bundle that came over a connection.
pub struct Incoming {
    /// Number of its transfer, if the layer acknowledges.
    pub transfer: Option<u64>,
    /// The bytes of the bundle as received.
    pub bundle: Bytes,
}

enum Protocol {
    Tcpcl(Box<tcpcl::Session>),
    /// Bundles come one after the other (MTCP, STCP).
    In(stream::Reader),
    /// Bundles are written one after the other in this format.
    Out(stream::WriteBundle),
}

/// A TCP connection over which bundles are sent and received.
pub struct Connection {
    /// The socket, which never blocks.
    pub stream: TcpStream,
    /// The peer to which it leads, if known.
    pub peer: Option<usize>,
    /// The node at the other end, once it has identified itself.
    pub node: Option<String>,
    protocol: Protocol,
    /// Deadline for the handshake of TCP, if it is not over.
    connecting: Option<Time>,
    out: Vec<u8>,
    written: usize,
    /// Unacknowledged bundles: transfers and their numbers in the storage.
    unacknowledged: BTreeMap<u64, u64>,
    /// MTCP and STCP: bundles, and the number of bytes after which each is sent completely.
    unwritten: Vec<(usize, u64)>,
    /// Received bundles that have not been taken yet.
    incoming: Vec<Incoming>,
    /// Bundles that the other side has accepted (true) or refused (false).
    finished: Vec<(u64, bool)>,
    /// The reason why the connection ended, if it has.
    pub end_reason: Option<String>,
}

impl Connection {
    /// Returns a connection that another agent has opened.
    pub fn accepted(
        stream: TcpStream,
        layer: Layer,
        config: tcpcl::Config,
        now: Time,
    ) -> io::Result<Connection> {
        let protocol = match layer.framing() {
            Some(framing) => Protocol::In(stream::Reader::new(config.transfer, framing)),
            None => Protocol::Tcpcl(Box::new(tcpcl::Session::new(config, now))),
        };
        Connection::new(stream, protocol, None)
    }

    /// Opens a connection to a peer, without waiting for the handshake.
    pub fn open(
        address: SocketAddr,
        layer: Layer,
        config: tcpcl::Config,
        peer: usize,
        now: Time,
    ) -> io::Result<Connection> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() != Some(nix::libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let protocol = match layer.framing() {
            Some(framing) => Protocol::Out(framing.write),
            None => Protocol::Tcpcl(Box::new(tcpcl::Session::new(config, now))),
        };
        let connection = Connection::new(socket.into(), protocol, Some(peer))?;
        Ok(Connection { connecting: Some(now + HANDSHAKE_TIMEOUT), ..connection })
    }

    fn new(stream: TcpStream, protocol: Protocol, peer: Option<usize>) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Connection {
            stream,
            peer,
            node: None,
            protocol,
            connecting: None,
            out: Vec::new(),
            written: 0,
            unacknowledged: BTreeMap::new(),
            unwritten: Vec::new(),
            incoming: Vec::new(),
            finished: Vec::new(),
            end_reason: None,
        })
    }

    /// Returns true if a further bundle may be sent now.
    pub fn takes(&self) -> bool {
        let room = self.out.len() - self.written < MAX_UNSENT && self.end_reason.is_none();
        room && self.connecting.is_none()
            && match &self.protocol {
                Protocol::Tcpcl(session) => {
                    session.is_established() && self.unacknowledged.len() < MAX_UNACKNOWLEDGED
                }
                Protocol::In(_) => false,
                Protocol::Out(_) => true,
            }
    }

    /// Sends a bundle. Returns true if the other side can take it at all.
    pub fn send(&mut self, number: u64, bundle: Bytes) -> bool {
        match &mut self.protocol {
            Protocol::Tcpcl(session) => match session.send(bundle) {
                Some(transfer) => self.unacknowledged.insert(transfer, number).is_none(),
                None => false,
            },
            Protocol::Out(write) => {
                let fits = write(&bundle, &mut self.out);
                if fits {
                    self.unwritten.push((self.out.len(), number));
                }
                fits
            }
            Protocol::In(_) => false,
        }
    }

    /// Continues the handshake of TCP, and ends the connection if that has failed. Returns true if
    /// the handshake is complete.
    fn establish(&mut self, now: Time) -> bool {
        let Some(until) = self.connecting else { return true };
        match self.stream.take_error() {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => {
                self.end_reason.get_or_insert_with(|| error.to_string());
                return false;
            }
        }
        if self.stream.peer_addr().is_ok() {
            self.connecting = None;
            if let Protocol::Tcpcl(session) = &mut self.protocol {
                session.connected(now);
            }
        } else if until <= now {
            self.end_reason.get_or_insert_with(|| "no answer".to_owned());
        }
        self.connecting.is_none()
    }

    /// Reads all waiting data.
    pub fn read(&mut self, now: Time, buffer: &mut [u8]) {
        if !self.establish(now) {
            return;
        }
        loop {
            match self.stream.read(buffer) {
                Ok(0) => {
                    if let Protocol::Tcpcl(session) = &mut self.protocol {
                        session.disconnected();
                    }
                    self.end_reason.get_or_insert_with(|| "closed by the other side".to_owned());
                    break;
                }
                Ok(count) => {
                    match &mut self.protocol {
                        Protocol::Tcpcl(session) => session.read(now, &buffer[..count]),
                        Protocol::In(reader) => reader.read(&buffer[..count]),
                        // MTCP and STCP send nothing back.
                        Protocol::Out(_) => {}
                    }
                    if count < buffer.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.end_reason = Some(error.to_string());
                    break;
                }
            }
        }
        self.process_events();
    }

    fn process_events(&mut self) {
        match &mut self.protocol {
            Protocol::Tcpcl(session) => {
                while let Some(event) = session.next_event() {
                    match event {
                        tcpcl::Event::Established(node) => self.node = Some(node),
                        tcpcl::Event::Received { transfer, bundle } => {
                            self.incoming.push(Incoming { transfer: Some(transfer), bundle });
                        }
                        tcpcl::Event::Sent(transfer) => {
                            self.finished
                                .extend(self.unacknowledged.remove(&transfer).map(|number| (number, true)));
                        }
                        tcpcl::Event::Refused(transfer, _) => {
                            self.finished
                                .extend(self.unacknowledged.remove(&transfer).map(|number| (number, false)));
                        }
                        tcpcl::Event::Ended(reason) => {
                            self.end_reason.get_or_insert_with(|| reason.to_string());
                        }
                    }
                }
            }
            Protocol::In(reader) => loop {
                match reader.next_bundle() {
                    Ok(Some(bundle)) => self.incoming.push(Incoming { transfer: None, bundle }),
                    Ok(None) => break,
                    Err(error) => {
                        self.end_reason = Some(error.to_string());
                        break;
                    }
                }
            },
            Protocol::Out(_) => {}
        }
    }

    /// Returns the bundles received since the last call.
    pub fn take_incoming(&mut self) -> Vec<Incoming> {
        std::mem::take(&mut self.incoming)
    }

    /// Returns the bundles that the other side has accepted (true) or refused (false) since the
    /// last call.
    pub fn take_finished(&mut self) -> Vec<(u64, bool)> {
        std::mem::take(&mut self.finished)
    }

    /// Returns the bundles that were unacknowledged when the connection ended.
    pub fn take_unacknowledged(&mut self) -> Vec<u64> {
        let unwritten = std::mem::take(&mut self.unwritten).into_iter().map(|(_, number)| number);
        std::mem::take(&mut self.unacknowledged).into_values().chain(unwritten).collect()
    }

    /// Answers a received bundle.
    pub fn answer(&mut self, transfer: u64, length: u64, taken: bool) {
        if let Protocol::Tcpcl(session) = &mut self.protocol {
            match taken {
                true => session.accept(transfer, length),
                false => session.refuse(transfer, tcpcl::NO_RESOURCES),
            }
        }
    }

    /// Ends the session as its protocol requires.
    pub fn close(&mut self) {
        if let Protocol::Tcpcl(session) = &mut self.protocol {
            session.close();
        }
    }

    /// Writes pending bytes until the socket's buffer is full.
    pub fn write(&mut self, now: Time) {
        if !self.establish(now) {
            return;
        }
        if let Protocol::Tcpcl(session) = &mut self.protocol {
            session.wake(now);
            if self.out.len() - self.written < MAX_UNSENT {
                self.out.extend(session.write(now, MAX_UNSENT));
            }
        }
        self.process_events();
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.end_reason.get_or_insert_with(|| error.to_string());
                    return;
                }
            }
        }
        let out = self.unwritten.partition_point(|(end, _)| *end <= self.written);
        self.finished.extend(self.unwritten.drain(..out).map(|(_, number)| (number, true)));
        if self.written == self.out.len() && self.unwritten.is_empty() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Returns true if bytes wait for room in the socket, or for the handshake.
    pub fn is_blocked(&self) -> bool {
        self.connecting.is_some() || self.written < self.out.len()
    }

    /// Returns the time of the session's next timer.
    pub fn next_wake(&self) -> Option<Time> {
        if self.connecting.is_some() {
            return self.connecting;
        }
        match &self.protocol {
            Protocol::Tcpcl(session) => session.next_wake(),
            _ => None,
        }
    }
}
