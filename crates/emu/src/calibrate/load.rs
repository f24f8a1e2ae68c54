//! Datagrams to load an engine: sender, counter and responder.

use crate::calibrate::rig::Rig;
use crate::clock::{monotonic, sleep_until};
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// IPv4 header (RFC 791) and UDP header (RFC 768).
const HEADERS: usize = 28;
/// Maximum number of bytes in a datagram that the kernel divides into packets, and maximum number
/// of packets (UDP_MAX_SEGMENTS).
const BATCH_BYTES: usize = 65_000;
const BATCH_PACKETS: usize = 64;
/// Time between two turns of a sender or receiver, in nanoseconds.
const TICK: u64 = 100_000;
/// Size of a receiver's buffer, in bytes.
const ROOM: usize = 64 << 20;
/// Time for which a receiver waits for late packets, in nanoseconds.
const PATIENCE: u64 = 300_000_000;

/// The load that is offered to a network.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Size of each packet in bytes, at least 28, headers included.
    pub size: usize,
    /// Packets per second; as many as possible if `None`.
    pub rate: Option<f64>,
    /// Time for which packets are sent.
    pub duration: Duration,
    /// Maximum delay of a packet, in nanoseconds.
    pub delay: u64,
}

/// The counts of a load's receiver.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Number of packets that were sent.
    pub sent: u64,
    /// Number of packets that arrived at the receiving program.
    pub received: u64,
    /// Seconds between the first and the last arrival.
    pub seconds: f64,
}

impl Received {
    /// Returns the rate of arrivals in packets per second.
    pub fn rate(&self) -> f64 {
        self.received as f64 / self.seconds
    }
}

/// Sends from host `from` (0 or 1) of `rig` to the other, and counts the arrivals.
///
/// # Errors
/// Returns an error if a socket cannot be created.
pub fn offer(rig: &Rig, from: usize, offer: Offer) -> io::Result<Received> {
    let (sender, receiver) = sockets(rig, from)?;
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let counting = thread::Builder::new()
            .name("receiver".to_owned())
            .spawn_scoped(scope, || count(&receiver, &enough, offer.delay))?;
        let sent = send(&sender, offer);
        enough.store(true, Ordering::Release);
        let (received, seconds) = counting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Received { sent: sent?, received, seconds })
    })
}

/// Sends from host `from` of `rig` to the other host, where no program receives. Returns the number
/// of sent packets.
///
/// # Errors
/// Returns an error if a socket cannot be created.
pub fn send_only(rig: &Rig, from: usize, offer: Offer) -> io::Result<u64> {
    let (sender, _receiver) = sockets(rig, from)?;
    send(&sender, offer)
}

/// Returns a socket at each host, connected to each other.
fn sockets(rig: &Rig, from: usize) -> io::Result<(UdpSocket, UdpSocket)> {
    let to = 1 - from;
    let bound =
        |host: usize| rig.namespaces()[host].within(|| UdpSocket::bind((rig.addresses()[host], 0)))?;
    let (sender, receiver) = (bound(from)?, bound(to)?);
    sender.connect(receiver.local_addr()?)?;
    receiver.connect(sender.local_addr()?)?;
    // A process without CAP_NET_ADMIN cannot exceed rmem_max.
    if setsockopt(&receiver, sockopt::RcvBufForce, &ROOM).is_err() {
        setsockopt(&receiver, sockopt::RcvBuf, &ROOM)?;
    }
    Ok((sender, receiver))
}

/// Sends the packets due in a tick as a burst, which the kernel divides into packets.
fn send(socket: &UdpSocket, offer: Offer) -> io::Result<u64> {
    let payload = offer.size - HEADERS;
    let most = (BATCH_BYTES / payload).min(BATCH_PACKETS);
    let burst = vec![0u8; payload * most];
    setsockopt(socket, sockopt::UdpGsoSegment, &(payload as i32))?;
    let begin = monotonic();
    let mut sent = 0;
    loop {
        let now = monotonic();
        let elapsed = now - begin;
        if elapsed >= offer.duration.as_nanos() as u64 {
            return Ok(sent);
        }
        let due = match offer.rate {
            Some(rate) => (elapsed as f64 * 1e-9 * rate) as u64 - sent,
            None => most as u64,
        };
        if due == 0 {
            sleep_until(now + TICK.min((1e9 / offer.rate.unwrap_or(1e9)) as u64));
            continue;
        }
        let packets = due.min(most as u64);
        match socket.send(&burst[..packets as usize * payload]) {
            Ok(_) => sent += packets,
            // The interface's queue is full: the kernel has dropped some of the burst, and reports
            // the number.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => sent += packets,
            Err(error) => return Err(error),
        }
    }
}

/// Counts packets by polling, so that their delivery does not wake this thread.
fn count(socket: &UdpSocket, enough: &AtomicBool, delay: u64) -> io::Result<(u64, f64)> {
    socket.set_nonblocking(true)?;
    let mut buffer = [0; 64];
    let (mut received, mut first, mut last) = (0, None, monotonic());
    loop {
        match socket.recv(&mut buffer) {
            Ok(_) => {
                received += 1;
                if received % 64 == 1 {
                    last = monotonic();
                    first.get_or_insert(last);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let now = monotonic();
                if !enough.load(Ordering::Acquire) {
                    // The wait for late packets begins when the sender has ended.
                    sleep_until(now + TICK);
                } else if now > last.max(first.unwrap_or(0)) + PATIENCE + delay {
                    let seconds = first.map_or(0.0, |first| (last - first) as f64 * 1e-9);
                    return Ok((received, seconds));
                } else {
                    sleep_until(now + TICK);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Measures consecutive round trips between the hosts, in nanoseconds, with `pause` between them.
///
/// # Errors
/// Returns an error if a socket cannot be created, or if an answer takes more than two seconds.
pub fn ping_pong(rig: &Rig, rounds: usize, size: usize, pause: Duration) -> io::Result<Vec<u64>> {
    let (here, there) = sockets(rig, 0)?;
    let patience = Some(Duration::from_secs(2));
    here.set_read_timeout(patience)?;
    there.set_read_timeout(patience)?;
    let payload = vec![0u8; size - HEADERS];
    thread::scope(|scope| {
        let answering = thread::Builder::new().name("echo".to_owned()).spawn_scoped(scope, || {
            let mut buffer = vec![0; 65_536];
            for _ in 0..rounds {
                let length = there.recv(&mut buffer)?;
                there.send(&buffer[..length])?;
            }
            io::Result::Ok(())
        })?;
        let mut buffer = vec![0; 65_536];
        let mut trips = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let begin = monotonic();
            here.send(&payload)?;
            here.recv(&mut buffer)?;
            trips.push(monotonic() - begin);
            sleep_until(monotonic() + pause.as_nanos() as u64);
        }
        answering.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(trips)
    })
}
