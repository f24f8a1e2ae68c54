//! Limits on open files for the sockets of many flows.

use crate::error::{Doing, Error};
use nix::errno::Errno;
use nix::sys::resource::{getrlimit, setrlimit, Resource};

/// Maximum number of files that a run opens in addition to the sockets of its flows and the
/// interfaces, which are already open.
const SPARE: u64 = 64;

/// Raises this process's limit of open files by `files`, if necessary.
///
/// # Errors
/// Returns an error if the limit cannot be raised.
pub fn make_room(files: u64) -> Result<(), Error> {
    let doing = "looking at the limit of open files";
    let open = std::fs::read_dir("/proc/self/fd").doing(doing)?.count() as u64;
    let needed = open + files + SPARE;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).doing(doing)?;
    if needed <= soft {
        return Ok(());
    }
    let doing = format!("opening {files} sockets, with {needed} files open in all and {hard} allowed");
    if needed > hard {
        return Err(Errno::EMFILE).doing(doing);
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).doing(doing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_over_the_limit_are_refused_with_numbers() {
        make_room(1).unwrap();
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        if hard < u64::MAX / 2 {
            let text = make_room(hard).unwrap_err().to_string();
            assert!(text.contains(&format!("{hard} allowed")), "{text}");
        }
    }
}
