//! The engine's side of a proxy's namespace. It hands SYNs to the proxy's thread, which decides
//! when the kernel gets them.

use crate::host::port::tun::Tun;
use crate::host::port::Port;
use bentpipe_wire::TCP;
use nix::sys::eventfd::EventFd;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddrV4};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

/// A connection by the addresses of its source and its destination.
pub type Key = (SocketAddrV4, SocketAddrV4);

/// A SYN that has arrived at a side of the proxy.
pub struct Syn {
    /// Index of the side at which the SYN has arrived.
    pub side: usize,
    pub key: Key,
    /// The whole packet, with its headers.
    pub packet: Box<[u8]>,
}

/// The connections that the ports and the thread share.
#[derive(Default)]
pub struct Arrived {
    /// The SYNs that the thread has not taken yet.
    pub syns: Vec<Syn>,
    /// The known connections; true if the kernel may get their SYNs.
    pub known: BTreeMap<Key, bool>,
}

/// The way from the ports of a proxy to its thread.
pub struct Inbox {
    pub arrived: Mutex<Arrived>,
    pub event: EventFd,
}

impl Inbox {
    /// Returns the shared connections.
    pub fn open(&self) -> std::sync::MutexGuard<'_, Arrived> {
        self.arrived.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The engine's port to a side of a proxy.
pub struct SidePort {
    tun: Tun,
    side: usize,
    inbox: Arc<Inbox>,
}

impl SidePort {
    /// Creates the port of the side with this index.
    pub fn new(tun: Tun, side: usize, inbox: Arc<Inbox>) -> SidePort {
        SidePort { tun, side, inbox }
    }
}

/// Returns the connection that a packet opens, if it is a SYN without an acknowledgment.
fn opens(packet: &[u8]) -> Option<Key> {
    const FLAGS: u8 = 0x17;
    const SYN: u8 = 0x02;
    let headers =
        bentpipe_wire::read(packet).filter(|headers| headers.protocol == TCP && !headers.fragment)?;
    let flags = packet.get(headers.begin + 13)?;
    let (IpAddr::V4(source), IpAddr::V4(destination)) = (headers.source, headers.destination) else {
        return None;
    };
    let (from, to) = headers.ports.filter(|_| flags & FLAGS == SYN)?;
    Some((SocketAddrV4::new(source, from), SocketAddrV4::new(destination, to)))
}

impl Port for SidePort {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.tun.read(buffer)
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        let Some(key) = opens(packet) else { return self.tun.write(packet) };
        let mut arrived = self.inbox.open();
        match arrived.known.get(&key) {
            Some(true) => {
                drop(arrived);
                self.tun.write(packet)
            }
            // The source has repeated its SYN.
            Some(false) => Ok(true),
            None => {
                arrived.known.insert(key, false);
                arrived.syns.push(Syn { side: self.side, key, packet: packet.into() });
                let _ = self.inbox.event.write(1);
                Ok(true)
            }
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.tun.fd()
    }

    fn lost(&self) -> u64 {
        self.tun.lost()
    }

    fn relays(&self) -> bool {
        true
    }
}
