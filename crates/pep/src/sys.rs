//! The calls to the kernel that have no safe wrapper in `nix` or `socket2`. Nothing else in this
//! crate is unsafe.
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::time::TimeSpec;
use nix::unistd::ForkResult;
use socket2::{SockAddr, Socket};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::time::Duration;

/// Returns the next of these signals, which must be blocked; `None` if none comes in time, or
/// another one interrupts the wait.
pub fn next_signal(signals: &SigSet, limit: Option<Duration>) -> Option<Signal> {
    let limit = limit.map(TimeSpec::from_duration);
    let limit = limit.as_ref().map_or(std::ptr::null(), |limit| std::ptr::from_ref(limit.as_ref()));
    // SAFETY: the kernel reads a set and, if any, a time, which both live until the call returns.
    let number = unsafe { libc::sigtimedwait(signals.as_ref(), std::ptr::null_mut(), limit) };
    Signal::try_from(number).ok()
}

/// Sets an integer option of a socket.
pub fn set_option(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the kernel reads an int that lives until the call returns.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// Returns the headers of the SYN of an accepted connection (TCP_SAVED_SYN); this works only once.
pub fn saved_syn(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which `into` has, and the length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_SAVED_SYN,
            into.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    Errno::result(result).map_err(io::Error::from)?;
    Ok(length as usize)
}

/// Returns the next connection of a listening socket, not blocking, and the address of its other
/// end, which is known even if that end has already reset it.
pub fn accept(listener: &Socket) -> io::Result<(Socket, SockAddr)> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the kernel writes an address of at most the length that `try_init` says and has room
    // for, and the descriptor is new and nobody else's.
    unsafe {
        SockAddr::try_init(|address, length| {
            let fd = libc::accept4(listener.as_raw_fd(), address.cast(), length, flags);
            Errno::result(fd).map(|fd| Socket::from_raw_fd(fd)).map_err(io::Error::from)
        })
    }
}

/// Closes all descriptors of this thread's table except the standard ones and `kept`. Call it only
/// in a thread that has its own table and owns no other descriptors.
pub fn close_all_but(mut kept: Vec<RawFd>) -> io::Result<()> {
    kept.extend([0, 1, 2, RawFd::MAX]);
    kept.sort_unstable();
    for pair in kept.windows(2) {
        let (first, last) = (pair[0] + 1, pair[1] - 1);
        if first <= last {
            // SAFETY: other threads' tables keep what they have, and this thread uses none of
            // these.
            let result = unsafe { libc::close_range(first as u32, last as u32, 0) };
            Errno::result(result)?;
        }
    }
    Ok(())
}

/// Forks. Call it only in a process with one thread.
pub fn fork() -> io::Result<ForkResult> {
    // SAFETY: the caller has a single thread, so no lock is held by a thread that the child lacks.
    unsafe { nix::unistd::fork() }.map_err(io::Error::from)
}

/// Exits at once, without running the clean-up inherited from the parent.
pub fn exit(code: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}
