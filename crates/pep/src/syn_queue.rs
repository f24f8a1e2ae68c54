//! The SYNs that the packet filter holds back for the proxy: nfnetlink_log(7) passes copies, and
//! the rule drops the originals.
//!
//! Message formats: <linux/netfilter/nfnetlink.h> and <linux/netfilter/nfnetlink_log.h>.

use crate::sys;
use nix::sys::socket::{
    bind, recv, send, socket, AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const SUBSYSTEM_LOG: u16 = 4 << 8;
const PACKET: u16 = SUBSYSTEM_LOG;
const CONFIG: u16 = SUBSYSTEM_LOG | 1;
const ATTRIBUTE_COMMAND: u16 = 1;
const ATTRIBUTE_MODE: u16 = 2;
const ATTRIBUTE_PAYLOAD: u16 = 9;
const COMMAND_BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// Longest SYN, including Fast Open's data.
const MAX_SYN: u32 = 2048;
/// Size of the receive buffer in bytes: some thousands of SYNs can wait while the worker is busy.
const RECEIVE_BUFFER: i32 = 4 << 20;

/// The queue of the SYNs for one worker.
pub struct SynQueue {
    socket: OwnedFd,
}

impl SynQueue {
    /// Receives what is logged to `group` of this network namespace. Needs CAP_NET_ADMIN; later
    /// calls do not.
    ///
    /// # Errors
    /// EBUSY: another program has the group.
    pub fn new(group: u16) -> io::Result<SynQueue> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkNetFilter)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        // Only root outside of user namespaces may exceed net.core.rmem_max.
        sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER).or_else(
            |_| sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER),
        )?;
        let syn_queue = SynQueue { socket };
        syn_queue.configure(group, ATTRIBUTE_COMMAND, &[COMMAND_BIND])?;
        let mut mode = MAX_SYN.to_be_bytes().to_vec();
        mode.extend([COPY_PACKET, 0]);
        syn_queue.configure(group, ATTRIBUTE_MODE, &mode)?;
        nix::fcntl::fcntl(&syn_queue.socket, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK))?;
        Ok(syn_queue)
    }

    fn configure(&self, group: u16, attribute: u16, value: &[u8]) -> io::Result<()> {
        let length = 4 + value.len();
        let mut request = Vec::with_capacity(64);
        // nlmsghdr: length, type, flags, sequence number, port; nfgenmsg: family, version, group.
        request.extend((20 + length.next_multiple_of(4) as u32).to_ne_bytes());
        request.extend(CONFIG.to_ne_bytes());
        request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
        request.extend([0; 8]);
        request.extend([libc::AF_UNSPEC as u8, 0]);
        request.extend(group.to_be_bytes());
        request.extend((length as u16).to_ne_bytes());
        request.extend(attribute.to_ne_bytes());
        request.extend(value);
        request.resize(request.len().next_multiple_of(4), 0);
        send(self.socket.as_raw_fd(), &request, MsgFlags::empty())?;
        let mut answer = [0; 1024];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        // nlmsgerr begins with the negative error number.
        match answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(error) => Err(io::Error::from_raw_os_error(-error)),
            None => Err(io::Error::other("nfnetlink_log gave no answer")),
        }
    }

    /// Calls `with` for every packet of the next message, which is read into `buffer`.
    ///
    /// # Errors
    /// WouldBlock if there is none; ENOBUFS if there was no room for some, which are lost.
    pub fn next(&self, buffer: &mut [u8], mut with: impl FnMut(&mut [u8])) -> io::Result<()> {
        let length = recv(self.socket.as_raw_fd(), buffer, MsgFlags::empty())?;
        each(&mut buffer[..length], |kind, message| {
            if kind == PACKET {
                attributes(message, &mut with);
            }
        });
        Ok(())
    }
}

impl AsFd for SynQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Calls `with` for each netlink message, with its type and what follows the header.
fn each(mut bytes: &mut [u8], mut with: impl FnMut(u16, &mut [u8])) {
    while bytes.len() >= 16 {
        let length = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
        if length < 16 || length > bytes.len() {
            return;
        }
        let next = length.next_multiple_of(4).min(bytes.len());
        let (message, rest) = std::mem::take(&mut bytes).split_at_mut(next);
        with(kind, &mut message[16..length]);
        bytes = rest;
    }
}

/// Finds the packet among a message's attributes, which follow nfgenmsg.
fn attributes(message: &mut [u8], with: &mut impl FnMut(&mut [u8])) {
    let mut at = 4;
    while let (Some(length), Some(kind)) = (number16(message, at), number16(message, at + 2)) {
        let end = at + usize::from(length);
        if length < 4 || end > message.len() {
            return;
        }
        if kind == ATTRIBUTE_PAYLOAD {
            with(&mut message[at + 4..end]);
        }
        at = end.next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = vec![0, 0, 0, 0];
        for (kind, value) in attributes {
            body.extend((4 + value.len() as u16).to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        let mut message = (16 + body.len() as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend([0; 10]);
        message.extend(body);
        message
    }

    fn packets(bytes: &mut [u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        each(bytes, |kind, message| {
            if kind == PACKET {
                attributes(message, &mut |packet| found.push(packet.to_vec()));
            }
        });
        found
    }

    #[test]
    fn packets_are_extracted_and_other_messages_ignored() {
        let mut bytes = message(PACKET, &[(1, &[1, 2, 3]), (ATTRIBUTE_PAYLOAD, b"first")]);
        bytes.extend(message(3, &[(ATTRIBUTE_PAYLOAD, b"no packet")]));
        bytes.extend(message(PACKET, &[(ATTRIBUTE_PAYLOAD, b"second!")]));
        assert_eq!(packets(&mut bytes), [b"first".to_vec(), b"second!".to_vec()]);
        // Truncated anywhere, it gives the same result as before or none, and is never read out of
        // bounds.
        for length in 0..bytes.len() {
            assert!(packets(&mut bytes.clone()[..length]).len() <= 2);
        }
    }
}
