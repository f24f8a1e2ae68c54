//! The engine's side of a radio. Packets to one other station enter the kernel's Wi-Fi through a
//! packet socket, and packets from that station return through the same socket.
//!
//! The kernel's interface has no back pressure. So at most as many bytes as the socket allows are
//! in transit through the kernel, and further packets wait here, in the network's `queue`.

use super::radio::Radio;
use crate::host::port::Port;
use crate::sys::packet;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{recv, send, setsockopt, sockopt, MsgFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Bytes of an Ethernet header. The kernel's Wi-Fi presents its frames as Ethernet frames.
const HEADER: usize = 14;
/// Types of Ethernet frames with IPv4 and IPv6.
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// The link between two radios in both directions, at one of them.
pub struct RadioPort {
    socket: OwnedFd,
    /// Readable if packets have arrived, or if waiting packets can be sent.
    ready: Epoll,
    own: [u8; 6],
    peer: [u8; 6],
    waiting: VecDeque<Vec<u8>>,
    most: usize,
    /// Number of packets dropped by this queue and by other queues of the station.
    dropped: Arc<AtomicU64>,
    frame: Vec<u8>,
}

impl RadioPort {
    /// Creates the port at `radio`, to the station with the address `peer`. Up to `most` packets
    /// wait, and packets in transit through the kernel may take `bytes` of memory.
    ///
    /// # Errors
    /// Returns the errors of socket(2), such as EPERM without CAP_NET_RAW.
    pub fn new(radio: &Radio, peer: [u8; 6], most: usize, bytes: usize) -> io::Result<RadioPort> {
        let index = radio.index;
        let socket = radio.namespace.within(|| packet::socket_at(index))??;
        // The kernel doubles the number.
        setsockopt(&socket, sockopt::SndBufForce, &(bytes / 2))
            .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &(bytes / 2)))?;
        setsockopt(&socket, sockopt::RcvBufForce, &(8 << 20))
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &(8 << 20)))?;
        let ready = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        ready.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        let own = radio.address;
        Ok(RadioPort {
            socket,
            ready,
            own,
            peer,
            waiting: VecDeque::new(),
            most,
            dropped: Arc::clone(&radio.dropped),
            frame: vec![0; HEADER + 65_536],
        })
    }

    /// Sends waiting packets until the kernel accepts no more.
    fn flush(&mut self) -> io::Result<()> {
        while let Some(frame) = self.waiting.front() {
            match send(self.socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT) {
                Ok(_) => {
                    self.waiting.pop_front();
                }
                Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Watches for room in the kernel if packets wait.
    fn watch(&mut self) -> io::Result<()> {
        let room = if self.waiting.is_empty() { EpollFlags::empty() } else { EpollFlags::EPOLLOUT };
        Ok(self.ready.modify(&self.socket, &mut EpollEvent::new(EpollFlags::EPOLLIN | room, 0))?)
    }
}

impl Port for RadioPort {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if !self.waiting.is_empty() {
            self.flush()?;
            self.watch()?;
        }
        loop {
            let length = match recv(self.socket.as_raw_fd(), &mut self.frame, MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
                other => other?,
            };
            let frame = &self.frame[..length];
            // The socket also receives the packets that the radio sends.
            let wanted = length > HEADER
                && frame[..6] == self.own
                && frame[6..12] == self.peer
                && [IPV4, IPV6].iter().any(|kind| frame[12..14] == *kind);
            if wanted {
                buffer[..length - HEADER].copy_from_slice(&frame[HEADER..]);
                return Ok(Some(length - HEADER));
            }
        }
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        if self.waiting.len() >= self.most {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        }
        let kind = if packet.first().is_some_and(|first| first >> 4 == 6) { IPV6 } else { IPV4 };
        let mut frame = Vec::with_capacity(HEADER + packet.len());
        frame.extend(self.peer);
        frame.extend(self.own);
        frame.extend(kind);
        frame.extend(packet);
        self.waiting.push_back(frame);
        self.flush()?;
        self.watch()?;
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ready.0.as_fd()
    }

    fn relays(&self) -> bool {
        true
    }
}
