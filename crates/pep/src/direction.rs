//! One direction of a connection: from a source to a sink, in order, with at most one pipe's worth
//! of data here.
//!
//! Nothing is read from the source while the sink is full, so the source's window closes and the
//! sender waits, as it would for the sink itself. Small amounts are copied through a buffer shared
//! by all connections of a worker. As soon as one read fills it, the direction counts as bulk, and
//! its pages go through a pipe without being copied (splice(2)).

use crate::pipe::{Pipe, Pipes};
use nix::errno::Errno;
use nix::fcntl::{splice, SpliceFFlags};
use socket2::Socket;
use std::io::{self, Read};
use std::net::Shutdown;
use std::ops::Range;

/// Maximum bytes per visit, so that other connections are served too.
const VISIT: usize = 2 << 20;
/// Length of the buffer for copied data.
pub const BUFFER: usize = 32 << 10;
/// Bulk in pieces smaller than this is cheaper to copy.
const SMALL: usize = 4 << 10;

/// Data read from the source and not yet written to the sink.
#[derive(Default)]
enum Transit {
    #[default]
    Nothing,
    Pipe(Pipe, usize),
    Copied(Box<[u8]>, usize),
}

/// The state of one direction of a connection. Nothing is read or written before the kernel reports
/// that it is possible.
#[derive(Default)]
pub struct Direction {
    /// True if the source may have data or a FIN.
    pub readable: bool,
    /// True if the source has sent its FIN, or is broken; it is read to the end.
    pub ending: bool,
    /// True if the source is broken.
    pub broken: bool,
    /// True if the source may have urgent data (RFC 9293, section 3.8.5). The kernel ends a read
    /// before it, and splice(2) never gets past it.
    pub urgent: bool,
    /// True if the sink may have room.
    pub writable: bool,
    transit: Transit,
    bulk: bool,
    ended: bool,
    shut: bool,
    /// Bytes written to the sink.
    pub bytes: u64,
}

/// Outcome of a visit without an error.
#[derive(Debug, PartialEq, Eq)]
pub enum Visit {
    /// Nothing more can be done before the kernel reports an event.
    Waits,
    /// There is more to do, after the others have had their turn.
    More,
}

/// Returns `None` if the call would block. Repeats interrupted calls.
fn now<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<Option<T>> {
    loop {
        match call() {
            Ok(value) => return Ok(Some(value)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn spliced(
    from: impl std::os::fd::AsFd,
    to: impl std::os::fd::AsFd,
    length: usize,
) -> io::Result<Option<usize>> {
    let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
    now(|| splice(from.as_fd(), None, to.as_fd(), None, length, flags).map_err(Errno::into))
}

impl Direction {
    /// Returns true if the source's FIN was passed on.
    pub fn is_shut(&self) -> bool {
        self.shut
    }

    /// Carries as much as possible. If this is the `last` open direction, both sockets are closed
    /// when it ends, which sends the sink its FIN.
    ///
    /// # Errors
    /// One of the sockets has failed, and with it the connection.
    pub fn visit(
        &mut self,
        source: &Socket,
        sink: &Socket,
        pipes: &mut Pipes,
        buffer: &mut [u8],
        last: bool,
    ) -> io::Result<Visit> {
        let mut left = VISIT;
        loop {
            if !self.deliver(sink, pipes)? {
                return Ok(Visit::Waits);
            }
            if self.ended {
                if !std::mem::replace(&mut self.shut, true) && !last {
                    match sink.shutdown(Shutdown::Write) {
                        // The sink is closed. Its own events report this.
                        Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                        other => other?,
                    }
                }
                return Ok(Visit::Waits);
            }
            if !self.readable || !self.writable {
                return Ok(Visit::Waits);
            }
            if left == 0 {
                return Ok(Visit::More);
            }
            let taken = self.take(source, sink, pipes, buffer)?;
            left = left.saturating_sub(taken.max(1));
        }
    }

    /// Writes the carried data to the sink. Returns false if the sink has no room for all of it.
    fn deliver(&mut self, sink: &Socket, pipes: &mut Pipes) -> io::Result<bool> {
        loop {
            match &mut self.transit {
                Transit::Nothing => return Ok(true),
                _ if !self.writable => return Ok(false),
                Transit::Pipe(pipe, left) => match spliced(&pipe.out, sink, *left)? {
                    None => self.writable = false,
                    Some(given) => {
                        self.bytes += given as u64;
                        *left -= given;
                        if *left == 0 {
                            if let Transit::Pipe(pipe, _) = std::mem::take(&mut self.transit) {
                                pipes.give_back(pipe);
                            }
                        }
                    }
                },
                Transit::Copied(bytes, from) => match now(|| write(sink, &bytes[*from..], false))? {
                    None => self.writable = false,
                    Some(given) => {
                        self.bytes += given as u64;
                        *from += given;
                        if *from == bytes.len() {
                            self.transit = Transit::Nothing;
                        }
                    }
                },
            }
        }
    }

    /// Reads from the source. Call it only while nothing is carried.
    fn take(
        &mut self,
        mut source: &Socket,
        sink: &Socket,
        pipes: &mut Pipes,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        if self.bulk && !self.urgent {
            if let Some(pipe) = pipes.borrow() {
                return self.take_by_pipe(source, pipe, pipes);
            }
        }
        let Some(taken) = now(|| source.read(&mut buffer[..BUFFER]))? else {
            self.readable = false;
            self.urgent = false;
            return Ok(0);
        };
        self.ended = taken == 0;
        self.bulk = taken == BUFFER;
        // A source that returned less than there was room for is empty: the kernel reports later
        // data (epoll(7)).
        self.readable = self.bulk || self.ending || self.urgent;
        let mut rest: Range<usize> = 0..taken;
        while !rest.is_empty() {
            // The FIN is also here, and follows in this visit or the next: both leave in one
            // segment.
            let more = self.ending && !self.broken;
            let Some(given) = now(|| write(sink, &buffer[rest.clone()], more))? else {
                self.writable = false;
                self.transit = Transit::Copied(buffer[rest].into(), 0);
                break;
            };
            self.bytes += given as u64;
            rest.start += given;
        }
        Ok(taken)
    }

    fn take_by_pipe(&mut self, source: &Socket, pipe: Pipe, pipes: &mut Pipes) -> io::Result<usize> {
        let taken = spliced(source, &pipe.into, pipe.capacity);
        let Ok(Some(taken @ 1..)) = taken else {
            pipes.give_back(pipe);
            match taken? {
                None => self.readable = false,
                Some(_) => self.ended = true,
            }
            return Ok(0);
        };
        self.bulk = taken >= SMALL;
        self.transit = Transit::Pipe(pipe, taken);
        Ok(taken)
    }

    /// Ends the direction and releases its pipe, if any.
    pub fn end(self, pipes: &mut Pipes) {
        if let Transit::Pipe(pipe, _) = &self.transit {
            pipes.lost(pipe);
        }
    }
}

/// Writes bytes to a socket. If `more` bytes follow, the kernel may delay the last segment to fill
/// it.
fn write(sink: &Socket, bytes: &[u8], more: bool) -> io::Result<usize> {
    sink.send_with_flags(bytes, if more { libc::MSG_MORE | libc::MSG_NOSIGNAL } else { libc::MSG_NOSIGNAL })
}
