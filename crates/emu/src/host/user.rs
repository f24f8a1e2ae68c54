//! Emulation without root: a user namespace in which this process and the programs that it starts
//! can create networks. They keep their user, and get four capabilities that are valid only inside
//! the namespace.

use crate::host::namespace::Namespace;
use crate::sys;
use nix::sched::{setns, unshare, CloneFlags};
use nix::unistd::{getegid, geteuid};
use std::fs::{self, File};
use std::io;

/// Returns true if this process cannot create networks in its current user namespace.
pub fn needed() -> bool {
    // The cheapest check is an attempt, in a thread that ends with its new namespace.
    Namespace::new().is_err()
}

/// Enters a new user namespace if this process cannot create networks otherwise. Returns true if it
/// did. Call this function before a second thread exists.
///
/// # Errors
/// Returns an error if the kernel does not allow user namespaces (EPERM, ENOSPC), or if a second
/// thread exists (EINVAL).
pub fn enter() -> io::Result<bool> {
    if !needed() {
        return Ok(false);
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // Mapping a user to itself needs no privileges (user_namespaces(7)).
    fs::write("/proc/thread-self/setgroups", "deny")?;
    fs::write("/proc/thread-self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/thread-self/gid_map", format!("{group} {group} 1"))?;
    sys::keep_network_capabilities()?;
    Ok(true)
}

/// Joins the user namespace of process `owner`, unless this process is already in it.
///
/// # Errors
/// Returns an error if the namespace belongs to another user, or if a second thread exists.
pub fn join(owner: u32) -> io::Result<()> {
    let theirs = format!("/proc/{owner}/ns/user");
    if fs::read_link(&theirs)? == fs::read_link("/proc/self/ns/user")? {
        return Ok(());
    }
    setns(File::open(theirs)?, CloneFlags::CLONE_NEWUSER)?;
    sys::keep_network_capabilities()
}
