//! A port whose other end is a thread of this process. It provides the whole data plane without
//! privileges, for tests and for peers in the same program.

use super::Port;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};

struct Direction {
    packets: Mutex<VecDeque<Vec<u8>>>,
    event: EventFd,
}

impl Direction {
    fn new() -> io::Result<Arc<Direction>> {
        let event = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        Ok(Arc::new(Direction { packets: Mutex::default(), event }))
    }

    fn push(&self, packet: Vec<u8>) {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner).push_back(packet);
        let _ = self.event.write(1);
    }

    fn pop(&self) -> Option<Vec<u8>> {
        let mut packets = self.packets.lock().unwrap_or_else(PoisonError::into_inner);
        let packet = packets.pop_front();
        if packets.is_empty() {
            let _ = self.event.read();
        }
        packet
    }
}

/// The engine's end of a port in memory.
pub struct Memory {
    from_host: Arc<Direction>,
    to_host: Arc<Direction>,
}

/// The host's end of a port in memory.
pub struct Peer {
    from_host: Arc<Direction>,
    to_host: Arc<Direction>,
}

/// Creates both ends of a port.
///
/// # Errors
/// Returns an error if there are no more file descriptors.
pub fn pair() -> io::Result<(Memory, Peer)> {
    let (from_host, to_host) = (Direction::new()?, Direction::new()?);
    let peer = Peer { from_host: Arc::clone(&from_host), to_host: Arc::clone(&to_host) };
    Ok((Memory { from_host, to_host }, peer))
}

impl Peer {
    /// Sends a packet into the network.
    pub fn send(&self, packet: Vec<u8>) {
        self.from_host.push(packet);
    }

    /// Returns the next packet from the network, if one is waiting.
    pub fn receive(&self) -> Option<Vec<u8>> {
        self.to_host.pop()
    }
}

impl AsFd for Peer {
    /// Returns a file descriptor that is readable when a packet is waiting.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.to_host.event.as_fd()
    }
}

impl Port for Memory {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(self.from_host.pop().map(|packet| {
            buffer[..packet.len()].copy_from_slice(&packet);
            packet.len()
        }))
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        self.to_host.push(packet.to_vec());
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.from_host.event.as_fd()
    }
}
