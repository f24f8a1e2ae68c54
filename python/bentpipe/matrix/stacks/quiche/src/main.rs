//! Server and client of a transfer over quiche: the client asks for a number of bytes on each
//! stream, and the server sends them. Streams after the first are opened together, when the first
//! ended. quiche sends no packets itself, so this program sends each packet at the time that
//! quiche's pacing gives.

use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};
use quiche::{Config, Connection, ConnectionId, RecvInfo, SendInfo};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Size of the largest packet, which every path of IPv6 carries.
const PACKET: usize = 1350;
/// Distance of the numbers of streams that a client opens in both directions.
const STEP: u64 = 4;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["server", port, cert, key] => serve(port.parse()?, cert, key, "cubic"),
        ["server", port, cert, key, "--congestion", control] => serve(port.parse()?, cert, key, control),
        ["client", host, port, sizes, _cert] => load(SocketAddr::new(host.parse()?, port.parse()?), sizes),
        _ => Err("usage: server PORT CERT KEY [--congestion NAME] | \
                  client HOST PORT SIZE[,SIZE...] CERT"
            .into()),
    }
}

/// Returns the settings. quiche has no defaults for flow control, for the number of streams and for
/// the idle time-out.
fn config() -> Result<Config> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[b"transfer"])?;
    config.set_max_idle_timeout(30_000);
    config.set_max_recv_udp_payload_size(PACKET);
    config.set_max_send_udp_payload_size(PACKET);
    config.set_initial_max_data(10_000_000);
    config.set_initial_max_stream_data_bidi_local(1_000_000);
    config.set_initial_max_stream_data_bidi_remote(1_000_000);
    config.set_initial_max_streams_bidi(100);
    Ok(config)
}

/// The socket, and the packet whose time has not come.
struct Link {
    socket: UdpSocket,
    poll: Poll,
    events: Events,
    local: SocketAddr,
    packet: [u8; PACKET],
    waiting: Option<(usize, SendInfo)>,
}

impl Link {
    fn new(port: u16, toward: Option<SocketAddr>) -> Result<Link> {
        let mut socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port).into())?;
        if let Some(peer) = toward {
            socket.connect(peer)?;
        }
        let poll = Poll::new()?;
        poll.registry().register(&mut socket, Token(0), Interest::READABLE)?;
        let local = socket.local_addr()?;
        let (events, packet) = (Events::with_capacity(16), [0; PACKET]);
        Ok(Link { socket, poll, events, local, packet, waiting: None })
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<(usize, SocketAddr)>> {
        match self.socket.recv_from(buffer) {
            Ok(received) => Ok(Some(received)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends all packets whose time has come.
    fn send(&mut self, connection: &mut Connection) -> Result<()> {
        loop {
            let (size, info) = match self.waiting.take() {
                Some(waiting) => waiting,
                None => match connection.send(&mut self.packet) {
                    Ok(next) => next,
                    Err(quiche::Error::Done) => return Ok(()),
                    Err(error) => return Err(error.into()),
                },
            };
            if info.at > Instant::now() {
                self.waiting = Some((size, info));
                return Ok(());
            }
            let sent = match self.socket.peer_addr() {
                Ok(_) => self.socket.send(&self.packet[..size]),
                Err(_) => self.socket.send_to(&self.packet[..size], info.to),
            };
            match sent {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let at = Instant::now() + Duration::from_millis(1);
                    self.waiting = Some((size, SendInfo { at, ..info }));
                    return Ok(());
                }
                sent => sent?,
            };
        }
    }

    /// Waits for a packet, a time-out of the connection, or the time of the next packet.
    fn wait(&mut self, connection: Option<&Connection>) -> Result<()> {
        let packet = self.waiting.map(|(_, info)| info.at.saturating_duration_since(Instant::now()));
        let timeout = connection.and_then(Connection::timeout);
        match self.poll.poll(&mut self.events, packet.into_iter().chain(timeout).min()) {
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Passes the packets that have arrived to the connection.
    fn hear(&mut self, connection: &mut Connection) -> Result<()> {
        let mut buffer = [0; 1 << 16];
        while let Some((size, from)) = self.receive(&mut buffer)? {
            // A packet that does not belong to the connection is ignored.
            let _ = connection.recv(&mut buffer[..size], RecvInfo { from, to: self.local });
        }
        if connection.timeout().is_some_and(|left| left.is_zero()) {
            connection.on_timeout();
        }
        Ok(())
    }
}

fn random_id() -> Result<ConnectionId<'static>> {
    let mut id = vec![0; quiche::MAX_CONN_ID_LEN];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(ConnectionId::from_vec(id))
}

/// The answer on a stream: the request as far as it has arrived, and the bytes that are left to
/// send.
#[derive(Default)]
struct Answer {
    request: Vec<u8>,
    left: usize,
}

impl Answer {
    /// Reads the part of the request that has arrived.
    fn hear(&mut self, connection: &mut Connection, stream: u64) {
        let mut part = [0; 8];
        while let Ok((size, end)) = connection.stream_recv(stream, &mut part) {
            self.request.extend_from_slice(&part[..size]);
            if end {
                self.left = self.request.first_chunk().map_or(0, |size| u64::from_be_bytes(*size) as usize);
            }
        }
    }

    /// Sends as much as the stream takes now.
    fn send(&mut self, connection: &mut Connection, stream: u64) -> Result<()> {
        let piece = [0; 1 << 16];
        while self.left > 0 && connection.stream_capacity(stream).unwrap_or(0) > 0 {
            let size = self.left.min(piece.len());
            match connection.stream_send(stream, &piece[..size], size == self.left) {
                Ok(taken) => self.left -= taken,
                Err(quiche::Error::Done) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn serve(port: u16, cert: &str, key: &str, control: &str) -> Result<()> {
    let mut config = config()?;
    config.set_cc_algorithm_name(control)?;
    config.load_cert_chain_from_pem_file(cert)?;
    config.load_priv_key_from_pem_file(key)?;
    let mut link = Link::new(port, None)?;
    let mut buffer = [0; 1 << 16];
    let (size, from) = loop {
        match link.receive(&mut buffer)? {
            Some(first) => break first,
            None => link.wait(None)?,
        }
    };
    let mut connection = quiche::accept(&random_id()?, None, link.local, from, &mut config)?;
    connection.recv(&mut buffer[..size], RecvInfo { from, to: link.local })?;
    let mut answers: BTreeMap<u64, Answer> = BTreeMap::new();
    while !connection.is_closed() {
        for stream in connection.readable() {
            answers.entry(stream).or_default().hear(&mut connection, stream);
        }
        for (stream, answer) in &mut answers {
            answer.send(&mut connection, *stream)?;
        }
        link.send(&mut connection)?;
        link.wait(Some(&connection))?;
        link.hear(&mut connection)?;
    }
    println!("{{\"lost_packets\": {}}}", connection.stats().lost);
    Ok(())
}

fn load(server: SocketAddr, sizes: &str) -> Result<()> {
    let sizes = sizes.split(',').map(str::parse).collect::<std::result::Result<Vec<u64>, _>>()?;
    let mut config = config()?;
    config.verify_peer(false);
    let mut link = Link::new(0, Some(server))?;
    let began = Instant::now();
    let mut connection = quiche::connect(Some("server"), &random_id()?, link.local, server, &mut config)?;
    let (mut shaken, mut got, mut buffer) = (None, 0, vec![0; 1 << 16]);
    let (mut opened, mut ended) = (0, 0);
    while !connection.is_closed() {
        if connection.is_established() && shaken.is_none() {
            shaken = Some(began.elapsed().as_secs_f64());
        }
        for stream in connection.readable() {
            while let Ok((size, end)) = connection.stream_recv(stream, &mut buffer) {
                got += size;
                ended += usize::from(end);
            }
        }
        if ended == sizes.len() && connection.local_error().is_none() {
            let (shaken, completion) = (shaken.unwrap_or(0.0), began.elapsed().as_secs_f64());
            println!("{{\"handshake_s\": {shaken}, \"completion_s\": {completion}, \"bytes\": {got}}}");
            connection.close(true, 0, b"")?;
        }
        let permitted = if shaken.is_none() {
            0
        } else if ended == 0 {
            1
        } else {
            sizes.len()
        };
        for size in &sizes[opened.min(permitted)..permitted] {
            connection.stream_send(STEP * opened as u64, &size.to_be_bytes(), true)?;
            opened += 1;
        }
        link.send(&mut connection)?;
        link.wait(Some(&connection))?;
        link.hear(&mut connection)?;
    }
    match connection.is_timed_out() {
        true => Err("the connection timed out".into()),
        false => connection.peer_error().map_or(Ok(()), |error| Err(format!("{error:?}").into())),
    }
}
