//! Pipes by which data goes from socket to socket without being copied; borrowed while they hold some.

use nix::fcntl::{fcntl, FcntlArg, OFlag};
use nix::unistd::pipe2;
use std::os::fd::OwnedFd;

/// A pipe of the kernel, between two sockets.
pub struct Pipe {
    /// The end to read from.
    pub out: OwnedFd,
    /// The end to write to.
    pub into: OwnedFd,
}

/// The pipes of a worker that are not in use.
pub struct Pipes {
    free: Vec<Pipe>,
    made: usize,
    most: usize,
}

/// Capacity of a pipe in bytes.
pub const CAPACITY: usize = 256 << 10;
/// More than a loss or two's worth of connections that carry bulk at once; who finds none copies.
const MOST: usize = 64;
/// Pages that the pipes of a user without CAP_SYS_RESOURCE may have before they are made small.
const SOFT_LIMIT: &str = "/proc/sys/fs/pipe-user-pages-soft";

impl Pipes {
    /// For one of `workers` workers: together they leave the user half of the pages allowed.
    pub fn new(workers: usize) -> Pipes {
        let pages = std::fs::read_to_string(SOFT_LIMIT).ok().and_then(|text| text.trim().parse().ok());
        let share = pages
            .filter(|pages| *pages != 0)
            .map_or(MOST, |pages: usize| pages * 4096 / CAPACITY / 2 / workers);
        Pipes { free: Vec::new(), made: 0, most: share.min(MOST) }
    }

    /// An empty pipe, unless all are in use.
    pub fn borrow(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.free.pop() {
            return Some(pipe);
        }
        if self.made == self.most {
            return None;
        }
        let made = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).and_then(|(out, into)| {
            fcntl(&into, FcntlArg::F_SETPIPE_SZ(CAPACITY as i32))?;
            Ok(Pipe { out, into })
        });
        match made {
            Ok(pipe) => {
                self.made += 1;
                Some(pipe)
            }
            // There is no room for another one, now or later.
            Err(_) => {
                self.most = self.made;
                None
            }
        }
    }

    /// How many there are, borrowed ones included.
    pub fn made(&self) -> usize {
        self.made
    }

    /// Returns an empty pipe to the pool.
    pub fn give_back(&mut self, pipe: Pipe) {
        self.free.push(pipe);
    }

    /// One that was not empty is gone.
    pub fn lost(&mut self) {
        self.made -= 1;
    }
}
