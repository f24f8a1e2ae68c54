//! Sockets of the kernel's TCP with the settings of a scenario.

use crate::host::namespace::Namespace;
use crate::sys::socket::{self, set_tcp};
use bentpipe_transport::tcp::Config;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{
    accept4, bind, connect, getpeername, setsockopt, socket as new_socket, sockopt, AddressFamily, SockFlag,
    SockType, SockaddrIn,
};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Size of the buffer of datagrams that wait for the driver, in bytes.
const BUFFER: usize = 16 << 20;

/// Settings of the sockets of a flow's end, or of one side of a proxy.
pub struct Sockets {
    /// Namespace of the sockets.
    pub namespace: Namespace,
    /// Settings of the connections.
    pub config: Config,
    congestion: String,
    dscp: u8,
    /// Address of the sockets; connections have further ports.
    pub local: SocketAddrV4,
    /// Address of the other end.
    pub remote: SocketAddrV4,
}

impl Sockets {
    /// Creates the settings for the host `namespace`; `congestion` is the kernel's name.
    pub fn new(
        namespace: Namespace,
        config: &Config,
        congestion: &str,
        dscp: u8,
        local: SocketAddrV4,
        remote: SocketAddrV4,
    ) -> Sockets {
        let (config, congestion) = (config.clone(), congestion.to_owned());
        Sockets { namespace, config, congestion, dscp, local, remote }
    }

    /// Returns the maximum receive window, if it is limited.
    pub fn window(&self) -> Option<i32> {
        let given = self.config.receive_window.filter(|_| !self.config.has_own_window());
        given.map(|window| i32::try_from(window.bytes()).unwrap_or(i32::MAX))
    }

    /// Returns the socket of a connection, in this thread's namespace.
    ///
    /// # Errors
    /// Returns an error if the port is in use, the congestion control is missing, or the kernel
    /// refuses an option.
    pub fn make(&self, port: u16) -> io::Result<OwnedFd> {
        let config = &self.config;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = new_socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
        let named = |what: &str, error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        setsockopt(&socket, sockopt::TcpNoDelay, &!config.nagle)?;
        setsockopt(&socket, sockopt::Ipv4Tos, &(i32::from(self.dscp) << 2))?;
        setsockopt(&socket, sockopt::TcpCongestion, &self.congestion.as_str().into())
            .map_err(|error| named(&format!("congestion control {}", self.congestion), error.into()))?;
        let options = if config.timestamps { 12 } else { 0 };
        let segment = config.segment_size.value() as i32 + options;
        set_tcp(socket.as_fd(), socket::TCP_MAXSEG, segment)
            .map_err(|error| named(&format!("segment size {segment}"), error))?;
        set_tcp(socket.as_fd(), socket::TCP_SYNCNT, config.syn_retries.value().clamp(1, 127) as i32)?;
        // Before 6.15, these two are built into the kernel.
        let _ = set_tcp(socket.as_fd(), socket::TCP_RTO_MAX_MS, (config.rto_max.as_micros() / 1000) as i32);
        let _ =
            set_tcp(socket.as_fd(), socket::TCP_DELACK_MAX_US, config.delayed_ack_timeout.as_micros() as i32);
        if config.pacing {
            socket::pace(socket.as_fd()).map_err(|error| named("pacing", error))?;
        }
        if let Some(window) = self.window() {
            // Small segments each take a kilobyte or two, so the buffer is larger than the window.
            // Without privileges it remains at the 32 MiB of a host's sockets, which the kernel may
            // enlarge.
            let _ = setsockopt(&socket, sockopt::RcvBufForce, &(window.min(i32::MAX / 8) as usize * 4));
            set_tcp(socket.as_fd(), socket::TCP_WINDOW_CLAMP, window)?;
        }
        let local = SocketAddrV4::new(*self.local.ip(), port);
        bind(socket.as_raw_fd(), &SockaddrIn::from(local))
            .map_err(|error| named(&local.to_string(), error.into()))?;
        Ok(socket)
    }
}

/// Creates the UDP socket of a flow's end, in this thread's namespace.
///
/// # Errors
/// Returns an error if the port is in use.
pub fn datagrams(local: SocketAddrV4, remote: SocketAddrV4, dscp: u8) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = new_socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
    setsockopt(&socket, sockopt::Ipv4Tos, &(i32::from(dscp) << 2))?;
    setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &BUFFER))?;
    bind(socket.as_raw_fd(), &SockaddrIn::from(local))
        .map_err(|error| io::Error::new(io::Error::from(error).kind(), format!("{local}: {error}")))?;
    connect(socket.as_raw_fd(), &SockaddrIn::from(remote))?;
    Ok(socket)
}

/// Accepts a connection that waits at a listening socket. Returns the connection and the address of
/// its other end, or `None` if no connection is waiting.
///
/// # Errors
/// Returns an error if there are no more file descriptors.
pub fn accept(listener: &OwnedFd) -> io::Result<Option<(OwnedFd, SocketAddrV4)>> {
    loop {
        match accept4(listener.as_raw_fd(), SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC) {
            Ok(fd) => {
                let socket = crate::sys::owned(fd);
                // A connection without an other end has been reset.
                if let Ok(peer) = getpeername::<SockaddrIn>(socket.as_raw_fd()) {
                    return Ok(Some((socket, peer.into())));
                }
            }
            Err(Errno::EAGAIN) => return Ok(None),
            // The connection was reset before it could be accepted.
            Err(Errno::ECONNABORTED | Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Watches a socket for all events of a connection, once per change. `number` is the number of the
/// events.
///
/// # Errors
/// Returns an error if the kernel is out of memory.
pub fn watch(epoll: &Epoll, socket: BorrowedFd<'_>, number: u64) -> io::Result<()> {
    let events = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
    Ok(epoll.add(socket, EpollEvent::new(events, number))?)
}
