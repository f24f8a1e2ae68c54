//! One end of a flow over the kernel's TCP: the application of the simulation over a socket.
//!
//! A direction is closed when all of it has been sent once, not when it was handed over: from then on the kernel does not
//! log acknowledgments. All that was handed over counts as acknowledged when the socket's queue is empty, which is looked at every 2 ms while
//! an application waits for it: so much later than in a simulation it may hear of it.

use super::info::Info;
use super::Watch;
use crate::clock::Clock;
use crate::sys::socket::{self, set_tcp};
use bentpipe_core::{Report, Span, Time};
use bentpipe_models::app::{Actions, End, Event};
use bentpipe_models::transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_models::transport::hosting::{Hosted, Site};
use bentpipe_models::transport::tcp::Config;
use nix::errno::Errno;
use nix::sys::socket::{
    accept4, bind, connect, getsockopt, listen, recv, send, setsockopt, shutdown, socket as new_socket,
    sockopt, AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrIn,
};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// How often a socket is asked whether everything is acknowledged.
const LOOK: Span = Span::from_millis(2);
/// Data that waits in a socket to be sent for the first time: enough for a millisecond at 8 Gbit/s.
const UNSENT: i32 = 1 << 20;
/// Bytes taken or given in one call.
const CHUNK: usize = 256 << 10;

static ZEROS: [u8; CHUNK] = [0; CHUNK];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing has happened yet.
    Closed,
    /// The socket waits for the other end.
    Listening,
    Connecting,
    Open,
    /// It is over.
    Ended,
}

/// One end.
pub struct Endpoint {
    pub site: Site,
    hosted: Hosted,
    socket: OwnedFd,
    remote: SocketAddrV4,
    phase: Phase,
    /// Still to be handed to the socket; `u64::MAX` for a stream without end.
    to_send: u64,
    /// Whether the application is to hear when all is acknowledged.
    drains: bool,
    /// Whether this direction is to be closed when all is acknowledged, and whether it is.
    closes: bool,
    shut: bool,
    peer_closed: bool,
    look: Time,
    pub sent: SourceCounters,
    pub received: DestinationCounters,
    last: Option<Info>,
    pub failure: Option<String>,
}

impl Endpoint {
    /// Makes the socket of an end, in this thread's namespace.
    ///
    /// # Errors
    /// The port is in use, the congestion control is not there, or the kernel refuses an option.
    pub fn new(
        site: Site,
        hosted: Hosted,
        config: &Config,
        congestion: &str,
        local: SocketAddrV4,
        remote: SocketAddrV4,
    ) -> io::Result<Endpoint> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = new_socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
        let named = |what: &str, error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
        setsockopt(&socket, sockopt::Ipv4Tos, &(i32::from(site.dscp) << 2))?;
        setsockopt(&socket, sockopt::TcpCongestion, &congestion.into())
            .map_err(|error| named(&format!("congestion control {congestion}"), error.into()))?;
        let options = if config.timestamps { 12 } else { 0 };
        let segment = config.segment_size.value() as i32 + options;
        set_tcp(socket.as_fd(), socket::TCP_MAXSEG, segment)
            .map_err(|error| named(&format!("segment size {segment}"), error))?;
        set_tcp(socket.as_fd(), socket::TCP_NOTSENT_LOWAT, UNSENT)?;
        set_tcp(socket.as_fd(), socket::TCP_SYNCNT, config.syn_retries.value().clamp(1, 127) as i32)?;
        // Kernels before 6.15 have these two built in.
        let _ = set_tcp(socket.as_fd(), socket::TCP_RTO_MAX_MS, (config.rto_max.as_micros() / 1000) as i32);
        let _ =
            set_tcp(socket.as_fd(), socket::TCP_DELACK_MAX_US, config.delayed_ack_timeout.as_micros() as i32);
        if let Some(window) = config.receive_window {
            // The kernel sets half of a buffer aside for its own bookkeeping.
            let clamp = i32::try_from(window.bytes()).unwrap_or(i32::MAX);
            setsockopt(&socket, sockopt::RcvBufForce, &(clamp as usize))
                .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &(clamp as usize)))?;
            set_tcp(socket.as_fd(), socket::TCP_WINDOW_CLAMP, clamp)?;
        }
        let address = SockaddrIn::from(local);
        bind(socket.as_raw_fd(), &address).map_err(|error| named(&local.to_string(), error.into()))?;
        let phase = match site.end {
            End::Source => Phase::Closed,
            End::Destination => {
                listen(&socket, Backlog::new(1)?)?;
                Phase::Listening
            }
        };
        Ok(Endpoint {
            site,
            hosted,
            socket,
            remote,
            phase,
            to_send: 0,
            drains: false,
            closes: false,
            shut: false,
            peer_closed: false,
            look: Time::MAX,
            sent: SourceCounters::default(),
            received: DestinationCounters::default(),
            last: None,
            failure: None,
        })
    }

    /// When to [`wake`](Self::wake) it.
    pub fn next_wake(&self) -> Time {
        self.hosted.next_wake().min(self.look)
    }

    /// Does what is due.
    pub fn wake(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        let now = clock.now();
        // The application hears of its timers as if it had been woken in time, so that lateness does not add up.
        while let Some(due) = Some(self.hosted.next_wake()).filter(|due| *due <= now) {
            let Some(event) = self.hosted.due(due) else { break };
            self.tell(due, event, watch)?;
        }
        if self.look <= now {
            self.look(now, watch)?;
        }
        Ok(())
    }

    /// Looks whether all that was handed over has arrived.
    fn look(&mut self, now: Time, watch: &mut Watch<'_>) -> io::Result<()> {
        self.look = Time::MAX;
        if self.phase != Phase::Open {
            return Ok(());
        }
        if self.shut {
            if Info::of(self.socket.as_fd())?.is_done() {
                self.sent.completed = Some(now);
                if self.peer_closed {
                    self.end();
                }
                return Ok(());
            }
        } else if self.to_send == 0 {
            if self.closes && Info::of(self.socket.as_fd())?.unsent() == 0 {
                self.shut = true;
                shutdown(self.socket.as_raw_fd(), Shutdown::Write)?;
            } else if self.drains && socket::unacknowledged(self.socket.as_fd())? == 0 {
                self.drains = false;
                self.tell(now, Event::MaySend, watch)?;
                return Ok(());
            }
        }
        self.look = now + LOOK;
        Ok(())
    }

    /// The socket is ready for something.
    pub fn ready(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        match self.phase {
            Phase::Listening => self.accept(clock, watch),
            Phase::Connecting => self.connected(clock, watch),
            Phase::Open => {
                let outcome = self.receive(clock, watch).and_then(|()| self.send());
                match outcome {
                    Err(error) => self.fail(clock.now(), &error, watch),
                    done => done,
                }
            }
            Phase::Closed | Phase::Ended => Ok(()),
        }
    }

    fn accept(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        match accept4(self.socket.as_raw_fd(), flags) {
            Ok(fd) => {
                let accepted = crate::sys::owned(fd);
                watch.remove(self.socket.as_fd())?;
                self.socket = accepted;
                watch.add(self.socket.as_fd())?;
                self.phase = Phase::Open;
                self.tell(clock.now(), Event::Connected, watch)
            }
            Err(Errno::EAGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn connected(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        match getsockopt(&self.socket, sockopt::SocketError)? {
            0 => {
                self.phase = Phase::Open;
                self.tell(clock.now(), Event::Connected, watch)
            }
            error => self.fail(clock.now(), &io::Error::from_raw_os_error(error), watch),
        }
    }

    fn fail(&mut self, now: Time, error: &io::Error, watch: &mut Watch<'_>) -> io::Result<()> {
        self.failure = Some(error.to_string());
        self.end();
        self.tell(now, Event::Failed, watch)
    }

    /// Keeps what the kernel knows of the connection, which goes with it.
    fn end(&mut self) {
        self.last = Info::of(self.socket.as_fd()).ok();
        self.phase = Phase::Ended;
        self.look = Time::MAX;
    }

    fn receive(&mut self, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        let mut bytes = 0;
        let mut closed = false;
        loop {
            // MSG_TRUNC: the kernel throws the bytes away instead of copying them.
            match recv(self.socket.as_raw_fd(), watch.scratch, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT) {
                Ok(0) => {
                    closed = true;
                    break;
                }
                Ok(count) => bytes += count as u64,
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let now = clock.now();
        if bytes > 0 {
            self.received.delivered_bytes += bytes;
            self.received.last_delivery = Some(now);
            watch.delivered(now, self.received.delivered_bytes);
            self.tell(now, Event::Received { bytes }, watch)?;
        }
        if closed && !self.peer_closed {
            self.peer_closed = true;
            self.tell(now, Event::PeerClosed, watch)?;
            self.look = self.look.min(now + LOOK);
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        while self.to_send > 0 {
            let chunk = &ZEROS[..CHUNK.min(usize::try_from(self.to_send).unwrap_or(CHUNK))];
            match send(self.socket.as_raw_fd(), chunk, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
                Ok(count) if self.to_send != u64::MAX => self.to_send -= count as u64,
                Ok(_) => {}
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn tell(&mut self, now: Time, event: Event, watch: &mut Watch<'_>) -> io::Result<()> {
        let Actions { send, connect: opens, close, timer: _ } = self.hosted.on(now, event);
        if send > 0 {
            self.to_send = self.to_send.saturating_add(send);
            self.drains = send != u64::MAX;
        }
        if close {
            self.closes = true;
        }
        if opens && self.phase == Phase::Closed {
            self.sent.start = Some(now);
            self.phase = Phase::Connecting;
            match connect(self.socket.as_raw_fd(), &SockaddrIn::from(self.remote)) {
                Ok(()) | Err(Errno::EINPROGRESS) => watch.add(self.socket.as_fd())?,
                Err(error) => return self.fail(now, &error.into(), watch),
            }
        }
        if self.phase == Phase::Open {
            if let Err(error) = self.send() {
                return self.fail(now, &error, watch);
            }
            if (self.drains || self.closes) && self.look == Time::MAX {
                self.look = now + LOOK;
            }
        }
        Ok(())
    }

    /// The socket, to watch it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether it is watched from the beginning.
    pub fn listens(&self) -> bool {
        self.phase == Phase::Listening
    }

    /// The connection as it is now, or as it was when it ended; `None` before there is one.
    pub fn info(&self) -> Option<Info> {
        match self.phase {
            Phase::Open => Info::of(self.socket.as_fd()).ok(),
            _ => None,
        }
    }

    /// The run is over: keeps what there is to say of the connection.
    pub fn finish(&mut self) {
        if self.phase == Phase::Open {
            self.end();
        }
    }

    /// Writes the rows of this end.
    pub fn report(&mut self, report: &mut Report) {
        if let Some(info) = &self.last {
            self.sent.sent_bytes = info.sent_bytes();
            self.sent.sent_packets = info.data_segments_out();
            self.sent.retransmissions = self.sent.retransmissions.max(info.retransmissions());
            self.sent.timeouts = self.sent.timeouts.max(info.timeouts().unwrap_or(0));
            self.received.delivered_packets = info.data_segments_in();
        }
        self.site.report(&self.sent, &self.received, report);
    }
}
