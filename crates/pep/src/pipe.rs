//! Pipes by which data goes from socket to socket without being copied; borrowed while they hold
//! some.

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
    /// The large ones first.
    free: VecDeque<Pipe>,
    made: usize,
    large: usize,
    most_large: usize,
    most: usize,
}

/// Capacity of the first pipes in bytes, the most that a user without CAP_SYS_RESOURCE may have
/// (`pipe-max-size`). One connection alone is carried with a fifth less processor time than through
/// small ones.
const LARGE: usize = 1 << 20;
/// Capacity of the others.
const SMALL: usize = 256 << 10;
/// A few connections that carry bulk at once.
const MOST_LARGE: usize = 8;
/// More than a loss or two's worth of connections that carry bulk at once; who finds none copies.
const MOST: usize = 64;
/// Pages that the pipes of a user without CAP_SYS_RESOURCE may have before they are made small.
const SOFT_LIMIT: &str = "/proc/sys/fs/pipe-user-pages-soft";

/// Most large pipes, and most pipes, for `bytes` of them. The large ones have half.
fn share(bytes: usize) -> (usize, usize) {
    let large = (bytes / 2 / LARGE).min(MOST_LARGE);
    (large, (large + (bytes - large * LARGE) / SMALL).min(MOST))
}

impl Pipes {
    /// For one of `workers` workers: together they leave the user half of the pages allowed.
    pub fn new(workers: usize) -> Pipes {
        let pages = std::fs::read_to_string(SOFT_LIMIT).ok().and_then(|text| text.trim().parse().ok());
        let (most_large, most) = pages
            .filter(|pages| *pages != 0)
            .map_or((MOST_LARGE, MOST), |pages: usize| share(pages * 4096 / 2 / workers));
        Pipes { free: VecDeque::new(), made: 0, large: 0, most_large, most }
    }

    /// Returns an empty pipe, unless all are in use.
    pub fn borrow(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.free.pop_front() {
            return Some(pipe);
        }
        if self.made == self.most {
            return None;
        }
        if self.large < self.most_large {
            match make(LARGE) {
                Ok(pipe) => {
                    self.made += 1;
                    self.large += 1;
                    return Some(pipe);
                }
                // The machine allows only smaller ones.
                Err(_) => self.most_large = self.large,
            }
        }
        match make(SMALL) {
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
        match pipe.capacity {
            LARGE => self.free.push_front(pipe),
            _ => self.free.push_back(pipe),
        }
    }

    /// Notes that a pipe is gone that was not empty.
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
        // Linux' own limit, 16384 pages, of which two workers leave half.
        assert_eq!(share(16 << 20), (8, 40));
        assert_eq!(share(1 << 30), (MOST_LARGE, MOST));
        assert_eq!(share(LARGE), (0, 4));
        assert_eq!(share(0), (0, 0));
        for bytes in (0..64 << 20).step_by(100_000) {
            let (large, most) = share(bytes);
            assert!(large <= most && large * LARGE + (most - large) * SMALL <= bytes);
        }
    }

    #[test]
    fn large_pipes_are_used_first_and_again() {
        let mut pipes = Pipes { free: VecDeque::new(), made: 0, large: 0, most_large: 1, most: 3 };
        let taken: Vec<_> = std::iter::from_fn(|| pipes.borrow()).collect();
        assert_eq!(taken.iter().map(|pipe| pipe.capacity).collect::<Vec<_>>(), [LARGE, SMALL, SMALL]);
        taken.into_iter().rev().for_each(|pipe| pipes.give_back(pipe));
        assert_eq!(pipes.borrow().map(|pipe| pipe.capacity), Some(LARGE));
        // One that is lost is made again.
        let small = pipes.borrow().unwrap();
        pipes.lost(&small);
        assert_eq!((pipes.made(), pipes.large), (2, 1));
    }
}
