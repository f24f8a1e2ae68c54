//! Network namespaces without names. They exist as long as one of their file descriptors or
//! processes, so nothing remains after their owner ends, however it ends.

use crate::sys;
use nix::errno::Errno;
use nix::sched::{setns, unshare, CloneFlags};
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};
use nix::sys::stat::fstat;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::thread;

/// A network namespace, open for as long as this value lives.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

/// Returns an IPv4 socket of this thread's namespace, for requests to its interfaces.
pub(crate) fn control_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?)
}

/// Runs `task` in a new thread, which may change its namespace and ends with the task.
fn aside<R: Send>(task: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("namespace".to_owned()).spawn_scoped(scope, task);
        let joined = thread.expect("a thread can be started").join();
        joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Namespace {
    /// Creates a new namespace, with its loopback interface up.
    ///
    /// # Errors
    /// Those of unshare(2): EPERM without CAP_SYS_ADMIN; `QuotaExceeded` when there may be no more
    /// of them.
    pub fn new() -> io::Result<Namespace> {
        aside(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| match error {
                // Disks report the same error when they are full.
                Errno::ENOSPC => {
                    io::Error::new(io::ErrorKind::QuotaExceeded, "no more network namespaces are allowed")
                }
                error => error.into(),
            })?;
            sys::bring_up_loopback(control_socket(AddressFamily::Inet)?.as_fd())?;
            Namespace::current()
        })
    }

    /// Returns this thread's namespace.
    ///
    /// # Errors
    /// /proc is missing.
    pub fn current() -> io::Result<Namespace> {
        Ok(Namespace { file: File::open("/proc/thread-self/ns/net")? })
    }

    /// Returns another handle to the same namespace.
    ///
    /// # Errors
    /// There is no file descriptor left.
    pub fn again(&self) -> io::Result<Namespace> {
        Ok(Namespace { file: self.file.try_clone()? })
    }

    /// Runs `task` inside, in a thread of its own. Sockets and interfaces that it creates belong to
    /// the namespace.
    ///
    /// # Errors
    /// Those of setns(2).
    pub fn within<R: Send>(&self, task: impl FnOnce() -> R + Send) -> io::Result<R> {
        aside(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET)?;
            Ok(task())
        })
    }

    /// Returns the inode number, by which the kernel knows the namespace.
    pub fn inode(&self) -> u64 {
        fstat(self.file.as_fd()).expect("an open file has an inode").st_ino
    }

    /// Returns a path by which processes of the same user can enter the namespace while this
    /// process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Writes a value to a file of `/proc/sys` inside the namespace.
    ///
    /// # Errors
    /// There is no such setting, or the kernel refuses the value.
    pub fn set_sysctl(&self, name: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        self.within(|| std::fs::write(path, value))?
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
