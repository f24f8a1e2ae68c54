//! One end of a QUIC connection by quinn's state machine, which does no I/O: datagrams, times and
//! the application's requests come in, and datagrams and events come out.
//!
//! Each connection of the application is a bidirectional stream. Its first two bytes are the number
//! of the connection, because quinn numbers streams in the order of their opening.

use super::observer::Observations;
use super::secrets::{Secrets, SERVER};
use super::settings;
use bentpipe_core::Time;
use bentpipe_transport::app::{End, Event};
use bentpipe_transport::quic::Config;
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    Event as Happened, ReadError, StreamEvent, StreamId, WriteError,
};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes before the data of a stream: the number of the application's connection.
const HEAD: usize = 2;
/// Number of bytes written in one call.
const CHUNK: usize = 256 << 10;

static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// A connection of the application.
#[derive(Debug)]
struct Stream {
    id: StreamId,
    /// The bytes before the data, if this end has opened the stream.
    head: Head,
    /// Bytes still to be handed to quinn; `u64::MAX` for an endless stream.
    to_send: u64,
    /// True if the application must be informed when everything is acknowledged.
    drains: bool,
    /// True if this direction must be closed after its data, true once it is closed, and true once
    /// its end is acknowledged.
    closes: bool,
    closed: bool,
    finished: bool,
}

/// The first bytes of a stream, and the number of these that have been written or read.
#[derive(Clone, Copy, Debug, Default)]
struct Head([u8; HEAD], usize);

/// One end of a connection over quinn.
pub struct Stack {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    client: Option<ClientConfig>,
    remote: SocketAddr,
    /// Instant of the time zero of the run.
    zero: Instant,
    observations: Observations,
    /// The application's connections, by number.
    streams: BTreeMap<u16, Stream>,
    numbers: BTreeMap<StreamId, u16>,
    heads: BTreeMap<StreamId, Head>,
    /// Connections that wait for the handshake or for the other end's limit.
    opening: VecDeque<u16>,
    events: VecDeque<(u16, Event)>,
    /// A datagram without its connection, such as the refusal of one.
    response: Option<Vec<u8>>,
    /// Time at which the handshake was completed, and reason for which the connection was lost.
    pub established: Option<Time>,
    pub failure: Option<String>,
    /// Number of bytes handed to quinn, and numbers of packets with data in each direction.
    pub written: u64,
    pub data_sent: u64,
    pub data_received: u64,
}

impl Stack {
    /// Creates one end of a connection to `remote`; `seed` determines quinn's random numbers.
    #[allow(clippy::disallowed_methods, reason = "quinn's times count from any instant")]
    pub fn new(config: &Config, secrets: &Secrets, end: End, remote: SocketAddr, seed: u64) -> Stack {
        let observations = Observations::default();
        let transport = Arc::new(settings::of(config, &observations));
        let mut seeds = [0; 32];
        seeds[..8].copy_from_slice(&seed.to_le_bytes());
        let mut own = EndpointConfig::default();
        own.rng_seed(Some(seeds));
        let (mut client, mut server) = (None, None);
        match end {
            End::Source => {
                let mut config = secrets.client.clone();
                config.transport_config(transport);
                client = Some(config);
            }
            End::Destination => {
                let mut config = secrets.server.clone();
                config.transport_config(transport);
                server = Some(Arc::new(config));
            }
        }
        Stack {
            endpoint: Endpoint::new(Arc::new(own), server, true, None),
            connection: None,
            client,
            remote,
            zero: Instant::now(),
            observations,
            streams: BTreeMap::new(),
            numbers: BTreeMap::new(),
            heads: BTreeMap::new(),
            opening: VecDeque::new(),
            events: VecDeque::new(),
            response: None,
            established: None,
            failure: None,
            written: 0,
            data_sent: 0,
            data_received: 0,
        }
    }

    fn at(&self, time: Time) -> Instant {
        self.zero + Duration::from_nanos(time.as_nanos())
    }

    /// Returns the connection, once there is one.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// Returns what acknowledgments have shown.
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// Returns the time of the next call of [`expire`](Self::expire); `Time::MAX` for never.
    pub fn next_wake(&mut self) -> Time {
        let due = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        due.map_or(Time::MAX, |due| {
            Time::from_nanos(due.saturating_duration_since(self.zero).as_nanos() as u64)
        })
    }

    /// Handles the timers that are due.
    pub fn expire(&mut self, now: Time) {
        let instant = self.at(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(instant);
        }
        self.settle(now);
    }

    /// Takes a datagram that has arrived.
    pub fn receive(&mut self, now: Time, ecn: Option<EcnCodepoint>, datagram: &[u8]) {
        let instant = self.at(now);
        let mut response = Vec::new();
        let data = BytesMut::from(datagram);
        let event = self.endpoint.handle(instant, self.remote, None, ecn, data, &mut response);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((_, connection)) = self.connection.as_mut().filter(|(own, _)| *own == handle) {
                    let before = connection.stats().frame_rx.stream;
                    connection.handle_event(event);
                    self.data_received += u64::from(connection.stats().frame_rx.stream > before);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                match self.endpoint.accept(incoming, instant, &mut response, None) {
                    Ok((handle, connection)) => {
                        self.data_received += u64::from(connection.stats().frame_rx.stream > 0);
                        self.connection = Some((handle, connection));
                    }
                    Err(error) => self.failure = Some(error.cause.to_string()),
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            Some(DatagramEvent::Response(_)) => self.response = Some(response),
            None => {}
        }
        self.settle(now);
    }

    /// Returns the next datagram to send, in `buffer`, and its ECN codepoint.
    pub fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Option<EcnCodepoint>> {
        buffer.clear();
        if let Some(response) = self.response.take() {
            *buffer = response;
            return Some(None);
        }
        let instant = self.at(now);
        let (_, connection) = self.connection.as_mut()?;
        let before = connection.stats().frame_tx.stream;
        let transmit = connection.poll_transmit(instant, 1, buffer)?;
        self.data_sent += u64::from(connection.stats().frame_tx.stream > before);
        Some(transmit.ecn)
    }

    /// Opens a connection of the application, and before the first one the QUIC connection.
    ///
    /// # Errors
    /// Returns an error if quinn refuses the settings.
    pub fn open(&mut self, now: Time, number: u16) -> io::Result<()> {
        if self.connection.is_none() {
            let instant = self.at(now);
            let Some(client) = self.client.take() else { return Ok(()) };
            let connected = self.endpoint.connect(instant, client, self.remote, SERVER);
            self.connection = Some(connected.map_err(io::Error::other)?);
        }
        self.opening.push_back(number);
        self.settle(now);
        Ok(())
    }

    /// Adds data to a stream; `u64::MAX` for an endless one.
    pub fn send(&mut self, number: u16, bytes: u64) {
        if let Some(stream) = self.streams.get_mut(&number).filter(|stream| !stream.closes) {
            stream.to_send = stream.to_send.saturating_add(bytes);
            stream.drains = bytes < u64::MAX;
        }
        self.write(number);
    }

    /// Ends a stream after its data; without `all`, data that quinn does not have yet is discarded.
    pub fn close(&mut self, number: u16, all: bool) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.closes = true;
            if !all {
                stream.to_send = 0;
            }
        }
        self.write(number);
    }

    /// Returns the next event for the application, with the number of its connection.
    pub fn next_event(&mut self) -> Option<(u16, Event)> {
        if self.events.is_empty() && self.observations.seen().in_flight == 0 {
            let drained = self.streams.iter_mut().find(|(_, stream)| stream.drains && stream.to_send == 0);
            if let Some((number, stream)) = drained {
                stream.drains = false;
                return Some((*number, Event::MaySend));
            }
        }
        self.events.pop_front()
    }

    /// Returns true if all streams have ended at this end, and everything was acknowledged.
    pub fn is_complete(&self) -> bool {
        !self.streams.is_empty() && self.streams.values().all(|stream| stream.finished)
    }

    /// Returns the number of streams.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Passes messages between quinn's connection and its endpoint, and handles its events.
    fn settle(&mut self, now: Time) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(happened) = self.connection.as_mut().and_then(|(_, connection)| connection.poll()) {
            match happened {
                Happened::Connected => self.established = self.established.or(Some(now)),
                Happened::ConnectionLost { reason } => {
                    self.failure = Some(reason.to_string());
                    let failed =
                        self.streams.keys().chain(&self.opening).map(|number| (*number, Event::Failed));
                    self.events.extend(failed);
                }
                Happened::Stream(StreamEvent::Opened { .. }) => {
                    while let Some(id) = self.accept() {
                        self.heads.insert(id, Head::default());
                        self.read(id);
                    }
                }
                Happened::Stream(StreamEvent::Readable { id }) => self.read(id),
                Happened::Stream(StreamEvent::Writable { id }) => {
                    if let Some(number) = self.numbers.get(&id) {
                        self.write(*number);
                    }
                }
                Happened::Stream(StreamEvent::Finished { id }) => {
                    let number = self.numbers.get(&id);
                    if let Some(stream) = number.and_then(|number| self.streams.get_mut(number)) {
                        stream.finished = true;
                    }
                }
                _ => {}
            }
        }
        self.open_waiting();
    }

    fn accept(&mut self) -> Option<StreamId> {
        self.connection.as_mut()?.1.streams().accept(Dir::Bi)
    }

    /// Opens the streams that wait, as far as the other end permits.
    fn open_waiting(&mut self) {
        while self.failure.is_none() {
            let Some((_, connection)) = &mut self.connection else { return };
            if connection.is_handshaking() && !connection.has_0rtt() {
                return;
            }
            let Some(number) = self.opening.front().copied() else { return };
            let Some(id) = connection.streams().open(Dir::Bi) else { return };
            self.opening.pop_front();
            self.add(number, id, Head(number.to_be_bytes(), 0));
            self.write(number);
        }
    }

    fn add(&mut self, number: u16, id: StreamId, head: Head) {
        let stream =
            Stream { id, head, to_send: 0, drains: false, closes: false, closed: false, finished: false };
        self.streams.insert(number, stream);
        self.numbers.insert(id, number);
        self.events.push_back((number, Event::Connected));
    }

    /// Hands data of a stream to quinn, as far as flow control and the send buffer permit.
    fn write(&mut self, number: u16) {
        let (Some(stream), Some((_, connection))) = (self.streams.get_mut(&number), &mut self.connection)
        else {
            return;
        };
        while stream.head.1 < HEAD {
            match connection.send_stream(stream.id).write(&stream.head.0[stream.head.1..]) {
                Ok(written) => stream.head.1 += written,
                // The connection's limit may be exhausted.
                Err(_) => return,
            }
        }
        while stream.to_send > 0 {
            let size = usize::try_from(stream.to_send).unwrap_or(CHUNK).min(CHUNK);
            let mut chunk = [Bytes::from_static(&ZEROS[..size])];
            match connection.send_stream(stream.id).write_chunks(&mut chunk) {
                Ok(written) => {
                    self.written += written.bytes as u64;
                    if stream.to_send < u64::MAX {
                        stream.to_send -= written.bytes as u64;
                    }
                }
                Err(WriteError::Blocked) => return,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    (stream.to_send, stream.closed) = (0, true);
                }
            }
        }
        if stream.closes && !stream.closed {
            stream.closed = true;
            // Only a stream that the other end has stopped cannot be finished.
            let _ = connection.send_stream(stream.id).finish();
        }
    }

    /// Reads all data of a stream that has arrived in order.
    fn read(&mut self, id: StreamId) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let (mut bytes, mut ended) = (0, false);
        let mut known = None;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    let mut rest = chunk.bytes.as_ref();
                    if let Some(head) = self.heads.get_mut(&id) {
                        let more = rest.len().min(HEAD - head.1);
                        head.0[head.1..head.1 + more].copy_from_slice(&rest[..more]);
                        head.1 += more;
                        rest = &rest[more..];
                        if head.1 == HEAD {
                            known = self.heads.remove(&id);
                        }
                    }
                    bytes += rest.len() as u64;
                }
                Ok(None) => {
                    ended = true;
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(ReadError::Reset(_)) => {
                    ended = true;
                    break;
                }
            }
        }
        // The next datagram carries the raised limits.
        let _ = chunks.finalize();
        if let Some(head) = known {
            self.add(u16::from_be_bytes(head.0), id, head);
        }
        let Some(number) = self.numbers.get(&id).copied() else { return };
        if bytes > 0 {
            self.events.push_back((number, Event::Received { bytes }));
        }
        if ended {
            self.events.push_back((number, Event::PeerClosed));
        }
    }
}

/// Creates the secrets of a flow, with an earlier session if the scenario resumes one.
///
/// # Errors
/// Returns an error if the system has no random numbers.
pub fn prepare(config: &Config) -> io::Result<Secrets> {
    let secrets = Secrets::new(config)?;
    if config.resumption {
        rehearse(config, &secrets)?;
    }
    Ok(secrets)
}

/// Connects a client and a server with these secrets once, without a network. So the client has a
/// ticket for the session, which it can resume.
fn rehearse(config: &Config, secrets: &Secrets) -> io::Result<()> {
    let place = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let mut client = Stack::new(config, secrets, End::Source, place(2), 1);
    let mut server = Stack::new(config, secrets, End::Destination, place(1), 2);
    client.open(Time::ZERO, 0)?;
    let mut datagram = Vec::new();
    loop {
        let mut passed = 0;
        for forth in [true, false] {
            let (from, to) = if forth { (&mut client, &mut server) } else { (&mut server, &mut client) };
            while from.transmit(Time::ZERO, &mut datagram).is_some() {
                to.receive(Time::ZERO, None, &datagram);
                passed += 1;
            }
        }
        if passed == 0 {
            return match client.failure.or(server.failure) {
                Some(failure) => Err(io::Error::other(failure)),
                None => Ok(()),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Span;

    const ONE_WAY: Span = Span::from_millis(300);

    /// Both ends, with datagrams under way in each direction.
    struct Pair {
        ends: [Stack; 2],
        under_way: [VecDeque<(Time, Vec<u8>)>; 2],
        events: Vec<(Time, usize, u16, Event)>,
        sent: usize,
        now: Time,
    }

    impl Pair {
        fn new(config: &str) -> Pair {
            let config: Config = serde_json::from_str(config).unwrap();
            let secrets = prepare(&config).unwrap();
            let place = |port| SocketAddr::from(([127, 0, 0, 1], port));
            let ends = [(End::Source, 2), (End::Destination, 1)];
            let ends =
                ends.map(|(end, port)| Stack::new(&config, &secrets, end, place(port), u64::from(port)));
            Pair { ends, under_way: Default::default(), events: Vec::new(), sent: 0, now: Time::ZERO }
        }

        /// Runs until `end`. Drops each datagram whose number is a multiple of `lost`.
        fn run(&mut self, lost: usize, end: Time) {
            loop {
                for side in 0..2 {
                    self.leave(side, lost);
                }
                let arrivals = self.under_way.iter().filter_map(|way| way.front().map(|(time, _)| *time));
                let timers = self.ends.iter_mut().map(Stack::next_wake);
                let next = arrivals.chain(timers).fold(Time::MAX, Time::min);
                self.now = next.min(end);
                if next > end {
                    return;
                }
                for side in 0..2 {
                    if self.ends[side].next_wake() <= next {
                        self.ends[side].expire(next);
                    }
                    while self.under_way[side].front().is_some_and(|(time, _)| *time <= next) {
                        let (_, datagram) = self.under_way[side].pop_front().unwrap();
                        self.ends[1 - side].receive(next, None, &datagram);
                    }
                }
            }
        }

        /// Collects the events of an end, and lets its datagrams leave.
        fn leave(&mut self, side: usize, lost: usize) {
            let mut datagram = Vec::new();
            loop {
                while let Some((number, event)) = self.ends[side].next_event() {
                    self.events.push((self.now, side, number, event));
                }
                if self.ends[side].transmit(self.now, &mut datagram).is_none() {
                    return;
                }
                self.sent += 1;
                if lost == 0 || !self.sent.is_multiple_of(lost) {
                    self.under_way[side].push_back((self.now + ONE_WAY, datagram.clone()));
                }
            }
        }

        fn time_of(&self, side: usize, number: u16, event: Event) -> Option<u64> {
            let found =
                self.events.iter().find(|(_, at, of, what)| (*at, *of, *what) == (side, number, event));
            found.map(|(time, ..)| time.as_nanos() / 1_000_000)
        }

        fn received(&self, side: usize, number: u16) -> u64 {
            let bytes = self.events.iter().map(|(_, at, of, event)| match event {
                Event::Received { bytes } if (*at, *of) == (side, number) => *bytes,
                _ => 0,
            });
            bytes.sum()
        }
    }

    #[test]
    fn data_follows_the_handshake_and_all_of_it_arrives_in_spite_of_losses() {
        let mut pair = Pair::new("{}");
        // Numbers of connections need not be in order.
        pair.ends[0].open(Time::ZERO, 7).unwrap();
        pair.ends[0].open(Time::ZERO, 3).unwrap();
        pair.run(0, Time::from_nanos(650_000_000));
        // One round trip (RFC 9001, section 4.1).
        assert_eq!(pair.time_of(0, 7, Event::Connected), Some(600));
        assert_eq!(pair.time_of(1, 3, Event::Connected), None);
        for number in [7, 3] {
            pair.ends[0].send(number, 100_000);
            pair.ends[0].close(number, true);
        }
        pair.run(10, Time::from_nanos(60_000_000_000));
        for number in [7, 3] {
            assert_eq!(pair.received(1, number), 100_000);
            assert!(pair.time_of(1, number, Event::PeerClosed).is_some());
            assert!(pair.time_of(0, number, Event::MaySend).is_some());
        }
        assert!(pair.ends[0].is_complete() && pair.ends[0].failure.is_none());
        let lost = pair.ends[0].connection().unwrap().stats().path.lost_packets;
        assert!(lost > 0 && pair.ends[0].observations().seen().rtt.min() >= 0.6);
    }

    /// The first bytes of a stream wait like data while the limit of the connection is exhausted.
    #[test]
    fn a_stream_keeps_its_number_if_another_exhausts_the_limit() {
        let mut pair = Pair::new(r#"{"max_connection_window": "20 kB"}"#);
        pair.ends[0].open(Time::ZERO, 0).unwrap();
        pair.run(0, Time::from_nanos(650_000_000));
        pair.ends[0].send(0, 300_000);
        pair.ends[0].close(0, true);
        pair.ends[0].open(pair.now, 3).unwrap();
        pair.ends[0].send(3, 500);
        pair.ends[0].close(3, true);
        pair.run(0, Time::from_nanos(60_000_000_000));
        assert_eq!((pair.received(1, 0), pair.received(1, 3)), (300_000, 500));
        assert!(pair.ends[0].is_complete());
    }

    #[test]
    fn a_resumed_session_carries_data_in_the_first_datagram() {
        let mut pair = Pair::new(r#"{"resumption": true}"#);
        pair.ends[0].open(Time::ZERO, 0).unwrap();
        pair.ends[0].send(0, 500);
        pair.run(0, Time::from_nanos(250_000_000));
        pair.ends[0].send(0, 500);
        pair.run(0, Time::from_nanos(2_000_000_000));
        assert_eq!(pair.time_of(0, 0, Event::Connected), Some(0));
        assert_eq!(pair.time_of(1, 0, Event::Received { bytes: 500 }), Some(300));
        assert!(pair.ends[0].connection().unwrap().accepted_0rtt());
    }

    #[test]
    fn a_long_certificate_chain_costs_a_round_trip() {
        // RFC 9000, section 8.1: three times the client's first datagram of 1200 bytes.
        for (bytes, handshake) in [(2000, 600), (6000, 1200)] {
            let mut pair = Pair::new(&format!("{{\"certificate\": {bytes}}}"));
            pair.ends[0].open(Time::ZERO, 0).unwrap();
            pair.run(0, Time::from_nanos(2_000_000_000));
            assert_eq!(pair.time_of(0, 0, Event::Connected), Some(handshake), "{bytes}");
        }
    }
}
