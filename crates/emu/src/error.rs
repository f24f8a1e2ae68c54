//! Errors of setting up an emulation: the attempted step, the system's error, and a remedy.

use std::io;

/// A feature or permission that this machine does not provide.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {cause}{}", remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default())]
pub struct Error {
    /// The attempted step, such as "making a network namespace".
    pub doing: String,
    /// The error that the operating system returned.
    #[source]
    pub cause: io::Error,
    /// The remedy, if one is known.
    pub remedy: Option<&'static str>,
}

/// Adds the attempted step to an error of the system.
pub trait Doing<T> {
    /// Converts the error of a system call, with `doing`, the attempted step.
    ///
    /// # Errors
    /// Returns an error if the call failed.
    fn doing(self, doing: impl Into<String>) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl Into<String>) -> Result<T, Error> {
        self.map_err(|cause| {
            let cause = cause.into();
            Error { doing: doing.into(), remedy: remedy(&cause), cause }
        })
    }
}

fn remedy(cause: &io::Error) -> Option<&'static str> {
    match cause.raw_os_error() {
        None if cause.kind() == io::ErrorKind::QuotaExceeded => {
            Some("raise user.max_net_namespaces and user.max_user_namespaces (sysctl)")
        }
        Some(libc::EPERM) => {
            Some("run as root, or allow user namespaces; `bentpipe machine doctor` says what this machine lacks")
        }
        Some(libc::EACCES) => {
            Some("run as root, or let users open the device (as root: chmod 666 /dev/net/tun); `bentpipe machine doctor` says more")
        }
        Some(libc::EMFILE | libc::ENFILE) => Some("raise the limit of open files (ulimit -n)"),
        Some(libc::ENOSPC | libc::EDQUOT) => Some("make room on the disk, or choose another folder"),
        Some(libc::ENODEV | libc::ENXIO) => {
            Some("load the kernel's module tun (modprobe tun); in a container pass the device on: --device /dev/net/tun")
        }
        Some(libc::EBUSY) => Some("another program has taken that name just now: try again"),
        Some(libc::EADDRINUSE) => Some("another program has it: end that, or choose another port"),
        _ => None,
    }
}
