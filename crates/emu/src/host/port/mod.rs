//! Paths between the engine and a real host.

pub mod memory;
pub mod tun;
pub mod tunnel;
mod unfinished;

use crate::path::Path;
use std::io;
use std::os::fd::BorrowedFd;

/// A path over which network-layer packets enter and leave the engine.
pub trait Port: Send {
    /// Reads the next packet from the host into `buffer`, which is long enough for any packet.
    /// Returns the packet's length, or `None` if no packet is waiting.
    ///
    /// # Errors
    /// Returns an error if the path is permanently broken.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Passes a packet to the host. Returns `false` if the host's side had no room for the packet.
    ///
    /// # Errors
    /// Returns an error if the path is permanently broken.
    fn write(&mut self, packet: &[u8]) -> io::Result<bool>;

    /// Returns a file descriptor that becomes readable when there is something to
    /// [`read`](Port::read).
    fn fd(&self) -> BorrowedFd<'_>;

    /// Returns the maximum length of a packet in bytes, if one read or write of [`fd`](Port::fd)
    /// transfers one packet as [`read`](Port::read) and [`write`](Port::write) do.
    fn longest_packet(&self) -> Option<usize> {
        None
    }

    /// Returns the number of packets so far that the host's side dropped before the engine could
    /// read them.
    fn lost(&self) -> u64 {
        0
    }

    /// Returns true if the port leads to another port of the network instead of a host.
    fn relays(&self) -> bool {
        false
    }

    /// Returns the measured properties of the path to the host, if the path leaves this machine.
    fn path(&self) -> Option<&Path> {
        None
    }
}
