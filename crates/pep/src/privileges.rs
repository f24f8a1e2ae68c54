//! What a proxy may do: as much as it needs, and as many descriptors as it is allowed.

use crate::error::{Doing, Error};
use caps::{CapSet, Capability, CapsHashSet};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{getrlimit, setrlimit, Resource};
use nix::unistd::{setgroups, setresgid, setresuid, User};
use std::io;

/// Raises the limit of open files as far as it is allowed without CAP_SYS_RESOURCE, and says how far that is.
pub fn raise_descriptors() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 1024 };
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    }
}

/// Becomes `user`, with the capabilities that connections in a client's name need and no others; and with none to gain.
/// Says whether it became that user: in a user namespace there may be none but root.
///
/// # Errors
/// There is no such user, or this process is not root.
pub fn drop_to(user: &str, network_administration: bool) -> Result<bool, Error> {
    let entry = User::from_name(user).doing("looking the user up")?;
    let entry = entry.ok_or_else(|| Error::option("--user", user, "there is no such user"))?;
    // CAP_NET_RAW: transparent sockets and whole packets; CAP_NET_BIND_SERVICE: clients' ports below 1024.
    let mut kept: CapsHashSet = [Capability::CAP_NET_RAW, Capability::CAP_NET_BIND_SERVICE].into();
    if network_administration {
        kept.insert(Capability::CAP_NET_ADMIN);
    }
    prctl::set_keepcaps(true).doing("keeping capabilities")?;
    let group = entry.gid;
    let became = setgroups(&[group])
        .and_then(|()| setresgid(group, group, group))
        .and_then(|()| setresuid(entry.uid, entry.uid, entry.uid));
    let became = match became {
        Ok(()) => true,
        Err(Errno::EINVAL | Errno::EPERM) => false,
        Err(error) => return Err(error).doing(format!("becoming {user}")),
    };
    let failed = |error: caps::errors::CapsError| io::Error::other(error.to_string());
    // Inheritable and ambient first, then effective before permitted, of which it is a part.
    for (set, kept) in
        [(CapSet::Inheritable, &CapsHashSet::new()), (CapSet::Effective, &kept), (CapSet::Permitted, &kept)]
    {
        caps::set(None, set, kept).map_err(failed).doing("dropping capabilities")?;
    }
    prctl::set_no_new_privs().doing("giving up privileges to come")?;
    Ok(became)
}
