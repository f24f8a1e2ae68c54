//! A TCP connection to another agent, for TCPCL, MTCP and STCP.

use crate::config::Layer;
use bentpipe_core::{Span, Time};
use bentpipe_dtn::convergence::{stream, tcpcl};
use bytes::Bytes;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Maximum number of bytes that wait to be written. No further bundle is sent while this limit is
/// reached.
const MAX_UNSENT: usize = 1 << 20;
/// Maximum number of unacknowledged bundles in a TCPCL session.
const MAX_UNACKNOWLEDGED: usize = 1024;
/// Maximum time for the TCP handshake, which takes twice the light time.
const HANDSHAKE_TIMEOUT: Span = Span::from_secs(60);

/// A bundle that was received over a connection.
pub struct Incoming {
    /// Number of the transfer in its TCPCL session; `None` for MTCP and STCP.
    pub transfer: Option<u64>,
    /// The bytes of the received bundle.
    pub bundle: Bytes,
}

enum Protocol {
    Tcpcl(Box<tcpcl::Session>),
    /// MTCP or STCP, receiving.
    In(stream::Reader),
    /// MTCP or STCP, sending with this function.
    Out(stream::WriteBundle),
}

/// A TCP connection over which bundles are sent and received.
pub struct Connection {
    /// The socket, which never blocks.
    pub stream: TcpStream,
    /// The number of the peer at the other end, if known.
    pub peer: Option<usize>,
    /// The node at the other end, once it has identified itself.
    pub node: Option<String>,
    protocol: Protocol,
    /// Deadline of the TCP handshake, until the handshake is complete.
    connecting: Option<Time>,
    out: Vec<u8>,
    written: usize,
    /// TCPCL: for each unacknowledged transfer, the number of its bundle in the storage.
    unacknowledged: BTreeMap<u64, u64>,
    /// MTCP and STCP: the position in `out` at which each unsent bundle ends, and the bundle's
    /// number in the storage.
    unwritten: Vec<(usize, u64)>,
    /// Received bundles that `take_incoming` has not returned yet.
    incoming: Vec<Incoming>,
    /// Numbers of bundles, each with true if it was sent, or false if the other side refused it.
    finished: Vec<(u64, bool)>,
    /// The reason for the end of the connection, once it has ended.
    pub end_reason: Option<String>,
}

impl Connection {
    /// Creates a connection from a stream that another agent has opened.
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

    /// Starts to connect to a peer, and returns without waiting for the TCP handshake.
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

    /// Returns true if another bundle may be sent now.
    pub fn can_send(&self) -> bool {
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

    /// Queues a bundle for sending. Returns false if the bundle is too long for the other side.
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

    /// Continues the TCP handshake, and ends the connection if the handshake failed. Returns true
    /// if the handshake is complete.
    fn establish(&mut self, now: Time) -> bool {
        let Some(deadline) = self.connecting else { return true };
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
        } else if deadline <= now {
            self.end_reason.get_or_insert_with(|| "no answer".to_owned());
        }
        self.connecting.is_none()
    }

    /// Reads all available data from the socket.
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
                        // Receivers of MTCP and STCP send no data.
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

    /// Returns the numbers of the bundles that were sent (true) or refused (false) since the last
    /// call. A bundle is sent when it is acknowledged over TCPCL, or written to the socket over
    /// MTCP and STCP.
    pub fn take_finished(&mut self) -> Vec<(u64, bool)> {
        std::mem::take(&mut self.finished)
    }

    /// Returns the numbers of the bundles that were neither sent nor refused when the connection
    /// ended.
    pub fn take_unacknowledged(&mut self) -> Vec<u64> {
        let unwritten = std::mem::take(&mut self.unwritten).into_iter().map(|(_, number)| number);
        std::mem::take(&mut self.unacknowledged).into_values().chain(unwritten).collect()
    }

    /// Accepts or refuses a received bundle of `length` bytes.
    pub fn answer(&mut self, transfer: u64, length: u64, accepted: bool) {
        if let Protocol::Tcpcl(session) = &mut self.protocol {
            match accepted {
                true => session.accept(transfer, length),
                false => session.refuse(transfer, tcpcl::NO_RESOURCES),
            }
        }
    }

    /// Ends the TCPCL session; without effect on MTCP and STCP.
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
        let sent = self.unwritten.partition_point(|(end, _)| *end <= self.written);
        self.finished.extend(self.unwritten.drain(..sent).map(|(_, number)| (number, true)));
        if self.written == self.out.len() && self.unwritten.is_empty() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Returns true if bytes wait for room in the socket's buffer or for the TCP handshake.
    pub fn is_blocked(&self) -> bool {
        self.connecting.is_some() || self.written < self.out.len()
    }

    /// Returns the time at which the next timer expires.
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
