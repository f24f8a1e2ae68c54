//! Messages of netlink(7), and the requests for which rtnetlink(7) is needed: in a user namespace
//! the corresponding ioctl requires root, or it lacks an option.
//!
//! A message consists of a header (length, type, flags, sequence number, port), a header of its
//! family, and attributes. Each attribute has its length and type before its value, and is padded
//! to four bytes.

use nix::sys::socket::{recv, send, socket, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType};
use std::io;
use std::net::Ipv6Addr;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of the header of every message.
pub const HEADER: usize = 16;

/// The attributes of a message that is being written.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// All attributes added so far, concatenated as in a message.
    pub bytes: Vec<u8>,
}

impl Attributes {
    /// Starts a message without attributes.
    pub fn new() -> Attributes {
        Attributes::default()
    }

    /// Adds an attribute of this kind whose value is these bytes.
    #[must_use]
    pub fn bytes(mut self, kind: u16, value: &[u8]) -> Attributes {
        self.bytes.extend((4 + value.len() as u16).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// Adds a number of 32 bits.
    #[must_use]
    pub fn u32(self, kind: u16, value: u32) -> Attributes {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// Adds a number of 64 bits.
    #[must_use]
    pub fn u64(self, kind: u16, value: u64) -> Attributes {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// Adds a text with its terminating zero.
    #[must_use]
    pub fn text(self, kind: u16, value: &str) -> Attributes {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.bytes(kind, &bytes)
    }

    /// Adds a flag: an attribute without a value.
    #[must_use]
    pub fn flag(self, kind: u16) -> Attributes {
        self.bytes(kind, &[])
    }

    /// Adds an attribute that contains nested attributes.
    #[must_use]
    pub fn nested(self, kind: u16, inner: &Attributes) -> Attributes {
        self.bytes(kind | libc::NLA_F_NESTED as u16, &inner.bytes)
    }
}

/// Returns the value of the first attribute of this kind in `rest`, a sequence of attributes;
/// `None` if there is none.
pub fn attribute(mut rest: &[u8], kind: u16) -> Option<&[u8]> {
    while rest.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
        let this = u16::from_ne_bytes([rest[2], rest[3]]) & !(libc::NLA_F_NESTED as u16);
        let value = rest.get(4..length)?;
        if this == kind {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

/// Returns a message of type `kind` with the header of its family and its attributes.
pub fn message(kind: u16, flags: u16, sequence: u32, header: &[u8], attributes: &Attributes) -> Vec<u8> {
    let length = HEADER + header.len() + attributes.bytes.len();
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(sequence.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(header);
    message.extend(&attributes.bytes);
    message
}

/// Sets the number of packets that can wait in interface number `index` of this thread's namespace.
pub fn set_queue(index: u32, packets: u32) -> io::Result<()> {
    // ifinfomsg: family, padding, device type, index, flags, changed flags.
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    ask(libc::RTM_NEWLINK, 0, &header, &Attributes::new().u32(libc::IFLA_TXQLEN, packets))
}

/// Gives interface number `index` of this thread's namespace, which must be up, an IPv6 address
/// that programs can use immediately. Duplicate address detection is skipped: it would mark the
/// address as tentative until a kernel thread has run, and no host would answer.
///
/// The kernel drops packets to the address until a kernel thread has added the local route, so this
/// function returns when that route exists.
///
/// # Errors
/// Returns an error if the kernel refuses the address, or has not added the route within 10 s.
#[allow(clippy::disallowed_methods, reason = "a thread of the kernel is waited for")]
pub fn set_ipv6(index: u32, address: Ipv6Addr, prefix: u8) -> io::Result<()> {
    // ifaddrmsg: family, length of the prefix, flags, scope, index.
    let flags = (libc::IFA_F_NODAD | libc::IFA_F_PERMANENT) as u8;
    let mut header = [libc::AF_INET6 as u8, prefix, flags, 0, 0, 0, 0, 0];
    header[4..].copy_from_slice(&index.to_ne_bytes());
    let attributes = Attributes::new().bytes(libc::IFA_LOCAL, &address.octets());
    ask(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &header, &attributes)?;
    let end = Instant::now() + Duration::from_secs(10);
    while !is_local(address)? {
        if Instant::now() > end {
            let message = format!("the kernel has not added the route to its own address {address} in 10 s");
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Returns true if this thread's namespace accepts packets to this address.
fn is_local(address: Ipv6Addr) -> io::Result<bool> {
    // rtmsg: family, lengths of the prefixes, class, table, protocol, scope, type, flags.
    let mut header = [0; 12];
    header[..2].copy_from_slice(&[libc::AF_INET6 as u8, 128]);
    let attributes = Attributes::new().bytes(libc::RTA_DST, &address.octets());
    let answer = exchange(libc::RTM_GETROUTE, 0, &header, &attributes)?;
    let kind = answer.get(4..6).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    // Other answers are errors: the route does not exist yet.
    Ok(kind == Some(libc::RTM_NEWROUTE) && answer.get(HEADER + 7) == Some(&libc::RTN_LOCAL))
}

/// Requests a change, and waits until the kernel has applied it.
fn ask(kind: u16, flags: i32, header: &[u8], attributes: &Attributes) -> io::Result<()> {
    let answer = exchange(kind, libc::NLM_F_ACK | flags, header, attributes)?;
    // The answer is a nlmsghdr followed by a nlmsgerr, which begins with the negative error number.
    let error = answer.get(HEADER..HEADER + 4).and_then(|bytes| bytes.try_into().ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::other("rtnetlink gave no answer")),
    }
}

/// Sends a request, and waits for the first answer of the kernel.
fn exchange(kind: u16, flags: i32, header: &[u8], attributes: &Attributes) -> io::Result<Vec<u8>> {
    let request = message(kind, libc::NLM_F_REQUEST as u16 | flags as u16, 0, header, attributes);
    let closes = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, closes, SockProtocol::NetlinkRoute)?;
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut answer = vec![0; 512];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}
