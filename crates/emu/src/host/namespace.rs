//! Network namespaces without names. They exist as long as a file descriptor or a process refers to
//! them, so they end with their owner in any case.

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

/// Returns an IPv4 socket in this thread's namespace, for requests to interfaces.
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
    /// Returns the errors of unshare(2): EPERM without CAP_SYS_ADMIN; `QuotaExceeded` if no more
    /// namespaces are allowed.
    pub fn new() -> io::Result<Namespace> {
        aside(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| match error {
                // Full disks report the same error.
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
    /// Returns an error if /proc is missing.
    pub fn current() -> io::Result<Namespace> {
        Ok(Namespace { file: File::open("/proc/thread-self/ns/net")? })
    }

    /// Returns another handle to the same namespace.
    ///
    /// # Errors
    /// Returns an error if there are no more file descriptors.
    pub fn again(&self) -> io::Result<Namespace> {
        Ok(Namespace { file: self.file.try_clone()? })
    }

    /// Runs `task` in the namespace, in a separate thread. Sockets and interfaces that the task
    /// creates belong to the namespace.
    ///
    /// # Errors
    /// Returns the errors of setns(2).
    pub fn within<R: Send>(&self, task: impl FnOnce() -> R + Send) -> io::Result<R> {
        aside(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET)?;
            Ok(task())
        })
    }

    /// Returns the inode number that identifies the namespace in the kernel.
    pub fn inode(&self) -> u64 {
        fstat(self.file.as_fd()).expect("an open file has an inode").st_ino
    }

    /// Returns a path by which processes of the same user can enter the namespace as long as this
    /// process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Writes a value to a file of `/proc/sys` in the namespace.
    ///
    /// # Errors
    /// Returns an error if there is no such setting, or if the kernel refuses the value.
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
