//! Raw sockets for whole IP packets: return SYNs to the kernel and answer clients.

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};

/// Sockets for whole packets of both versions.
pub struct Raw {
    ipv4: Socket,
    /// The socket for IPv6; `None` on a machine without it.
    ipv6: Option<Socket>,
}

impl Raw {
    /// Opens sockets that send packets with this mark.
    pub fn new(mark: u32) -> io::Result<Raw> {
        let protocol = Some(Protocol::from(libc::IPPROTO_RAW));
        let ipv4 = Socket::new(Domain::IPV4, Type::RAW, protocol)?;
        ipv4.set_ip_transparent_v4(true)?;
        let ipv6 = Socket::new(Domain::IPV6, Type::RAW, protocol)
            .and_then(|socket| socket.set_ip_transparent_v6(true).map(|()| socket))
            .ok();
        for socket in [Some(&ipv4), ipv6.as_ref()].into_iter().flatten() {
            socket.set_nonblocking(true)?;
            socket.set_mark(mark)?;
            // The proxy does not read from it.
            socket.set_recv_buffer_size(0)?;
        }
        Ok(Raw { ipv4, ipv6 })
    }

    /// Returns the open file descriptors.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        [Some(&self.ipv4), self.ipv6.as_ref()].into_iter().flatten().map(AsRawFd::as_raw_fd)
    }

    /// Sends a packet; the kernel routes it by its destination and the mark.
    pub fn send(&self, packet: &[u8], destination: IpAddr) -> io::Result<()> {
        // With IPPROTO_RAW the port is the protocol, which the packet's own header contains.
        let address = SockAddr::from(SocketAddr::new(destination, 0));
        match (destination, &self.ipv6) {
            (IpAddr::V4(_), _) => self.ipv4.send_to(packet, &address),
            (IpAddr::V6(_), Some(ipv6)) => ipv6.send_to(packet, &address),
            (IpAddr::V6(_), None) => return Err(io::Error::other("no IPv6")),
        }
        .map(drop)
    }
}
