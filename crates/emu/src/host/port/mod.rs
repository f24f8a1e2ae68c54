//! Paths between the engine and a real host.

pub mod memory;
pub mod tun;
pub mod tunnel;
mod unfinished;

use crate::path::Path;
use std::io;
use std::os::fd::BorrowedFd;

/// A way by which whole network-layer packets come and go.
pub trait Port: Send {
    /// Returns the next packet from the host into `buffer`, which is long enough for any: its
    /// length, or `None` when there is none at present.
    ///
    /// # Errors
    /// The path is broken for good.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Hands a packet to the host; `false` if the host's side had no room for it.
    ///
    /// # Errors
    /// The path is broken for good.
    fn write(&mut self, packet: &[u8]) -> io::Result<bool>;

    /// Becomes readable when there is something to [`read`](Port::read).
    fn fd(&self) -> BorrowedFd<'_>;

    /// Returns the bytes of the longest packet, if a read or write of [`fd`](Port::fd) moves one
    /// packet, as [`read`](Port::read) and [`write`](Port::write) do.
    fn longest_packet(&self) -> Option<usize> {
        None
    }

    /// Returns the packets that the host's side threw away before the engine could read them, so
    /// far.
    fn lost(&self) -> u64 {
        0
    }

    /// Returns true if what it leads to passes packets on to another port of the network, and is no
    /// host.
    fn relays(&self) -> bool {
        false
    }

    /// What is known of the path to the host, where that leaves this machine.
    fn path(&self) -> Option<&Path> {
        None
    }
}
