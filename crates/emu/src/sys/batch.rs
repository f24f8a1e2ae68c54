//! Many datagrams in one system call.

use bentpipe_stage::packet::datagram::Written;
use nix::errno::Errno;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

/// Maximum number of datagrams in one call.
pub const BATCH: usize = 64;

/// Bytes that a datagram's sender appends to the application's bytes, if there is room for them.
pub const HEAD: usize = 16;

/// Number of bytes of a datagram that are inspected.
const SEEN: usize = 2048;

/// Buffers for the inspected bytes of the datagrams of one call.
pub type Room = [[u8; SEEN]; BATCH];

/// Allocates the buffers that [`receive`] fills.
pub fn room() -> Box<Room> {
    vec![[0; SEEN]; BATCH].into_boxed_slice().try_into().expect("the length is that of the array")
}

/// Buffer for one control message with a `struct timespec`, with the alignment of the header.
type Control = [u64; 8];

/// A datagram to send: the application's bytes, the bytes appended by the sender, and the total
/// length. The remaining bytes are filler.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub written: Written,
    pub head: [u8; HEAD],
    pub size: usize,
}

/// A received datagram: the number of the application's bytes, the bytes after them, the total
/// length, a flag that is true if the inspected part of the rest is zeros, and the time of arrival
/// in nanoseconds of CLOCK_REALTIME.
#[derive(Clone, Copy, Debug, Default)]
pub struct Incoming {
    pub written: usize,
    pub head: [u8; HEAD],
    pub size: usize,
    pub zeros: bool,
    pub stamp: Option<u64>,
}

/// Sends datagrams from the start of `datagrams` on a connected socket, padded from `filler`.
/// Returns the number of sent datagrams.
pub fn send(socket: BorrowedFd<'_>, datagrams: &[Outgoing], filler: &[u8]) -> io::Result<usize> {
    let count = datagrams.len().min(BATCH);
    // SAFETY: both are plain data for which zeros are valid.
    let (mut parts, mut messages): ([[libc::iovec; 3]; BATCH], [libc::mmsghdr; BATCH]) =
        unsafe { (zeroed(), zeroed()) };
    for ((datagram, parts), message) in datagrams.iter().zip(&mut parts).zip(&mut messages) {
        let written = datagram.written.bytes();
        let written = &written[..written.len().min(datagram.size)];
        let head = &datagram.head[..(datagram.size - written.len()).min(HEAD)];
        let rest = &filler[..datagram.size - written.len() - head.len()];
        for (part, bytes) in parts.iter_mut().zip([written, head, rest]) {
            *part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        }
        message.msg_hdr.msg_iov = parts.as_mut_ptr();
        message.msg_hdr.msg_iovlen = parts.len();
    }
    // SAFETY: the call reads `count` messages and what they point to, all of which live until it
    // returns.
    let sent =
        unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count as _, libc::MSG_DONTWAIT) };
    Ok(Errno::result(sent)? as usize)
}

/// Reads waiting datagrams from a socket into the first elements of `into`. Returns their number.
/// The first 2048 bytes of each datagram are copied to `room`. `written` returns the number of a
/// datagram's application bytes.
pub fn receive(
    socket: BorrowedFd<'_>,
    into: &mut [Incoming; BATCH],
    room: &mut Room,
    written: &dyn Fn(&[u8]) -> usize,
) -> io::Result<usize> {
    // SAFETY: all are plain data for which zeros are valid.
    let (mut parts, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
        unsafe { (zeroed(), zeroed()) };
    let mut controls: [Control; BATCH] = [[0; 8]; BATCH];
    for (((bytes, part), message), control) in
        room.iter_mut().zip(&mut parts).zip(&mut messages).zip(&mut controls)
    {
        *part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: SEEN };
        let header = &mut message.msg_hdr;
        header.msg_iov = part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of::<Control>();
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: the call writes to the messages and to what they point to, all of which live until it
    // returns.
    let received =
        unsafe { libc::recvmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), BATCH as _, flags, null_mut()) };
    let received = Errno::result(received)? as usize;
    for ((datagram, message), bytes) in into.iter_mut().zip(&messages).zip(room.iter()).take(received) {
        datagram.size = message.msg_len as usize;
        let seen = &bytes[..datagram.size.min(SEEN)];
        datagram.written = written(seen);
        let seen = &seen[datagram.written..];
        let (head, rest) = seen.split_at(seen.len().min(HEAD));
        datagram.head = [0; HEAD];
        datagram.head[..head.len()].copy_from_slice(head);
        datagram.zeros = rest.iter().all(|byte| *byte == 0);
        datagram.stamp = stamp(&message.msg_hdr);
    }
    Ok(received)
}

/// Returns the timestamp in a datagram's control messages.
fn stamp(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled msg_control, which is live, and set msg_controllen to its
    // length. The macros stay within that length, and a message of this type holds a timespec,
    // which is read without regard to alignment.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(control) = message.as_ref() {
            if (control.cmsg_level, control.cmsg_type) == (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) {
                let time: libc::timespec = libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned();
                return Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            message = libc::CMSG_NXTHDR(header, control);
        }
    }
    None
}
