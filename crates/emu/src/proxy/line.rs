//! A split connection over the kernel's TCP: two sockets, and the data between them.

use crate::flows::traffic::info::Info;
use crate::sys::socket;
use bentpipe_core::Time;
use bentpipe_transport::flow::{DestinationCounters, SourceCounters};
use nix::errno::Errno;
use nix::sys::socket::{recv, send, setsockopt, shutdown, sockopt, MsgFlags, Shutdown};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Index of the socket towards the source, and of the socket towards the destination.
pub const SOURCE: usize = 0;
pub const DESTINATION: usize = 1;

/// Number of bytes that are copied at a time.
const CHUNK: usize = 65_536;

/// The data from one socket on their way to the other.
struct Direction {
    buffer: Box<[u8]>,
    begin: usize,
    end: usize,
    /// True if the sender has closed its direction.
    over: bool,
    /// True if the end has been passed on.
    ended: bool,
}

/// Counters of one of the two sockets.
#[derive(Default)]
pub struct Counters {
    pub sent: SourceCounters,
    pub received: DestinationCounters,
}

/// A split connection with its data.
pub struct Line {
    sockets: [Option<OwnedFd>; 2],
    directions: [Direction; 2],
    pub counters: [Counters; 2],
    /// True if the destination has not accepted yet.
    pub opening: bool,
    /// True if the connection ended with a reset or because an end did not answer.
    pub broken: bool,
}

impl Line {
    /// Creates a split connection whose socket towards the destination is opening. At most `buffer`
    /// bytes are copied at a time.
    pub fn new(destination: OwnedFd, buffer: u64) -> Line {
        let size = (buffer as usize).clamp(1, CHUNK);
        let direction = || Direction {
            buffer: vec![0; size].into_boxed_slice(),
            begin: 0,
            end: 0,
            over: false,
            ended: false,
        };
        Line {
            sockets: [None, Some(destination)],
            directions: [direction(), direction()],
            counters: Default::default(),
            opening: true,
            broken: false,
        }
    }

    /// Adds the socket towards the source, which has been accepted.
    pub fn accept(&mut self, now: Time, source: OwnedFd) {
        self.sockets[SOURCE] = Some(source);
        self.counters.iter_mut().for_each(|counters| counters.sent.start = Some(now));
    }

    /// Returns true if the socket towards the source has been accepted.
    pub fn is_accepted(&self) -> bool {
        self.sockets[SOURCE].is_some()
    }

    /// Returns a socket, unless it is closed.
    pub fn socket(&self, side: usize) -> Option<&OwnedFd> {
        self.sockets[side].as_ref()
    }

    /// Returns true if both sockets have been closed.
    pub fn has_ended(&self) -> bool {
        self.sockets[DESTINATION].is_none() && self.sockets[SOURCE].is_none()
    }

    /// Copies all data that can be copied now.
    pub fn pump(&mut self, now: Time) {
        if self.opening || !self.is_accepted() {
            return;
        }
        loop {
            let moved = [SOURCE, DESTINATION].map(|from| self.copy(now, from));
            match moved {
                [Ok(false), Ok(false)] => break,
                [Ok(_), Ok(_)] => {}
                _ => return self.abort(),
            }
        }
        if self.directions.iter().all(|direction| direction.ended) {
            self.close(now);
        }
    }

    /// Copies data from one socket to the other. Returns true if something was done.
    fn copy(&mut self, now: Time, from: usize) -> io::Result<bool> {
        let [Some(_), Some(_)] = &self.sockets else { return Ok(false) };
        let [from_fd, to_fd] =
            [from, 1 - from].map(|side| self.sockets[side].as_ref().map_or(-1, AsRawFd::as_raw_fd));
        let (direction, received) = (&mut self.directions[from], &mut self.counters[from].received);
        let mut moved = false;
        if !direction.over && direction.begin == direction.end {
            match recv(from_fd, &mut direction.buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(0) => (direction.over, moved) = (true, true),
                Ok(bytes) => {
                    (direction.begin, direction.end, moved) = (0, bytes, true);
                    received.delivered_bytes += bytes as u64;
                    received.last_delivery = Some(now);
                }
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if direction.begin < direction.end {
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            match send(to_fd, &direction.buffer[direction.begin..direction.end], flags) {
                Ok(bytes) => (direction.begin, moved) = (direction.begin + bytes, true),
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        } else if direction.over && !direction.ended {
            (direction.ended, moved) = (true, true);
            let _ = shutdown(to_fd, Shutdown::Write);
        }
        Ok(moved)
    }

    /// Closes both sockets, with a reset to both ends.
    pub fn abort(&mut self) {
        self.broken = true;
        self.sockets.iter().flatten().for_each(reset);
        self.count(None);
        self.sockets = [None, None];
    }

    fn close(&mut self, now: Time) {
        self.count(Some(now));
        self.sockets = [None, None];
    }

    /// Reads the kernel's counters of both sockets.
    pub fn count(&mut self, completed: Option<Time>) {
        for (socket, counters) in self.sockets.iter().zip(&mut self.counters) {
            let Some(info) = socket.as_ref().and_then(|socket| Info::of(socket.as_fd()).ok()) else {
                continue;
            };
            info.count(&mut counters.sent);
            counters.sent.completed = completed;
            counters.received.delivered_packets = info.data_segments_in();
        }
    }

    /// Limits the send buffers to the memory of `buffer` bytes of payload in single segments. The
    /// kernel counts up to twice the payload then, if a pacing congestion control such as BBR sends
    /// single segments. Large writes leave room for almost twice the payload.
    pub fn limit(&self, buffer: u64) {
        for socket in self.sockets.iter().flatten() {
            let _ = socket::set_send_memory(socket.as_fd(), 2 * buffer);
        }
    }
}

/// Makes the kernel reset a connection when its socket is closed.
pub fn reset(socket: &OwnedFd) {
    let _ = setsockopt(socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
}
