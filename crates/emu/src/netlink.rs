//! What the kernel lets only rtnetlink(7) do: in a user namespace of our own the ioctl asks for root, or it lacks an option.

use nix::sys::socket::{recv, send, socket, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType};
use std::io;
use std::net::Ipv6Addr;
use std::os::fd::AsRawFd;

/// Sets how many packets may wait in interface number `index` of this thread's namespace.
pub fn set_queue(index: u32, packets: u32) -> io::Result<()> {
    // ifinfomsg: family, padding, device type, index, flags, changed flags.
    let mut body = vec![0; 4];
    body.extend(index.to_ne_bytes());
    body.extend([0; 8]);
    // rtattr: length, type, value.
    body.extend(8u16.to_ne_bytes());
    body.extend(libc::IFLA_TXQLEN.to_ne_bytes());
    body.extend(packets.to_ne_bytes());
    ask(libc::RTM_NEWLINK, 0, &body)
}

/// Gives interface number `index` of this thread's namespace an IPv6 address that programs can use at once: without the
/// search for duplicates, which marks it as tentative until a thread of the kernel has run, and which nobody would answer.
pub fn set_ipv6(index: u32, address: Ipv6Addr, prefix: u8) -> io::Result<()> {
    // ifaddrmsg: family, length of the prefix, flags, scope, index.
    let mut body = vec![libc::AF_INET6 as u8, prefix, (libc::IFA_F_NODAD | libc::IFA_F_PERMANENT) as u8, 0];
    body.extend(index.to_ne_bytes());
    body.extend(20u16.to_ne_bytes());
    body.extend(libc::IFA_LOCAL.to_ne_bytes());
    body.extend(address.octets());
    ask(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body)
}

/// Sends a request and waits for the kernel's answer.
fn ask(kind: u16, flags: i32, body: &[u8]) -> io::Result<()> {
    let mut request = Vec::with_capacity(16 + body.len());
    // nlmsghdr: length, type, flags, sequence number, port.
    request.extend((16 + body.len() as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16).to_ne_bytes());
    request.extend([0; 8]);
    request.extend(body);
    let closes = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, closes, SockProtocol::NetlinkRoute)?;
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut answer = [0; 256];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    // nlmsghdr, then nlmsgerr, which begins with the error's number below zero.
    let error = answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::other("rtnetlink gave no answer")),
    }
}
