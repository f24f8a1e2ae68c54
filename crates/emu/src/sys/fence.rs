//! Programs that leave nothing behind: each runs in a PID namespace of its own, which the kernel
//! empties when its first process ends, with daemons and all.

use nix::errno::Errno;
use nix::sched::{unshare, CloneFlags};

/// Makes the caller, between fork and exec, the program of a new PID namespace. Three processes
/// come of it: the one that was, which waits outside and ends with the program's exit code; the
/// namespace's first, which waits inside; and the program, in which alone this returns. The first
/// two die with the process that started them.
///
/// An exit code stands for a signal as with a shell: 128 and its number.
pub fn enter() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWPID)?;
    die_with_parent()?;
    if let Some(first) = fork()? {
        guard(first);
    }
    die_with_parent()?;
    // SAFETY: getppid touches no memory. In the new namespace a parent outside of it is 0; 1 has
    // adopted an orphan.
    if unsafe { libc::getppid() } == 1 {
        return Err(Errno::ECHILD);
    }
    if let Some(program) = fork()? {
        guard(program);
    }
    Ok(())
}

fn die_with_parent() -> nix::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes a number and touches no memory.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(drop)
}

/// Returns the child's number in the parent.
fn fork() -> nix::Result<Option<libc::pid_t>> {
    // SAFETY: this process has one thread, being itself a child before exec, and both go on with
    // system calls only.
    let child = Errno::result(unsafe { libc::fork() })?;
    Ok((child != 0).then_some(child))
}

/// Waits for `child` and ends as it does. Signals to the whole group are for the program alone.
fn guard(child: libc::pid_t) -> ! {
    // SAFETY: system calls on numbers and on one integer of this function; nothing of the parent's
    // is used any more, and its files are closed so that whoever waits for their end waits for the
    // program's alone.
    unsafe {
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::syscall(libc::SYS_close_range, 0u32, u32::MAX, 0u32);
        let mut status = 0;
        loop {
            let ended = libc::waitpid(-1, &mut status, 0);
            if ended == child {
                break;
            }
            if ended < 0 && Errno::last() != Errno::EINTR {
                libc::_exit(255);
            }
        }
        libc::_exit(if libc::WIFEXITED(status) {
            libc::WEXITSTATUS(status)
        } else {
            128 + libc::WTERMSIG(status)
        })
    }
}
