//! The sockets of a proxy and their options.

use crate::config::{Accept, Config};
use crate::packet::Flow;
use crate::sys;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

/// Length of the queue of connections, which net.core.somaxconn limits further.
const BACKLOG: i32 = 65_535;
/// Number of connections whose first data may come with the SYN.
const FAST_OPEN_QUEUE: i32 = 1024;
/// Number of keepalive probes before a silent end counts as dead.
const PROBES: u32 = 5;

/// The options of every connection's socket.
#[derive(Clone)]
pub struct Settings {
    /// Congestion control towards clients.
    client_congestion: Option<String>,
    /// Congestion control towards servers.
    server_congestion: Option<String>,
    buffer: Option<u32>,
    keepalive: Option<TcpKeepalive>,
    fast_open: bool,
    early: bool,
}

impl Settings {
    /// Creates the settings, given the kernel's names of the congestion controls.
    pub fn new(
        config: &Config,
        client_congestion: Option<String>,
        server_congestion: Option<String>,
    ) -> Settings {
        let keepalive = (config.keepalive > 0).then(|| {
            TcpKeepalive::new()
                .with_time(Duration::from_secs(config.keepalive.into()))
                .with_interval(Duration::from_secs((config.keepalive / 5).clamp(1, 60).into()))
                .with_retries(PROBES)
        });
        Settings {
            client_congestion,
            server_congestion,
            buffer: config.buffer,
            keepalive,
            fast_open: config.fast_open,
            early: config.accept == Accept::Early,
        }
    }

    fn common(&self, socket: &Socket, congestion: Option<&str>) -> io::Result<()> {
        // Data is forwarded as it came; a sender that wants Nagle's algorithm has already used it.
        socket.set_tcp_nodelay(true)?;
        socket.set_reuse_address(true)?;
        // Urgent data keeps its place in the stream, as RFC 6093 recommends; otherwise the kernel
        // removes it.
        socket.set_out_of_band_inline(true)?;
        if let Some(bytes) = self.buffer {
            // The kernel doubles the value, for its own use.
            socket.set_send_buffer_size(bytes as usize / 2)?;
            socket.set_recv_buffer_size(bytes as usize / 2)?;
        }
        if let Some(name) = congestion {
            socket.set_tcp_congestion(name.as_bytes())?;
        }
        Ok(())
    }

    /// Creates a socket that accepts clients' connections to any address. Accepted sockets inherit
    /// its options. It listens at a local address, so that its port cannot conflict with a
    /// client's.
    pub fn listener(&self, ipv6: bool) -> io::Result<Socket> {
        let address: IpAddr = if ipv6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
        let address = SocketAddr::new(address, 0);
        let socket =
            Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        self.common(&socket, self.client_congestion.as_deref())?;
        self.keep_alive(&socket)?;
        transparent(&socket, ipv6)?;
        socket.bind(&SockAddr::from(address))?;
        if self.fast_open {
            sys::set_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_FASTOPEN, FAST_OPEN_QUEUE)?;
        }
        sys::set_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_SAVE_SYN, 1)?;
        socket.listen(BACKLOG)?;
        Ok(socket)
    }

    /// Makes the kernel probe a silent end. Accepted sockets inherit this; a connecting socket gets
    /// it after a while, since most connections are short.
    pub fn keep_alive(&self, socket: &Socket) -> io::Result<()> {
        self.keepalive.as_ref().map_or(Ok(()), |keepalive| socket.set_tcp_keepalive(keepalive))
    }

    /// Returns a socket that connects to the flow's server in its client's name, without waiting
    /// for the result.
    pub fn connect(&self, flow: &Flow, tos: u8) -> io::Result<Socket> {
        let socket =
            Socket::new(Domain::for_address(flow.server), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        self.common(&socket, self.server_congestion.as_deref())?;
        transparent(&socket, flow.client.is_ipv6())?;
        set_tos(&socket, flow.server.is_ipv6(), tos)?;
        if self.fast_open && self.early {
            sys::set_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, 1)?;
        }
        socket.bind(&SockAddr::from(flow.client))?;
        match socket.connect(&SockAddr::from(flow.server)) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(socket),
        }
    }
}

fn transparent(socket: &Socket, ipv6: bool) -> io::Result<()> {
    match ipv6 {
        false => socket.set_ip_transparent_v4(true),
        true => {
            socket.set_only_v6(true)?;
            socket.set_ip_transparent_v6(true)
        }
    }
}

/// Sets the DSCP (RFC 2474) of a type of service; TCP controls the ECN bits itself.
pub fn set_tos(socket: &Socket, ipv6: bool, tos: u8) -> io::Result<()> {
    const DSCP: u8 = 0xfc;
    match (tos & DSCP, ipv6) {
        (0, _) => Ok(()),
        (tos, false) => socket.set_tos_v4(tos.into()),
        (tos, true) => socket.set_tclass_v6(tos.into()),
    }
}

/// Makes the socket send a reset when it is closed.
pub fn reset_on_close(socket: &Socket) {
    // It can fail only for a descriptor that is no socket.
    let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
}
