//! Packet sockets, for which `nix` has no bind.

use super::check;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockProtocol, SockType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Returns a socket for complete Ethernet frames at interface number `index` of this thread's
/// namespace.
pub fn socket_at(index: u32) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)?;
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the call reads `size` bytes of `address`, which lives until it returns.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) })?;
    Ok(socket)
}
