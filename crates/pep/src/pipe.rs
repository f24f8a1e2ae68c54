//! Pipes that carry data from socket to socket without copying it; a direction borrows one while it
//! carries data.

use nix::fcntl::{fcntl, FcntlArg, OFlag};
use nix::unistd::pipe2;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

/// A pipe of the kernel, between two sockets.
pub struct Pipe {
    /// Capacity of the pipe in bytes.
    pub capacity: usize,
    /// The end to read from.
    pub out: OwnedFd,
    /// The end to write to.
    pub into: OwnedFd,
}

/// The pipes of a worker that are not in use.
pub struct Pipes {
    /// Unused pipes, the large ones first.
    free: VecDeque<Pipe>,
    made: usize,
    large: usize,
    max_large: usize,
    max: usize,
}

/// Capacity of the first pipes in bytes: the most that a user without CAP_SYS_RESOURCE may have
/// (`pipe-max-size`). For a single connection they take a fifth less processor time than small
/// ones.
const LARGE: usize = 1 << 20;
/// Capacity of the other pipes in bytes.
const SMALL: usize = 256 << 10;
/// Number of large pipes: for a few bulk connections at once.
const MAX_LARGE: usize = 8;
/// Maximum number of pipes, more than the usual number of bulk connections that carry data at once.
/// A connection without a pipe copies its data.
const MAX_PIPES: usize = 64;
/// File with the number of pages from which on new pipes of a user without CAP_SYS_RESOURCE are
/// small.
const SOFT_LIMIT: &str = "/proc/sys/fs/pipe-user-pages-soft";

/// Returns the largest number of large pipes, and of all pipes, for `bytes` of capacity. The large
/// ones get half.
fn share(bytes: usize) -> (usize, usize) {
    let large = (bytes / 2 / LARGE).min(MAX_LARGE);
    (large, (large + (bytes - large * LARGE) / SMALL).min(MAX_PIPES))
}

impl Pipes {
    /// Creates the pipes of one of `workers` workers, which together leave half of the allowed
    /// pages to the user.
    pub fn new(workers: usize) -> Pipes {
        let pages = std::fs::read_to_string(SOFT_LIMIT).ok().and_then(|text| text.trim().parse().ok());
        let (max_large, max) = pages
            .filter(|pages| *pages != 0)
            .map_or((MAX_LARGE, MAX_PIPES), |pages: usize| share(pages * 4096 / 2 / workers));
        Pipes { free: VecDeque::new(), made: 0, large: 0, max_large, max }
    }

    /// Returns an empty pipe, unless all are in use.
    pub fn borrow(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.free.pop_front() {
            return Some(pipe);
        }
        if self.made == self.max {
            return None;
        }
        if self.large < self.max_large {
            match make(LARGE) {
                Ok(pipe) => {
                    self.made += 1;
                    self.large += 1;
                    return Some(pipe);
                }
                // The machine allows only smaller pipes.
                Err(_) => self.max_large = self.large,
            }
        }
        match make(SMALL) {
            Ok(pipe) => {
                self.made += 1;
                Some(pipe)
            }
            // There is no room for another pipe, now or later.
            Err(_) => {
                self.max = self.made;
                None
            }
        }
    }

    /// Returns the number of pipes, borrowed ones included.
    pub fn made(&self) -> usize {
        self.made
    }

    /// Returns an empty pipe to the pool.
    pub fn give_back(&mut self, pipe: Pipe) {
        match pipe.capacity {
            LARGE => self.free.push_front(pipe),
            _ => self.free.push_back(pipe),
        }
    }

    /// Notes that a borrowed pipe that was not empty has been closed.
    pub fn lost(&mut self, pipe: &Pipe) {
        self.made -= 1;
        self.large -= usize::from(pipe.capacity == LARGE);
    }
}

fn make(capacity: usize) -> nix::Result<Pipe> {
    let (out, into) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    fcntl(&into, FcntlArg::F_SETPIPE_SZ(capacity as i32))?;
    Ok(Pipe { capacity, out, into })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_stay_within_their_share_of_pages() {
        // Linux's own limit is 16384 pages, of which two workers leave half.
        assert_eq!(share(16 << 20), (8, 40));
        assert_eq!(share(1 << 30), (MAX_LARGE, MAX_PIPES));
        assert_eq!(share(LARGE), (0, 4));
        assert_eq!(share(0), (0, 0));
        for bytes in (0..64 << 20).step_by(100_000) {
            let (large, most) = share(bytes);
            assert!(large <= most && large * LARGE + (most - large) * SMALL <= bytes);
        }
    }

    #[test]
    fn large_pipes_are_used_first_and_reused() {
        let mut pipes = Pipes { free: VecDeque::new(), made: 0, large: 0, max_large: 1, max: 3 };
        let taken: Vec<_> = std::iter::from_fn(|| pipes.borrow()).collect();
        assert_eq!(taken.iter().map(|pipe| pipe.capacity).collect::<Vec<_>>(), [LARGE, SMALL, SMALL]);
        taken.into_iter().rev().for_each(|pipe| pipes.give_back(pipe));
        assert_eq!(pipes.borrow().map(|pipe| pipe.capacity), Some(LARGE));
        // A lost pipe is replaced.
        let small = pipes.borrow().unwrap();
        pipes.lost(&small);
        assert_eq!((pipes.made(), pipes.large), (2, 1));
    }
}
