//! Server and client of a transfer over msquic: the client asks for a number of bytes on each
//! stream, and the server sends them. Streams after the first are opened together, when the first
//! ended.

use msquic::{
    Addr, BufferRef, CertificateFile, Configuration, Connection, ConnectionEvent, ConnectionRef,
    ConnectionShutdownFlags, Credential, CredentialConfig, CredentialFlags, Listener, ListenerEvent,
    Registration, RegistrationConfig, SendFlags, Settings, Stream, StreamEvent, StreamOpenFlags, StreamRef,
    StreamStartFlags,
};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ALPN: &str = "transfer";
/// The bytes of a piece of an answer.
static PIECE: [u8; 1 << 16] = [0; 1 << 16];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["server", port, cert, key] => serve(port.parse()?, cert, key),
        ["client", host, port, sizes, _cert] => load(host, port.parse()?, sizes),
        _ => Err("usage: server PORT CERT KEY | client HOST PORT SIZE[,SIZE...] CERT".into()),
    }
}

/// Sends a number of bytes and ends the stream. The buffers live as long as the program, because
/// msquic reads them later.
fn send(stream: &Stream, head: &[u8], zeros: usize) -> std::result::Result<(), msquic::Status> {
    let mut buffers = vec![];
    if !head.is_empty() {
        buffers.push(BufferRef::from(&*head.to_vec().leak()));
    }
    buffers.extend((0..zeros / PIECE.len()).map(|_| BufferRef::from(&PIECE[..])));
    if zeros % PIECE.len() > 0 {
        buffers.push(BufferRef::from(&PIECE[..zeros % PIECE.len()]));
    }
    unsafe { stream.send(buffers.leak(), SendFlags::FIN, std::ptr::null()) }
}

fn serve(port: u16, cert: &str, key: &str) -> Result<()> {
    let registration = Registration::new(&RegistrationConfig::default())?;
    let alpn = [BufferRef::from(ALPN)];
    let settings = Settings::new().set_PeerBidiStreamCount(100);
    let configuration = Configuration::open(&registration, &alpn, Some(&settings))?;
    let file = CertificateFile::new(key.to_owned(), cert.to_owned());
    configuration.load_credential(
        &CredentialConfig::new()
            .set_credential_flags(CredentialFlags::NO_CERTIFICATE_VALIDATION)
            .set_credential(Credential::CertificateFile(file)),
    )?;
    let configuration = Arc::new(configuration);
    let listener = Listener::open(&registration, move |_, event| {
        if let ListenerEvent::NewConnection { connection, .. } = event {
            connection.set_callback_handler(answer);
            connection.set_configuration(&configuration)?;
        }
        Ok(())
    })?;
    let local = Addr::from(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)));
    listener.start(&alpn, Some(&local))?;
    loop {
        std::thread::park();
    }
}

fn answer(connection: ConnectionRef, event: ConnectionEvent) -> std::result::Result<(), msquic::Status> {
    match event {
        ConnectionEvent::PeerStreamStarted { stream, .. } => {
            let request = Mutex::new(Vec::new());
            stream.set_callback_handler(move |stream: StreamRef, event: StreamEvent| {
                // Closing the stream frees this handler, so no arm keeps the lock.
                let arrived = || request.lock().expect("no handler panics");
                match event {
                    StreamEvent::Receive { buffers, .. } => {
                        buffers.iter().for_each(|buffer| arrived().extend_from_slice(buffer.as_bytes()));
                    }
                    StreamEvent::PeerSendShutdown => {
                        let size = arrived().first_chunk().copied().unwrap_or_default();
                        send(&stream, &[], u64::from_be_bytes(size) as usize)?;
                    }
                    StreamEvent::ShutdownComplete { .. } => {
                        drop(unsafe { Stream::from_raw(stream.as_raw()) })
                    }
                    _ => {}
                }
                Ok(())
            });
        }
        ConnectionEvent::ShutdownComplete { .. } => {
            if let Ok(counts) = connection.get_stats_v2() {
                println!("{{\"lost_packets\": {}}}", counts.SendSuspectedLostPackets);
            }
            drop(unsafe { Connection::from_raw(connection.as_raw()) });
        }
        _ => {}
    }
    Ok(())
}

/// An event of the client, for its main thread.
enum Happened {
    Connected,
    Arrived(usize),
    Ended,
    Closed,
}

fn load(host: &str, port: u16, sizes: &str) -> Result<()> {
    let sizes = sizes.split(',').map(str::parse).collect::<std::result::Result<Vec<u64>, _>>()?;
    let registration = Registration::new(&RegistrationConfig::default())?;
    let configuration = Configuration::open(&registration, &[BufferRef::from(ALPN)], None)?;
    configuration.load_credential(
        &CredentialConfig::new_client().set_credential_flags(CredentialFlags::NO_CERTIFICATE_VALIDATION),
    )?;
    let (events, happened) = channel();
    let told = events.clone();
    let began = Instant::now();
    let connection = Connection::open(&registration, move |_: ConnectionRef, event: ConnectionEvent| {
        let _ = match event {
            ConnectionEvent::Connected { .. } => told.send(Happened::Connected),
            ConnectionEvent::ShutdownComplete { .. } => told.send(Happened::Closed),
            _ => Ok(()),
        };
        Ok(())
    })?;
    connection.start(&configuration, host, port)?;
    let (mut shaken, mut got, mut ended) = (0.0, 0, 0);
    while ended < sizes.len() {
        match happened.recv()? {
            Happened::Connected => {
                shaken = began.elapsed().as_secs_f64();
                download(&connection, sizes[0], events.clone())?;
            }
            Happened::Arrived(size) => got += size,
            Happened::Ended => {
                ended += 1;
                if ended == 1 {
                    for size in &sizes[1..] {
                        download(&connection, *size, events.clone())?;
                    }
                }
            }
            Happened::Closed => return Err("the connection was closed".into()),
        }
    }
    let completion = began.elapsed().as_secs_f64();
    println!("{{\"handshake_s\": {shaken}, \"completion_s\": {completion}, \"bytes\": {got}}}");
    connection.shutdown(ConnectionShutdownFlags::NONE, 0);
    while !matches!(happened.recv()?, Happened::Closed) {}
    Ok(())
}

fn download(connection: &Connection, size: u64, events: Sender<Happened>) -> Result<()> {
    let stream =
        Stream::open(connection, StreamOpenFlags::NONE, move |stream: StreamRef, event: StreamEvent| {
            let _ = match event {
                StreamEvent::Receive { buffers, .. } => {
                    events.send(Happened::Arrived(buffers.iter().map(|buffer| buffer.as_bytes().len()).sum()))
                }
                StreamEvent::PeerSendShutdown => events.send(Happened::Ended),
                StreamEvent::ShutdownComplete { .. } => {
                    drop(unsafe { Stream::from_raw(stream.as_raw()) });
                    Ok(())
                }
                _ => Ok(()),
            };
            Ok(())
        })?;
    stream.start(StreamStartFlags::NONE)?;
    send(&stream, &size.to_be_bytes(), 0)?;
    // The handler closes the stream.
    unsafe { stream.into_raw() };
    Ok(())
}
