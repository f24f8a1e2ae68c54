//! Options and states of sockets that `nix` lacks.

use super::check;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// From <linux/tcp.h>. Kernels have the last two since 6.15, and `libc` lacks some of them.
pub const TCP_MAXSEG: libc::c_int = 2;
pub const TCP_SYNCNT: libc::c_int = 7;
pub const TCP_WINDOW_CLAMP: libc::c_int = 10;
pub const TCP_RTO_MAX_MS: libc::c_int = 44;
pub const TCP_DELACK_MAX_US: libc::c_int = 46;

/// Number of bytes of `struct tcp_info` that are read, more than any kernel provides.
const TCP_INFO_SIZE: usize = 512;

/// Sets a TCP option with a numeric value.
pub fn set_tcp(socket: BorrowedFd<'_>, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let size = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the call reads `size` bytes of `value`, which lives until it returns.
    check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, option, (&raw const value).cast(), size)
    })
}

/// Returns true if this kernel has a TCP option.
pub fn takes(option: libc::c_int) -> bool {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
    let (mut value, mut size): (libc::c_int, _) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    socket.is_ok_and(|socket| {
        let to = (&raw mut value).cast();
        // SAFETY: the call writes at most `size` bytes to `value`; both live until it returns.
        check(unsafe { libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, option, to, &mut size) })
            .is_ok()
    })
}

/// Makes the kernel pace a TCP socket at the socket's own rate, as the queue discipline fq would. A
/// maximum rate enables pacing, so this sets one that is never reached.
pub fn pace(socket: BorrowedFd<'_>) -> io::Result<()> {
    let most = u64::MAX - 1;
    let size = size_of_val(&most) as libc::socklen_t;
    let option = libc::SO_MAX_PACING_RATE;
    // SAFETY: the call reads `size` bytes of `most`, which lives until it returns.
    check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const most).cast(), size)
    })
}

/// Limits the memory of a socket's send buffer, beyond the limit of the machine.
pub fn set_send_memory(socket: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    // The kernel doubles the value (socket(7), SO_SNDBUF).
    let half = libc::c_int::try_from(bytes / 2).unwrap_or(libc::c_int::MAX);
    let size = size_of_val(&half) as libc::socklen_t;
    // SAFETY: the call reads `size` bytes of `half`, which lives until it returns.
    check(unsafe {
        let option = libc::SO_SNDBUFFORCE;
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const half).cast(), size)
    })
}

/// Returns `struct tcp_info` as bytes, and the number of bytes that this kernel filled.
pub fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<([u8; TCP_INFO_SIZE], usize)> {
    let mut bytes = [0u8; TCP_INFO_SIZE];
    let mut size = TCP_INFO_SIZE as libc::socklen_t;
    // SAFETY: the call writes at most `size` bytes to `bytes`; both live until it returns.
    check(unsafe {
        let to = bytes.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &mut size)
    })?;
    Ok((bytes, size as usize))
}

/// Returns the bytes written to a TCP socket that are not yet acknowledged.
pub fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ, which has the number of TIOCOUTQ, writes an int, which lives until the call
    // returns.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) })?;
    Ok(bytes as u64)
}

/// Allows fragmentation of a UDP socket's packets on their path. Otherwise packets longer than the
/// path's MTU would be refused.
pub fn allow_fragments(socket: BorrowedFd<'_>, ipv6: bool) -> io::Result<()> {
    let value = libc::IP_PMTUDISC_DONT;
    let size = size_of_val(&value) as libc::socklen_t;
    let (level, option) = match ipv6 {
        false => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
        true => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER),
    };
    // SAFETY: the call reads `size` bytes of `value`, which lives until it returns.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), size) })
}

/// Returns the number of packets that a socket dropped for lack of room (`sk_drops`).
pub fn drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    /// Number of values that SO_MEMINFO returns (<linux/sock_diag.h>).
    const SK_MEMINFO_VARS: usize = 9;
    const SK_MEMINFO_DROPS: usize = 8;
    let mut values = [0u32; SK_MEMINFO_VARS];
    let mut size = size_of_val(&values) as libc::socklen_t;
    // SAFETY: the call writes at most `size` bytes to `values`; both live until it returns.
    check(unsafe {
        let to = values.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, to, &mut size)
    })?;
    Ok(values[SK_MEMINFO_DROPS])
}
