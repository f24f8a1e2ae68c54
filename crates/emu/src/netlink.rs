//! What the kernel lets only rtnetlink(7) do in a user namespace of our own: the ioctl for it asks for root.

use nix::sys::socket::{recv, send, socket, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType};
use std::io;
use std::os::fd::AsRawFd;

/// Sets how many packets may wait in interface number `index` of this thread's namespace.
pub fn set_queue(index: u32, packets: u32) -> io::Result<()> {
    let mut request = Vec::with_capacity(40);
    // nlmsghdr: length, type, flags, sequence number, port.
    request.extend(40u32.to_ne_bytes());
    request.extend(libc::RTM_NEWLINK.to_ne_bytes());
    request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
    request.extend([0; 8]);
    // ifinfomsg: family, padding, device type, index, flags, changed flags.
    request.extend([0; 4]);
    request.extend(index.to_ne_bytes());
    request.extend([0; 8]);
    // rtattr: length, type, value.
    request.extend(8u16.to_ne_bytes());
    request.extend(libc::IFLA_TXQLEN.to_ne_bytes());
    request.extend(packets.to_ne_bytes());
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
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
