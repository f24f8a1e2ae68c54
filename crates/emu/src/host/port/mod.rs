//! Paths between the engine and a real host.

pub mod memory;
pub mod tun;
pub mod tunnel;
mod unfinished;

use crate::path::Path;
use std::io;
use std::os::fd::BorrowedFd;

/// A path on which whole network-layer packets come and go.
pub trait Port: Send {
    /// Reads the next packet from the host into `buffer`, which is long enough for any. Returns its
    /// length, or `None` when no packet is waiting.
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

    /// Returns the bytes of the longest packet, if one read or write of [`fd`](Port::fd) moves one
    /// packet, as [`read`](Port::read) and [`write`](Port::write) do.
    fn longest_packet(&self) -> Option<usize> {
        None
    }

    /// Returns the number of packets so far that the host's side dropped before the engine could
    /// read them.
    fn lost(&self) -> u64 {
        0
    }

    /// Returns true if the port leads to another port of the network and not to a host.
    fn relays(&self) -> bool {
        false
    }

    /// Returns the measured properties of the path to the host, if the path leaves this machine.
    fn path(&self) -> Option<&Path> {
        None
    }
}
