//! Generic netlink: requests to families of the kernel, and messages that the kernel sends without
//! a request.
//!
//! A [message](crate::host::netlink) has a header of the family (command, version) before its
//! attributes. Source: the kernel's documentation, "Introduction to Netlink"
//! (userspace-api/netlink/intro).

use crate::host::netlink::{attribute, message, Attributes};
use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{
    bind, recv, send, setsockopt, socket, sockopt, AddressFamily, MsgFlags, NetlinkAddr, SockFlag,
    SockProtocol, SockType,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The family that lists all families, with its command and attributes.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// Size of the receive buffer in bytes, longer than any message: a frame of 2.3 kbyte and its
/// attributes.
const LONGEST: usize = 32_768;
/// Timeout for an answer in milliseconds. The kernel normally answers before the request's call
/// returns.
const PATIENCE: u16 = 2000;
/// Size of the buffer of messages that wait to be read, in bytes.
const WAITING: usize = 8 << 20;

/// A message that was received.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Number of the message's family.
    pub family: u16,
    /// Command of the message within its family.
    pub command: u8,
    attributes: &'a [u8],
}

impl<'a> Message<'a> {
    /// Returns the value of an attribute.
    pub fn get(&self, kind: u16) -> Option<&'a [u8]> {
        attribute(self.attributes, kind)
    }

    /// Returns the attributes within an attribute.
    pub fn nested(&self, kind: u16) -> Option<Message<'a>> {
        Some(Message { attributes: self.get(kind)?, ..*self })
    }

    /// Returns the value of an attribute that is a number of 32 bits.
    pub fn u32(&self, kind: u16) -> Option<u32> {
        Some(u32::from_ne_bytes(self.get(kind)?.try_into().ok()?))
    }
}

/// A socket of generic netlink.
#[derive(Debug)]
pub struct Socket {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Socket {
    /// Creates a socket of this thread's namespace.
    ///
    /// # Errors
    /// Returns the errors of socket(2).
    pub fn new() -> io::Result<Socket> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkGeneric)?;
        setsockopt(&socket, sockopt::RcvBufForce, &WAITING)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &WAITING))?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Socket { socket, sequence: 0, buffer: vec![0; LONGEST] })
    }

    /// Returns the number of the family with this name.
    ///
    /// # Errors
    /// Returns `NotFound` if this kernel has no such family.
    pub fn family(&mut self, name: &str) -> io::Result<u16> {
        let mut number = None;
        let attributes = Attributes::new().text(FAMILY_NAME, name);
        self.request_for(CONTROL, GET_FAMILY, &attributes, |message| {
            number = message.get(FAMILY_ID).and_then(|id| Some(u16::from_ne_bytes(id.try_into().ok()?)));
        })?;
        number.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Makes a request, and waits until the kernel has completed it. Returns the number in the
    /// answer, which is 0 for most requests.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses the request.
    pub fn request(&mut self, family: u16, command: u8, attributes: &Attributes) -> io::Result<i32> {
        self.request_for(family, command, attributes, |_| {})
    }

    /// Makes a request, and waits until the kernel has completed it. `answer` gets the messages of
    /// the answer.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses the request.
    pub fn request_for(
        &mut self,
        family: u16,
        command: u8,
        attributes: &Attributes,
        mut answer: impl FnMut(&Message<'_>),
    ) -> io::Result<i32> {
        self.sequence += 1;
        self.write(family, command, attributes, (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16)?;
        let mut done = None;
        while done.is_none() {
            let mut waiting = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
            if poll(&mut waiting, PollTimeout::from(PATIENCE))? == 0 {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "generic netlink gave no answer"));
            }
            let sequence = self.sequence;
            self.read(|message| match message {
                Received::Message(message) => answer(&message),
                Received::Done { sequence: of, code } if of == sequence => done = Some(code),
                Received::Done { .. } => {}
            })?;
        }
        match done {
            Some(code) if code < 0 => Err(io::Error::from_raw_os_error(-code)),
            code => Ok(code.unwrap_or_default()),
        }
    }

    /// Makes a request without waiting. A refusal is ignored.
    ///
    /// # Errors
    /// Returns the errors of send(2).
    pub fn tell(&mut self, family: u16, command: u8, attributes: &Attributes) -> io::Result<()> {
        self.sequence += 1;
        self.write(family, command, attributes, libc::NLM_F_REQUEST as u16)
    }

    fn write(&mut self, family: u16, command: u8, attributes: &Attributes, flags: u16) -> io::Result<()> {
        // All families have version 1 so far.
        let message = message(family, flags, self.sequence, &[command, 1, 0, 0], attributes);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        Ok(())
    }

    /// Reads one datagram. Returns true if there was one.
    ///
    /// # Errors
    /// Returns the errors of recv(2), such as `ENOBUFS` after messages were lost.
    pub fn read(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<bool> {
        let length = match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(false),
            other => other?,
        };
        let mut rest = &self.buffer[..length];
        while rest.len() >= 16 {
            let number = |at: usize| u32::from_ne_bytes(rest[at..at + 4].try_into().expect("four bytes"));
            let length = (number(0) as usize).clamp(16, rest.len());
            let kind = u16::from_ne_bytes([rest[4], rest[5]]);
            let body = &rest[16..length];
            if i32::from(kind) == libc::NLMSG_ERROR {
                let code = body
                    .get(..4)
                    .map_or(-libc::EPROTO, |code| i32::from_ne_bytes(code.try_into().expect("four bytes")));
                take(Received::Done { sequence: number(8), code });
            } else if let (true, Some(attributes)) = (i32::from(kind) > libc::NLMSG_OVERRUN, body.get(4..)) {
                take(Received::Message(Message { family: kind, command: body[0], attributes }));
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(true)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A part of a datagram that a socket has read.
#[derive(Clone, Copy, Debug)]
pub enum Received<'a> {
    /// A message of one of the families.
    Message(Message<'a>),
    /// The kernel has completed a request.
    Done {
        /// Sequence number of the request.
        sequence: u32,
        /// Result of the request: a negative error number, or 0 or more for success.
        code: i32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_they_were_written() {
        let inner = Attributes::new().u32(1, 7);
        let written =
            Attributes::new().bytes(3, &[1, 2, 3]).flag(4).text(5, "abcd").nested(6, &inner).u64(7, 1 << 40);
        let message = Message { family: 20, command: 1, attributes: &written.bytes };
        assert_eq!(message.get(3), Some(&[1, 2, 3][..]));
        assert_eq!(message.get(4), Some(&[][..]));
        assert_eq!(message.get(5), Some(&b"abcd\0"[..]));
        let nested = Message { attributes: message.get(6).unwrap(), ..message };
        assert_eq!(nested.u32(1), Some(7));
        assert_eq!(message.nested(6).and_then(|nested| nested.u32(1)), Some(7));
        assert_eq!(message.get(7), Some(&(1_u64 << 40).to_ne_bytes()[..]));
        assert_eq!((message.get(8), message.u32(3)), (None, None));
        // A truncated attribute is ignored.
        let cut = Message { attributes: &written.bytes[..6], ..message };
        assert_eq!(cut.get(3), None);
    }
}
