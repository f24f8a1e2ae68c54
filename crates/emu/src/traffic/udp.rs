//! One end of a flow of datagrams over the kernel's UDP. A datagram begins with its number and the time at which it was
//! sent, as far as it has room for them, so that its delay and the losses are measured.

use super::Watch;
use crate::clock::Clock;
use crate::sys::batch::{self, Incoming, Outgoing, BATCH, HEAD};
use crate::sys::socket;
use bentpipe_core::{Report, Time};
use bentpipe_models::app::{Actions, Event};
use bentpipe_models::transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_models::transport::hosting::{Hosted, Site};
use bentpipe_models::transport::udp::LARGEST;
use nix::errno::Errno;
use nix::sys::socket::{
    bind, connect, setsockopt, socket as new_socket, sockopt, AddressFamily, SockFlag, SockType, SockaddrIn,
};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

static ZEROS: [u8; LARGEST as usize] = [0; LARGEST as usize];

/// Room for datagrams that wait for the driver, in bytes.
const BUFFER: usize = 16 << 20;

/// One end.
pub struct Endpoint {
    pub site: Site,
    hosted: Hosted,
    socket: OwnedFd,
    number: u64,
    open: bool,
    pub sent: SourceCounters,
    pub received: DestinationCounters,
    /// Datagrams that the kernel did not take.
    pub refused: u64,
}

impl Endpoint {
    /// Makes the socket of an end, in this thread's namespace.
    ///
    /// # Errors
    /// The port is in use.
    pub fn new(
        site: Site,
        hosted: Hosted,
        local: SocketAddrV4,
        remote: SocketAddrV4,
    ) -> io::Result<Endpoint> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = new_socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
        setsockopt(&socket, sockopt::Ipv4Tos, &(i32::from(site.dscp) << 2))?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &BUFFER))?;
        bind(socket.as_raw_fd(), &SockaddrIn::from(local))
            .map_err(|error| io::Error::new(io::Error::from(error).kind(), format!("{local}: {error}")))?;
        connect(socket.as_raw_fd(), &SockaddrIn::from(remote))?;
        Ok(Endpoint {
            site,
            hosted,
            socket,
            number: 0,
            open: false,
            sent: SourceCounters::default(),
            received: DestinationCounters::default(),
            refused: 0,
        })
    }

    /// When to [`wake`](Self::wake) it.
    pub fn next_wake(&self) -> Time {
        self.hosted.next_wake()
    }

    /// Does what is due.
    pub fn wake(&mut self, clock: Clock) -> io::Result<()> {
        let now = clock.now();
        // The application hears of its timers as if it had been woken in time, so that lateness does not add up.
        while let Some(due) = Some(self.hosted.next_wake()).filter(|due| *due <= now) {
            let Some(event) = self.hosted.due(due) else { break };
            self.tell(clock, due, event)?;
        }
        Ok(())
    }

    fn tell(&mut self, clock: Clock, now: Time, event: Event) -> io::Result<()> {
        let mut event = Some(event);
        while let Some(told) = event.take() {
            let Actions { send, connect: opens, close, timer: _ } = self.hosted.on(now, told);
            if send > 0 {
                self.send(clock, send.min(LARGEST))?;
            }
            if close {
                self.sent.completed = Some(now);
            }
            if opens && !self.open {
                self.open = true;
                self.sent.start = Some(now);
                event = Some(Event::Connected);
            }
        }
        Ok(())
    }

    fn send(&mut self, clock: Clock, payload: u64) -> io::Result<()> {
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&self.number.to_be_bytes());
        head[8..].copy_from_slice(&clock.now().as_nanos().to_be_bytes());
        self.number += 1;
        match batch::send(self.socket.as_fd(), &[Outgoing { head, size: payload as usize }], &ZEROS) {
            Ok(_) => {
                self.sent.sent_bytes += payload;
                self.sent.sent_packets += 1;
                Ok(())
            }
            Err(error) => match error.raw_os_error() {
                // The other end has gone, or there is no room: datagrams may be lost.
                Some(libc::ECONNREFUSED | libc::EAGAIN | libc::ENOBUFS) => {
                    self.refused += 1;
                    Ok(())
                }
                _ => Err(error),
            },
        }
    }

    /// Datagrams have come.
    pub fn ready(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        let mut incoming = [Incoming::default(); BATCH];
        let count = match batch::receive(self.socket.as_fd(), &mut incoming) {
            Ok(count) => count,
            Err(error) => match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
                Errno::EAGAIN | Errno::ECONNREFUSED | Errno::EINTR => return Ok(()),
                _ => return Err(error),
            },
        };
        for datagram in &incoming[..count] {
            let now = datagram.stamp.map_or_else(|| clock.now(), |stamp| clock.at_unix(stamp));
            let payload = datagram.size as u64;
            self.received.delivered_bytes += payload;
            self.received.delivered_packets += 1;
            self.received.last_delivery = Some(now);
            if datagram.size >= HEAD {
                let word =
                    |at: usize| u64::from_be_bytes(datagram.head[at..at + 8].try_into().expect("8 bytes"));
                let delay = now.since(Time::from_nanos(word(8)));
                self.received.delay.add(delay);
                let row = [
                    word(0) as f64,
                    delay.as_secs_f64(),
                    payload as f64,
                    self.received.delivered_bytes as f64,
                ];
                watch.datagram(now, row);
            }
            self.tell(clock, now, Event::Received { bytes: payload })?;
        }
        Ok(())
    }

    /// The socket, to watch it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Datagrams for which the socket had no room, since the driver came too late.
    pub fn drops(&self) -> u64 {
        socket::drops(self.socket.as_fd()).unwrap_or(0).into()
    }

    /// Writes the rows of this end.
    pub fn report(&self, report: &mut Report) {
        self.site.report(&self.sent, &self.received, report);
    }
}
