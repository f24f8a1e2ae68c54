//! A connection of a flow over the kernel's TCP. It stores its events until they are requested.
//!
//! A direction is closed when all of its data has been sent once. It is not closed earlier, because
//! the kernel logs no acknowledgments of a closed direction. By stamps in the socket's error queue,
//! the kernel reports when all data was sent, and when all data was acknowledged.

use super::exact::{Discarded, Watched};
use super::info::Info;
use super::poll::Polled;
use super::Watch;
use crate::clock::Clock;
use crate::sys::socket::{self, set_tcp};
use bentpipe_core::{Span, Time};
use bentpipe_transport::app::{Actions, Event};
use bentpipe_transport::tcp::endpoint::Probes;
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{
    connect, getsockopt, recv, send, setsockopt, shutdown, sockopt, MsgFlags, Shutdown, SockaddrIn,
    TimestampingFlag,
};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

/// Interval of the checks for complete sending or acknowledgment, for lost reports of the kernel.
const LOOK: Span = Span::from_millis(200);
/// Time after which a segment that the kernel has reported counts as sent.
const SOON: Span = Span::from_millis(1);
/// Number of bytes read or written in one call.
const CHUNK: usize = 256 << 10;

/// Events of a closed direction, or of the end of the connection.
const ENDS: EpollFlags = EpollFlags::EPOLLRDHUP.union(EpollFlags::EPOLLHUP).union(EpollFlags::EPOLLERR);

static ZEROS: [u8; CHUNK] = [0; CHUNK];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The connection has had no events yet.
    Closed,
    Connecting,
    Open,
    /// The connection has ended.
    Ended,
}

/// A connection of an end, over a socket.
pub struct Line {
    pub number: u16,
    /// State of queries; the field is before the socket, which it also holds.
    watched: Option<Watched>,
    socket: OwnedFd,
    remote: SocketAddrV4,
    phase: Phase,
    /// Bytes still to be handed to the socket; `u64::MAX` for an endless stream.
    to_send: u64,
    /// True if the application must be informed when everything is acknowledged.
    drains: bool,
    /// True if this direction must be closed when everything is acknowledged, and true once it is
    /// closed.
    closes: bool,
    shut: bool,
    /// True if reports were requested from the kernel, and true if one has arrived since the last
    /// check.
    reports: bool,
    reported: bool,
    peer_closed: bool,
    /// Receive window to set again when data has arrived.
    window: Option<i32>,
    look: Time,
    events: VecDeque<(Time, Event)>,
    pub probes: Probes,
    /// Time of opening, and time at which all data and the end were acknowledged.
    pub start: Option<Time>,
    pub completed: Option<Time>,
    /// Payload bytes that this end has read, flag of an application that ignores further data, and
    /// the data that the engine's thread has discarded since.
    delivered: u64,
    only_counts: bool,
    pub discarded: Option<Arc<Discarded>>,
    pub last: Option<Info>,
    /// Number in the table `tcp_connection`, and description.
    pub failure: Option<(u8, String)>,
    pub polled: Polled,
}

impl Line {
    /// Creates a connection over an accepted, open socket, or over a socket to connect to `remote`.
    /// An application that `only_counts` arriving data ignores its events.
    pub fn new(
        number: u16,
        socket: OwnedFd,
        remote: SocketAddrV4,
        accepted: bool,
        window: Option<i32>,
        only_counts: bool,
        probes: Probes,
    ) -> Line {
        Line {
            number,
            watched: None,
            socket,
            remote,
            phase: if accepted { Phase::Open } else { Phase::Closed },
            to_send: 0,
            drains: false,
            closes: false,
            shut: false,
            reports: false,
            reported: false,
            peer_closed: false,
            window,
            look: Time::MAX,
            events: VecDeque::new(),
            probes,
            start: None,
            completed: None,
            delivered: 0,
            only_counts,
            discarded: None,
            last: None,
            failure: None,
            polled: Polled::default(),
        }
    }

    /// Returns the time of the next call of [`look`](Self::look).
    pub fn next_look(&self) -> Time {
        self.look
    }

    /// Returns the next event for the application and its time, if any.
    pub fn next_event(&mut self) -> Option<(Time, Event)> {
        self.events.pop_front()
    }

    fn tell(&mut self, now: Time, event: Event) {
        self.events.push_back((now, event));
    }

    /// Checks if all data passed to the socket has arrived.
    pub fn look(&mut self, now: Time) -> io::Result<()> {
        self.look = Time::MAX;
        if self.phase != Phase::Open || self.to_send > 0 || !(self.drains || self.closes) {
            return Ok(());
        }
        if self.shut {
            if Info::of(self.socket.as_fd())?.is_done() {
                self.completed.get_or_insert(now);
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
                // The last byte may be in transit to the interface at this moment.
                self.look = now + SOON;
                return Ok(());
            }
        } else if socket::unacknowledged(self.socket.as_fd())? == 0 {
            self.drains = false;
            self.tell(now, Event::MaySend);
            return Ok(());
        }
        self.look = now + LOOK;
        Ok(())
    }

    /// Handles the events `flags` of the socket.
    pub fn ready(&mut self, flags: EpollFlags, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        match self.phase {
            Phase::Connecting => match getsockopt(&self.socket, sockopt::SocketError)? {
                0 => {
                    self.phase = Phase::Open;
                    self.connected(watch)?;
                    self.tell(clock.now(), Event::Connected);
                }
                error => self.fail(clock.now(), &io::Error::from_raw_os_error(error)),
            },
            Phase::Open => {
                if self.reports {
                    self.empty_reports(watch.scratch);
                }
                match self.receive(flags, clock, watch).and_then(|()| self.send()) {
                    Err(error) => self.fail(clock.now(), &error),
                    Ok(()) => self.look(clock.now())?,
                }
            }
            Phase::Closed | Phase::Ended => {}
        }
        Ok(())
    }

    /// Called when the connection is established.
    pub fn connected(&mut self, watch: &Watch<'_>) -> io::Result<()> {
        let opened = self.start.is_some();
        self.watched = watch.connected(self.number, opened, self.probes.sender, self.socket.as_fd())?;
        Ok(())
    }

    /// Reads the kernel's reports, so that further reports can wake this end.
    fn empty_reports(&mut self, scratch: &mut [u8]) {
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        while recv(self.socket.as_raw_fd(), scratch, flags).is_ok() {
            self.reported = true;
        }
    }

    fn fail(&mut self, now: Time, error: &io::Error) {
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
        self.tell(now, Event::Failed);
    }

    /// Stores the kernel's state of the connection, which is lost when the socket closes.
    fn end(&mut self) {
        self.last = Info::of(self.socket.as_fd()).ok();
        self.phase = Phase::Ended;
        self.watched = None;
        self.look = Time::MAX;
    }

    fn receive(&mut self, flags: EpollFlags, clock: Clock, watch: &mut Watch<'_>) -> io::Result<()> {
        // Senders get events of room far more often than events of data.
        if flags == EpollFlags::EPOLLOUT {
            return Ok(());
        }
        let all = watch.scratch.len();
        let ends = flags.intersects(ENDS);
        let mut bytes = 0;
        let mut closed = false;
        loop {
            // MSG_TRUNC: the kernel discards the bytes instead of copying them.
            match recv(self.socket.as_raw_fd(), watch.scratch, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT) {
                Ok(0) => {
                    closed = true;
                    break;
                }
                Ok(count) => {
                    bytes += count as u64;
                    // All data has been read; later data causes another event.
                    if count < all && !ends {
                        break;
                    }
                }
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let now = clock.now();
        if bytes > 0 {
            if let Some(window) = self.window.take() {
                // After the first full segment, the kernel recomputes the window from the size of
                // the buffer.
                set_tcp(self.socket.as_fd(), socket::TCP_WINDOW_CLAMP, window)?;
            }
            self.delivered += bytes;
            watch.rows.add(self.probes.delivery, now, &[self.delivered as f64, f64::NAN]);
            self.tell(now, Event::Received { bytes });
            if self.only_counts && self.discarded.is_none() {
                let watched = self.watched.as_ref();
                self.discarded =
                    watched.and_then(|watched| watched.discard(self.probes.delivery, self.delivered));
                if self.discarded.is_some() {
                    watch.only_its_end(self.socket.as_fd(), self.number)?;
                }
            }
        }
        if closed && !self.peer_closed {
            self.peer_closed = true;
            self.tell(now, Event::PeerClosed);
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        while self.to_send > 0 {
            let mut flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            let chunk = &ZEROS[..CHUNK.min(usize::try_from(self.to_send).unwrap_or(CHUNK))];
            if self.to_send > CHUNK as u64 {
                // The end of a call is not necessarily the end of a segment.
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

    /// Performs the actions of the application.
    pub fn act(&mut self, now: Time, actions: &Actions, watch: &Watch<'_>) -> io::Result<()> {
        if actions.send > 0 {
            self.to_send = self.to_send.saturating_add(actions.send);
            self.drains = actions.send != u64::MAX;
            // The application has not been informed yet that everything arrived, and new data is
            // now pending.
            self.events.retain(|(_, event)| *event != Event::MaySend);
        }
        if actions.stop {
            // The kernel still sends the data in the socket's buffer.
            self.to_send = 0;
        }
        if actions.close || actions.stop {
            self.closes = true;
        }
        if actions.connect && self.phase == Phase::Closed {
            self.start = Some(now);
            self.phase = Phase::Connecting;
            match connect(self.socket.as_raw_fd(), &SockaddrIn::from(self.remote)) {
                Ok(()) | Err(Errno::EINPROGRESS) => watch.add(self.socket.as_fd(), self.number)?,
                Err(error) => self.fail(now, &error.into()),
            }
        }
        if self.phase == Phase::Open {
            if let Err(error) = self.send() {
                self.fail(now, &error);
                return Ok(());
            }
            if (self.drains || self.closes) && self.to_send == 0 {
                self.look = self.look.min(now);
            }
        }
        Ok(())
    }

    /// Returns true if both directions have ended.
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Returns the present state of the connection; `None` before and after it exists.
    pub fn info(&self) -> Option<Info> {
        match self.phase {
            Phase::Open => Info::of(self.socket.as_fd()).ok(),
            _ => None,
        }
    }

    /// Records the final state at the end of the run, and makes the kernel discard unsent data.
    /// Otherwise it would keep the data for minutes, in memory shared by all connections of the
    /// machine.
    pub fn finish(&mut self) {
        if self.phase == Phase::Open {
            self.end();
        }
        let _ = setsockopt(&self.socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
    }

    /// Returns the connection's state, with the numbers of the table `tcp_connection`.
    pub fn state(&self) -> u8 {
        match self.phase {
            Phase::Closed => 0,
            Phase::Connecting => 2,
            Phase::Open | Phase::Ended => self.last.as_ref().map_or(0, Info::state_of_rfc9293),
        }
    }
}
