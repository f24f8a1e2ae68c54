//! One end of a flow over the kernel's TCP: the application of the simulation over a socket.
//!
//! A direction is closed when all of it has been sent once, not when it was handed over: from then on the kernel does not
//! log acknowledgments. That moment, and the one at which all is acknowledged, the kernel reports itself, by stamps in the
//! socket's error queue.

use super::info::Info;
use super::Watch;
use crate::clock::Clock;
use crate::sys::socket::{self, set_tcp};
use bentpipe_core::{Report, Span, Time};
use bentpipe_models::app::{Actions, End, Event};
use bentpipe_models::transport::flow::{DestinationCounters, SourceCounters};
use bentpipe_models::transport::hosting::{Hosted, Site};
use bentpipe_models::transport::tcp::endpoint::CONNECTION;
use bentpipe_models::transport::tcp::Config;
use nix::errno::Errno;
use nix::sys::socket::{
    accept4, bind, connect, getsockopt, listen, recv, send, setsockopt, shutdown, socket as new_socket,
    sockopt, AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrIn, TimestampingFlag,
};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// How often a socket is asked whether everything is sent or acknowledged, should it not say so.
const LOOK: Span = Span::from_millis(200);
/// Time in which a segment that the kernel has reported is counted as sent.
const SOON: Span = Span::from_millis(1);
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
    /// Whether the kernel was asked for reports, and whether one has come since the last look.
    reports: bool,
    reported: bool,
    peer_closed: bool,
    /// The receive window that is to be set once more when data has come.
    window: Option<i32>,
    look: Time,
    pub sent: SourceCounters,
    pub received: DestinationCounters,
    last: Option<Info>,
    /// Number in the table `tcp_connection`, and words.
    pub failure: Option<(u8, String)>,
    /// What the trace `tcp` was told last.
    pub traced: Option<[f64; 12]>,
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
        if config.pacing {
            socket::pace(socket.as_fd()).map_err(|error| named("pacing", error))?;
        }
        let window = config.receive_window.map(|window| i32::try_from(window.bytes()).unwrap_or(i32::MAX));
        if let Some(window) = window {
            // Room for small segments too, of which each takes up a kilobyte or two. Without privileges it stays at the
            // 32 MiB that a host's sockets have, which the kernel may enlarge.
            let _ = setsockopt(&socket, sockopt::RcvBufForce, &(window.min(i32::MAX / 8) as usize * 4));
            set_tcp(socket.as_fd(), socket::TCP_WINDOW_CLAMP, window)?;
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
            reports: false,
            reported: false,
            peer_closed: false,
            window,
            look: Time::MAX,
            sent: SourceCounters::default(),
            received: DestinationCounters::default(),
            last: None,
            failure: None,
            traced: None,
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
        if self.phase != Phase::Open || self.to_send > 0 || !(self.drains || self.closes) {
            return Ok(());
        }
        if self.shut {
            if Info::of(self.socket.as_fd())?.is_done() {
                self.sent.completed.get_or_insert(now);
                if self.peer_closed {
                    self.end();
                }
                return Ok(());
            }
        } else if self.closes {
            if Info::of(self.socket.as_fd())?.unsent() == 0 {
                self.shut = true;
                shutdown(self.socket.as_raw_fd(), Shutdown::Write)?;
            } else if std::mem::take(&mut self.reported) {
                // Perhaps the last byte is on its way to the interface at this moment.
                self.look = now + SOON;
                return Ok(());
            }
        } else if socket::unacknowledged(self.socket.as_fd())? == 0 {
            self.drains = false;
            return self.tell(now, Event::MaySend, watch);
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
                if self.reports {
                    self.empty_reports(watch.scratch);
                }
                let outcome = self.receive(clock, watch).and_then(|()| self.send());
                match outcome {
                    Err(error) => self.fail(clock.now(), &error, watch),
                    Ok(()) => self.look(clock.now(), watch),
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

    /// Takes what the kernel reported, so that it can wake this end again.
    fn empty_reports(&mut self, scratch: &mut [u8]) {
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        while recv(self.socket.as_raw_fd(), scratch, flags).is_ok() {
            self.reported = true;
        }
    }

    fn fail(&mut self, now: Time, error: &io::Error, watch: &mut Watch<'_>) -> io::Result<()> {
        const RESET: u8 = 1;
        const HANDSHAKE: u8 = 2;
        const TOO_MANY_RETRIES: u8 = 3;
        let number = match error.raw_os_error() {
            Some(libc::ECONNRESET | libc::ECONNREFUSED | libc::EPIPE) => RESET,
            _ if self.phase == Phase::Connecting => HANDSHAKE,
            _ => TOO_MANY_RETRIES,
        };
        self.failure = Some((number, error.to_string()));
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
            if let Some(window) = self.window.take() {
                // The first full segment has the kernel compute the window anew from the size of the buffer.
                set_tcp(self.socket.as_fd(), socket::TCP_WINDOW_CLAMP, window)?;
            }
            self.received.delivered_bytes += bytes;
            self.received.last_delivery = Some(now);
            watch.delivered(now, self.received.delivered_bytes);
            self.tell(now, Event::Received { bytes }, watch)?;
        }
        if closed && !self.peer_closed {
            self.peer_closed = true;
            self.tell(now, Event::PeerClosed, watch)?;
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        while self.to_send > 0 {
            let mut flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            let chunk = &ZEROS[..CHUNK.min(usize::try_from(self.to_send).unwrap_or(CHUNK))];
            if self.to_send > CHUNK as u64 {
                // The end of a call is not the end of a segment.
                flags |= MsgFlags::from_bits_retain(libc::MSG_MORE);
            } else if !self.reports {
                self.reports = true;
                let wanted = libc::SOF_TIMESTAMPING_TX_SCHED
                    | libc::SOF_TIMESTAMPING_TX_ACK
                    | libc::SOF_TIMESTAMPING_SOFTWARE
                    | libc::SOF_TIMESTAMPING_OPT_TSONLY;
                setsockopt(&self.socket, sockopt::Timestamping, &TimestampingFlag::from_bits_retain(wanted))?;
            }
            match send(self.socket.as_raw_fd(), chunk, flags) {
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
            if (self.drains || self.closes) && self.to_send == 0 {
                self.look = self.look.min(now);
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

    /// The run is over: keeps what there is to say of the connection, and has the kernel forget what is still to be sent.
    /// It would keep it for minutes otherwise, in memory that all connections of the machine share.
    pub fn finish(&mut self) {
        if self.phase == Phase::Open {
            self.end();
        }
        let _ = setsockopt(&self.socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
    }

    /// Writes the rows of this end.
    ///
    /// Round-trip times without `logged` acknowledgments are the kernel's smoothed ones, but for the least.
    pub fn report(&mut self, logged: bool, report: &mut Report) {
        let last = self.last.as_ref();
        if let Some(info) = last {
            self.sent.sent_bytes = info.sent_bytes();
            self.sent.sent_packets = info.data_segments_out();
            self.sent.retransmissions = self.sent.retransmissions.max(info.retransmissions());
            self.sent.timeouts = self.sent.timeouts.max(info.timeouts().unwrap_or(0));
            self.received.delivered_packets = info.data_segments_in();
        }
        let mut rows = Report::default();
        self.site.report(&self.sent, &self.received, &mut rows);
        for (table, entity, values) in rows.rows() {
            let mut values = values.clone();
            let mut set = |name: &str, value: f64| {
                if let Some(column) = table.columns.iter().position(|column| column.name == name) {
                    values[column] = value;
                }
            };
            if let (Some(rtt), false) = (last.and_then(Info::min_rtt), logged) {
                set("rtt_min", f64::from(rtt) / 1e6);
            }
            if !logged && last.is_some_and(|info| info.timeouts().is_none()) {
                set("timeouts", f64::NAN);
            }
            report.row(table, entity, &values);
        }
        let end = match self.site.end {
            End::Source => "source",
            End::Destination => "destination",
        };
        let values = [
            f64::from(match self.phase {
                Phase::Closed => 0,
                Phase::Listening => 1,
                Phase::Connecting => 2,
                Phase::Open | Phase::Ended => last.map_or(0, Info::state_of_rfc9293),
            }),
            f64::from(self.failure.as_ref().map_or(0, |(number, _)| *number)),
            last.map_or(f64::NAN, |info| info.cwnd().into()),
            last.map_or(f64::NAN, |info| f64::from(info.rto()) / 1e6),
        ];
        report.row(&CONNECTION, &format!("{}.{end}", self.site.name), &values);
    }
}
