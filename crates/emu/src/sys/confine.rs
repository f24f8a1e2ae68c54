//! Limits on the access of a guest's kernel to this machine. The kernel is a process like others,
//! and root in the guest controls it completely. So it may write only below one folder, and has no
//! network and no other processes.

use super::fence;
use nix::errno::Errno;
use nix::mount::{mount, MsFlags};
use nix::sched::{sched_setaffinity, unshare, CloneFlags, CpuSet};
use nix::unistd::{getegid, geteuid, Pid};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Attribute that makes a mount read-only (<linux/mount.h>).
const MOUNT_ATTR_RDONLY: u64 = 1;

/// A memory folder that only the process sees and that ends with the process, with its contents at
/// the start.
pub struct Scratch<'a> {
    /// The folder on which the memory is mounted.
    pub place: &'a Path,
    /// Name and text of a file in it.
    pub note: (&'a str, &'a str),
    /// Symbolic links in it: their names and the absolute paths to which they point.
    pub links: &'a BTreeMap<String, PathBuf>,
}

/// The restricted environment of a process, prepared before the fork so that nothing is allocated
/// after it.
pub struct Confinement {
    writable: CString,
    scratch: CString,
    /// The path of a file, and its text.
    note: (CString, CString),
    /// The paths of symbolic links and of their targets.
    links: Vec<(CString, CString)>,
    /// Contents of uid_map and gid_map, if a user namespace is needed.
    user: Option<(CString, CString)>,
    /// The processors that the process may use; `None` for all.
    processors: Option<CpuSet>,
}

impl Confinement {
    /// Creates a confinement. The process can write below `writable` and to `scratch`; everything
    /// else is read-only, and there is no network.
    pub fn new(writable: &Path, scratch: &Scratch<'_>, own_user: bool) -> io::Result<Confinement> {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from);
        let own = |number: u32| CString::new(format!("{number} {number} 1")).map_err(io::Error::from);
        let user = own_user.then(|| Ok::<_, io::Error>((own(geteuid().as_raw())?, own(getegid().as_raw())?)));
        let note = (text(&scratch.place.join(scratch.note.0))?, CString::new(scratch.note.1)?);
        let link = |(name, to): (&String, &PathBuf)| Ok((text(&scratch.place.join(name))?, text(to)?));
        Ok(Confinement {
            writable: text(writable)?,
            scratch: text(scratch.place)?,
            note,
            links: scratch.links.iter().map(link).collect::<io::Result<_>>()?,
            user: user.transpose()?,
            processors: None,
        })
    }

    /// Returns the same confinement, limited to these processors if they are given.
    pub fn on(self, processors: Option<CpuSet>) -> Confinement {
        Confinement { processors, ..self }
    }

    fn enter(&self) -> nix::Result<()> {
        if let Some(processors) = &self.processors {
            sched_setaffinity(Pid::from_raw(0), processors)?;
        }
        let own = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWIPC;
        match &self.user {
            None => unshare(own)?,
            Some((user, group)) => {
                unshare(own | CloneFlags::CLONE_NEWUSER)?;
                write(c"/proc/self/setgroups", c"deny")?;
                write(c"/proc/self/uid_map", user)?;
                write(c"/proc/self/gid_map", group)?;
            }
        }
        let none: Option<&CStr> = None;
        let writable = self.writable.as_c_str();
        mount(none, c"/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        mount(Some(writable), writable, none, MsFlags::MS_BIND, none)?;
        set_read_only(c"/", true)?;
        set_read_only(writable, false)?;
        mount(Some(c"guest"), self.scratch.as_c_str(), Some(c"tmpfs"), MsFlags::MS_NODEV, none)?;
        write(&self.note.0, &self.note.1)?;
        for (link, to) in &self.links {
            // SAFETY: the call reads two paths, which live until it returns.
            Errno::result(unsafe { libc::symlink(to.as_ptr(), link.as_ptr()) })?;
        }
        // SAFETY: PR_SET_NO_NEW_PRIVS takes numbers and accesses no memory.
        Errno::result(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
        fence::enter()?;
        without_randomness()
    }
}

/// Denies this process and its children the machine's random numbers: `getrandom` fails as if it
/// did not exist. Otherwise a guest's kernel would mix these numbers into its own
/// (arch_get_random_longs of arch/um), and two runs of one scenario would differ. System calls of
/// the guest's programs are not affected, since the guest's kernel intercepts them.
fn without_randomness() -> nix::Result<()> {
    let code = |class: u32, operation: u32, source: u32| (class | operation | source) as u16;
    let answer =
        |value| libc::sock_filter { code: code(libc::BPF_RET, libc::BPF_K, 0), jt: 0, jf: 0, k: value };
    let mut program = [
        // The number of the system call is the first word of a filter's input (seccomp(2)).
        libc::sock_filter { code: code(libc::BPF_LD, libc::BPF_W, libc::BPF_ABS), jt: 0, jf: 0, k: 0 },
        libc::sock_filter {
            code: code(libc::BPF_JMP, libc::BPF_JEQ, libc::BPF_K),
            jt: 0,
            jf: 1,
            k: libc::SYS_getrandom as u32,
        },
        answer(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the call reads the filter and its program, which live until it returns.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) }).map(drop)
}

/// Confines `command` after the fork, and ends it with the thread that starts it.
pub fn prepare(command: &mut Command, confinement: Confinement) {
    // SAFETY: between fork and exec, only system calls are made, on values prepared before. Nothing
    // is allocated, and no lock is taken.
    unsafe {
        command
            .pre_exec(move || confinement.enter().map_err(|error| io::Error::from_raw_os_error(error as i32)))
    };
}

/// Makes all mounts at and below `place` read-only, or the mount at `place` writable.
fn set_read_only(place: &CStr, wanted: bool) -> nix::Result<()> {
    let (set, clear) = if wanted { (MOUNT_ATTR_RDONLY, 0) } else { (0, MOUNT_ATTR_RDONLY) };
    let flags = if wanted { libc::AT_RECURSIVE } else { 0 };
    // struct mount_attr: attr_set, attr_clr, propagation, userns_fd.
    let attributes: [u64; 4] = [set, clear, 0, 0];
    // SAFETY: the call reads a path and a mount_attr, which live until it returns.
    Errno::result(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            place.as_ptr(),
            flags,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    })
    .map(drop)
}

/// Writes a text to a file in one call.
fn write(file: &CStr, text: &CStr) -> nix::Result<()> {
    // SAFETY: the calls read the path and the text, which live until they return.
    unsafe {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC;
        let file = Errno::result(libc::open(file.as_ptr(), flags, 0o600))?;
        let written = Errno::result(libc::write(file, text.as_ptr().cast(), text.count_bytes()));
        libc::close(file);
        match written? as usize == text.count_bytes() {
            true => Ok(()),
            false => Err(Errno::ENOSPC),
        }
    }
}
