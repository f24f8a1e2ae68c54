//! Server and client of a transfer over tquic: the client asks for a number of bytes on each
//! stream, and the server sends them. Streams after the first are opened together, when the first
//! ended.

use bytes::Bytes;
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};
use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Instant;
use tquic::{Config, Connection, Endpoint, PacketInfo, PacketSendHandler, TlsConfig, TransportHandler};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PIECE: usize = 1 << 16;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["server", port, cert, key] => serve(port.parse()?, cert, key, "bbr"),
        ["server", port, cert, key, "--congestion", control] => serve(port.parse()?, cert, key, control),
        ["client", host, port, sizes, _cert] => {
            let tls = TlsConfig::new_client_config(protocols(), false)?;
            let sizes = sizes.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
            let role = Role::Client { sizes, began: Instant::now(), shaken: 0.0, got: 0, ended: 0 };
            run(role, Config::new()?, tls, 0, Some(SocketAddr::new(host.parse()?, port.parse()?)))
        }
        _ => Err("usage: server PORT CERT KEY [--congestion NAME] | \
                  client HOST PORT SIZE[,SIZE...] CERT"
            .into()),
    }
}

fn serve(port: u16, cert: &str, key: &str, control: &str) -> Result<()> {
    let mut config = Config::new()?;
    config.set_congestion_control_algorithm(control.parse()?);
    let tls = TlsConfig::new_server_config(cert, key, protocols(), false)?;
    run(Role::Server(HashMap::new()), config, tls, port, None)
}

fn protocols() -> Vec<Vec<u8>> {
    vec![b"transfer".to_vec()]
}

/// The state of this program: the answer on each stream, or the download.
enum Role {
    Server(HashMap<u64, Answer>),
    Client { sizes: Vec<u64>, began: Instant, shaken: f64, got: usize, ended: usize },
}

/// The answer on a stream: the request as far as it has arrived, and the bytes that are left to
/// send.
#[derive(Default)]
struct Answer {
    request: Vec<u8>,
    left: usize,
}

impl Answer {
    /// Sends as much as the stream takes.
    fn send(&mut self, connection: &mut Connection, stream: u64) {
        let piece = Bytes::from_static(&[0; PIECE]);
        while self.left > 0 {
            let size = self.left.min(PIECE);
            match connection.stream_write(stream, piece.slice(..size), size == self.left) {
                Ok(0) | Err(_) => break,
                Ok(taken) => self.left -= taken,
            }
        }
        let _ = connection.stream_want_write(stream, self.left > 0);
    }
}

/// Opens streams with the given sizes as requests.
fn open(connection: &mut Connection, sizes: &[u64]) {
    for size in sizes {
        if let Ok(stream) = connection.stream_bidi_new(0, false) {
            let _ = connection.stream_write(stream, Bytes::copy_from_slice(&size.to_be_bytes()), true);
        }
    }
}

/// The reason for which the connection ended, if it did.
type Ended = Rc<RefCell<Option<std::result::Result<(), String>>>>;

struct Handler {
    role: Role,
    ended: Ended,
}

impl TransportHandler for Handler {
    fn on_conn_created(&mut self, _: &mut Connection) {}

    fn on_conn_established(&mut self, connection: &mut Connection) {
        let Role::Client { sizes, began, shaken, .. } = &mut self.role else { return };
        *shaken = began.elapsed().as_secs_f64();
        open(connection, &sizes[..1]);
    }

    fn on_conn_closed(&mut self, connection: &mut Connection) {
        let outcome = match (&self.role, connection.is_idle_timeout(), connection.is_handshake_timeout()) {
            (Role::Server(_), ..) => {
                println!("{{\"lost_packets\": {}}}", connection.stats().lost_count);
                Ok(())
            }
            (_, true, _) => Err("the connection was idle for too long".to_owned()),
            (_, _, true) => Err("the handshake timed out".to_owned()),
            _ => Ok(()),
        };
        *self.ended.borrow_mut() = Some(outcome);
    }

    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}

    fn on_stream_readable(&mut self, connection: &mut Connection, stream: u64) {
        let mut buffer = vec![0; PIECE];
        while let Ok((size, end)) = connection.stream_read(stream, &mut buffer) {
            match &mut self.role {
                Role::Server(answers) => {
                    let answer = answers.entry(stream).or_default();
                    answer.request.extend_from_slice(&buffer[..size]);
                    if end {
                        let size = answer.request.first_chunk().copied().unwrap_or_default();
                        answer.left = u64::from_be_bytes(size) as usize;
                        answer.send(connection, stream);
                    }
                }
                Role::Client { sizes, began, shaken, got, ended } => {
                    *got += size;
                    *ended += usize::from(end);
                    if end && *ended == 1 {
                        open(connection, &sizes[1..]);
                    }
                    if end && *ended == sizes.len() {
                        let completion = began.elapsed().as_secs_f64();
                        println!(
                            "{{\"handshake_s\": {shaken}, \"completion_s\": {completion}, \"bytes\": {got}}}"
                        );
                        let _ = connection.close(true, 0, b"");
                    }
                }
            }
        }
    }

    fn on_stream_writable(&mut self, connection: &mut Connection, stream: u64) {
        let Role::Server(answers) = &mut self.role else { return };
        answers.entry(stream).or_default().send(connection, stream);
    }

    fn on_stream_closed(&mut self, _: &mut Connection, _: u64) {}

    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}

/// The socket, which sends at once: tquic paces the packets itself.
struct Socket(UdpSocket);

impl PacketSendHandler for Socket {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> tquic::Result<usize> {
        for (index, (packet, info)) in packets.iter().enumerate() {
            match self.0.send_to(packet, info.dst) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(index),
                Err(error) => return Err(tquic::Error::IoError(error.to_string())),
            }
        }
        Ok(packets.len())
    }
}

fn run(role: Role, mut config: Config, tls: TlsConfig, port: u16, server: Option<SocketAddr>) -> Result<()> {
    config.set_tls_config(tls);
    let mut socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port).into())?;
    let mut poll = Poll::new()?;
    poll.registry().register(&mut socket, Token(0), Interest::READABLE)?;
    let local = socket.local_addr()?;
    let (socket, ended) = (Rc::new(Socket(socket)), Ended::default());
    let handler = Handler { role, ended: Rc::clone(&ended) };
    let mut endpoint = Endpoint::new(Box::new(config), server.is_none(), Box::new(handler), socket.clone());
    if let Some(server) = server {
        endpoint.connect(local, server, Some("server"), None, None, None)?;
    }
    let (mut events, mut buffer) = (Events::with_capacity(16), vec![0; PIECE]);
    loop {
        endpoint.process_connections()?;
        if let Some(outcome) = ended.take() {
            return outcome.map_err(Into::into);
        }
        poll.poll(&mut events, endpoint.timeout())?;
        loop {
            match socket.0.recv_from(&mut buffer) {
                Ok((size, src)) => {
                    let info = PacketInfo { src, dst: local, time: Instant::now() };
                    // A packet that does not belong to the connection is ignored.
                    let _ = endpoint.recv(&mut buffer[..size], &info);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        endpoint.on_timeout(Instant::now());
    }
}
