//! Emulation without root: a user namespace in which this process may make networks. Programs in hosts run as the user
//! again.

use nix::sched::{setns, unshare, CloneFlags};
use nix::unistd::{getegid, geteuid};
use std::fs::{self, File};
use std::io;
use std::sync::OnceLock;

/// A user's identity: user and group number.
pub type Identity = (u32, u32);

static ORIGINAL: OnceLock<Identity> = OnceLock::new();

/// Who the user was before [`enter`]; `None` when this process has not changed its user namespace.
pub fn original() -> Option<Identity> {
    ORIGINAL.get().copied()
}

/// Enters a user namespace of our own if this process may not make networks otherwise. Says whether it did. Call it
/// before there is a second thread.
///
/// # Errors
/// The kernel does not allow user namespaces (EPERM, ENOSPC), or there is another thread (EINVAL).
pub fn enter() -> io::Result<bool> {
    // The cheapest way to ask is to try, in a thread that ends with what it got.
    if crate::Namespace::new().is_ok() {
        return Ok(false);
    }
    let identity = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    map((0, 0), identity)?;
    let _ = ORIGINAL.set(identity);
    Ok(true)
}

/// Joins the user namespace of process `owner`, if it is another than ours.
///
/// # Errors
/// It belongs to another user, or there is another thread.
pub fn join(owner: u32) -> io::Result<()> {
    let theirs = format!("/proc/{owner}/ns/user");
    if fs::read_link(&theirs)? == fs::read_link("/proc/self/ns/user")? {
        return Ok(());
    }
    let identity = (geteuid().as_raw(), getegid().as_raw());
    setns(File::open(theirs)?, CloneFlags::CLONE_NEWUSER)?;
    let _ = ORIGINAL.set(identity);
    Ok(())
}

/// Says who is who in the user namespace of this thread: `inside` in it is `outside` in its parent.
fn map(inside: Identity, outside: Identity) -> io::Result<()> {
    fs::write("/proc/thread-self/setgroups", "deny")?;
    fs::write("/proc/thread-self/uid_map", format!("{} {} 1", inside.0, outside.0))?;
    fs::write("/proc/thread-self/gid_map", format!("{} {} 1", inside.1, outside.1))
}
