//! Programs that leave nothing behind. Each runs in a PID namespace of its own; when its first
//! process ends, the kernel kills all others in it, including daemons.

use nix::errno::Errno;
use nix::sched::{unshare, CloneFlags};

/// Makes the caller, between fork and exec, the program of a new PID namespace. It becomes three
/// processes: the original, which waits outside and ends with the program's exit code; the first of
/// the namespace, which waits inside; and the program, in which alone this function returns. The
/// first two die with the process that started them.
///
/// As in a shell, the exit code of a program killed by a signal is 128 plus its number.
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
    // SAFETY: this process has one thread, being itself a child before exec, and both processes
    // continue with system calls only.
    let child = Errno::result(unsafe { libc::fork() })?;
    Ok((child != 0).then_some(child))
}

/// Waits for `child` and ends as it does. Signals to the whole group reach only the program.
fn guard(child: libc::pid_t) -> ! {
    // SAFETY: system calls on numbers and on one integer of this function; nothing of the parent's
    // is used any more. Its files are closed, so that a process that waits for their end waits for
    // the program's alone.
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
