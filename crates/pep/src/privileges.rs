//! The rights of a proxy: no more capabilities than it needs, and as many descriptors as it may
//! have.

use crate::error::{Context, Error};
use caps::{CapSet, Capability, CapsHashSet};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{getrlimit, setrlimit, Resource};
use nix::unistd::{setgroups, setresgid, setresuid, User};
use std::io;

/// Raises the limit of open files as far as possible without CAP_SYS_RESOURCE, and returns the new
/// limit.
pub fn raise_descriptors() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 1024 };
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    }
}

/// Checks that this process may create rules and transparent sockets.
///
/// # Errors
/// It may not.
pub fn check() -> Result<(), Error> {
    let needed = [Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW];
    let has = caps::read(None, CapSet::Effective).unwrap_or_default();
    let missing: Vec<_> = needed.iter().filter(|one| !has.contains(one)).map(ToString::to_string).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other(format!("this process lacks {}: run as root", missing.join(", "))))
            .context("making rules and transparent sockets"),
    }
}

/// Returns the user and the group of the process.
///
/// # Errors
/// There is no such user.
pub fn user(name: &str) -> Result<User, Error> {
    let entry = User::from_name(name).context("looking the user up")?;
    entry.ok_or_else(|| Error::option("--user", name, "there is no such user"))
}

/// Becomes `user`, with only the capabilities for connections in a client's name, and no way to
/// gain others. Returns true if the process became that user: a user namespace may contain only
/// root.
///
/// # Errors
/// There is no such user, or this process lacks the capabilities.
pub fn drop_to(name: &str, network_administration: bool) -> Result<bool, Error> {
    let entry = user(name)?;
    // CAP_NET_RAW: transparent sockets and whole packets; CAP_NET_BIND_SERVICE: clients' ports
    // below 1024.
    let mut kept: CapsHashSet = [Capability::CAP_NET_RAW, Capability::CAP_NET_BIND_SERVICE].into();
    if network_administration {
        kept.insert(Capability::CAP_NET_ADMIN);
    }
    prctl::set_keepcaps(true).context("keeping capabilities")?;
    let group = entry.gid;
    let became = setgroups(&[group])
        .and_then(|()| setresgid(group, group, group))
        .and_then(|()| setresuid(entry.uid, entry.uid, entry.uid));
    let became = match became {
        Ok(()) => true,
        Err(Errno::EINVAL | Errno::EPERM) => false,
        Err(error) => return Err(error).context(format!("becoming {name}")),
    };
    let failed = |error: caps::errors::CapsError| io::Error::other(error.to_string());
    // Inheritable and ambient come first, then effective before permitted, of which it is a subset.
    for (set, kept) in
        [(CapSet::Inheritable, &CapsHashSet::new()), (CapSet::Effective, &kept), (CapSet::Permitted, &kept)]
    {
        caps::set(None, set, kept).map_err(failed).context("dropping capabilities")?;
    }
    prctl::set_no_new_privs().context("giving up privileges to come")?;
    Ok(became)
}
