//! Sends bundles to an agent as an application. Over TCPCL it waits until the agent has accepted
//! them; MTCP, STCP and UDP have no acknowledgments.

use crate::config;
use crate::security::Keys;
use bentpipe_core::Time;
use bentpipe_dtn::convergence::stream::Framing;
use bentpipe_dtn::convergence::tcpcl;
use bp7::flags::{BlockControlFlags, BundleControlFlags};
use bp7::{bundle, canonical, crc, dtntime, primary, Bundle};
use bytes::Bytes;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Maximum number of bundles that are created before the connection is served again.
const BATCH: usize = 32;

/// Properties of the bundles to send.
#[derive(Clone, Debug)]
pub struct BundleOptions {
    /// Endpoint of the source.
    pub from: String,
    /// Endpoint of the destination.
    pub to: String,
    /// Endpoint that receives a status report about each delivery; `None` requests no reports.
    pub report: Option<String>,
    /// Lifetime of the bundles.
    pub lifetime: Duration,
    /// Maximum number of hops of a bundle; `None` omits the hop count block.
    pub hops: Option<u8>,
    /// Keys for signing and encrypting the payloads.
    pub keys: Keys,
}

/// Creates a bundle and returns its bytes. `sequence` distinguishes bundles that are created in the
/// same millisecond.
///
/// # Errors
/// If an endpoint is invalid, or a key has the wrong length for its algorithm.
pub fn build_bundle(options: &BundleOptions, sequence: u64, payload: Vec<u8>) -> Result<Vec<u8>, String> {
    let invalid = |error: &dyn std::fmt::Debug| format!("{error:?}");
    let flags = match options.report {
        Some(_) => BundleControlFlags::BUNDLE_STATUS_REQUEST_DELIVERY,
        None => BundleControlFlags::empty(),
    };
    let source = config::endpoint(&options.from)?;
    let report_to = options.report.as_deref().map_or(Ok(source.clone()), config::endpoint)?;
    let block = primary::PrimaryBlockBuilder::default()
        .bundle_control_flags(flags.bits())
        .destination(config::endpoint(&options.to)?)
        .source(source.clone())
        .report_to(report_to)
        .creation_timestamp(dtntime::CreationTimestamp::with_time_and_seq(dtntime::dtn_time_now(), sequence))
        .lifetime(options.lifetime)
        .build()
        .map_err(|error| invalid(&error))?;
    let hops = options.hops.map(|hops| canonical::new_hop_count_block(2, BlockControlFlags::empty(), hops));
    let payload = canonical::new_payload_block(BlockControlFlags::empty(), payload);
    let mut bundle: Bundle = bundle::BundleBuilder::default()
        .primary(block)
        .canonicals(hops.into_iter().chain([payload]).collect())
        .build()
        .map_err(|error| invalid(&error))?;
    bundle.set_crc(crc::CRC_32);
    options.keys.protect(&mut bundle, &source)?;
    Ok(bundle.to_cbor())
}

/// Sends bundles over TCPCL and returns the number of bundles that the agent has accepted.
///
/// # Errors
/// If no connection can be opened, the agent sends nothing for `patience`, a bundle is longer than
/// the agent accepts, or the session fails before any bundle was accepted.
pub fn send_tcpcl(
    address: SocketAddr,
    node: &str,
    bundles: &mut dyn Iterator<Item = Vec<u8>>,
    patience: Duration,
) -> io::Result<u64> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let started = Instant::now();
    let now = || Time::from_nanos(started.elapsed().as_nanos() as u64);
    let config = tcpcl::Config { node: node.to_owned(), keepalive: 15, segment: 1 << 20, transfer: 1 << 32 };
    let mut session = tcpcl::Session::new(config, now());
    let (mut accepted, mut out, mut written) = (0, Vec::new(), 0);
    let (mut next, mut heard) = (bundles.next(), Instant::now());
    let mut buffer = vec![0; 1 << 16];
    loop {
        // Bundles are created in small batches, so that the first ones leave immediately.
        for _ in 0..BATCH {
            if !session.is_established() || session.pending() >= 1000 {
                break;
            }
            let Some(bundle) = next.take() else { break };
            if session.send(Bytes::from(bundle)).is_none() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "a bundle is longer than the agent accepts",
                ));
            }
            next = bundles.next();
        }
        session.wake(now());
        if written == out.len() {
            (out, written) = (session.write(now(), 1 << 18), 0);
        }
        let mut moved = false;
        if written < out.len() {
            match stream.write(&out[written..]) {
                Ok(count) => (written, moved) = (written + count, true),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) if accepted > 0 => return Ok(accepted),
                Err(error) => return Err(error),
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) => session.disconnected(),
            Ok(count) => {
                session.read(now(), &buffer[..count]);
                (heard, moved) = (Instant::now(), true);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => session.disconnected(),
        }
        while let Some(event) = session.next_event() {
            match event {
                tcpcl::Event::Sent(_) => accepted += 1,
                tcpcl::Event::Ended(reason) if accepted == 0 => {
                    return Err(io::Error::new(io::ErrorKind::ConnectionAborted, reason.to_string()));
                }
                tcpcl::Event::Ended(_) => return Ok(accepted),
                _ => {}
            }
        }
        if next.is_none() && session.pending() == 0 && session.is_established() {
            session.close();
            // The agent may already have closed the connection.
            let _closing = stream.write_all(&session.write(now(), 1 << 18));
            return Ok(accepted);
        }
        if heard.elapsed() > patience {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no answer; {accepted} bundles accepted"),
            ));
        }
        if !moved {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Sends bundles over MTCP or STCP, which have no acknowledgments, and returns the number sent.
///
/// # Errors
/// If no connection can be opened, the connection fails, or a bundle is too long for the format.
/// The bundles before a bundle that is too long are sent.
pub fn send_stream(
    address: SocketAddr,
    framing: Framing,
    bundles: &mut dyn Iterator<Item = Vec<u8>>,
    patience: Duration,
) -> io::Result<u64> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_write_timeout(Some(patience))?;
    let (mut out, mut sent) = (Vec::new(), 0);
    for bundle in bundles {
        if !(framing.write)(&bundle, &mut out) {
            stream.write_all(&out)?;
            let length = bundle.len();
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "a bundle of {length} B is too long for the convergence layer; {sent} bundles were sent"
                ),
            ));
        }
        sent += 1;
        if out.len() > 1 << 16 {
            stream.write_all(&out)?;
            out.clear();
        }
    }
    stream.write_all(&out)?;
    Ok(sent)
}

/// Sends each bundle in a UDP datagram, and returns the number sent.
///
/// # Errors
/// If a bundle is too long for a datagram, or cannot be sent.
pub fn send_udp(address: SocketAddr, bundles: &mut dyn Iterator<Item = Vec<u8>>) -> io::Result<u64> {
    let socket = UdpSocket::bind(match address {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    })?;
    let mut sent = 0;
    for bundle in bundles {
        socket.send_to(&bundle, address)?;
        sent += 1;
    }
    Ok(sent)
}
