//! Programs whose processes all end with them. Each program runs in a separate PID namespace. When
//! the first process of the namespace ends, the kernel kills all its other processes, including
//! daemons.

use nix::errno::Errno;
use nix::sched::{unshare, CloneFlags};

/// Makes the caller, between fork and exec, the program of a new PID namespace. The caller becomes
/// three processes: the original, which waits outside and ends with the program's exit code; the
/// first process of the namespace, which waits inside; and the program. The function returns only
/// in the program. The first two processes die with the process that started them.
///
/// As in a shell, the exit code of a program killed by a signal is 128 plus the signal's number.
pub fn enter() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWPID)?;
    die_with_parent()?;
    if let Some(first) = fork()? {
        guard(first);
    }
    die_with_parent()?;
    // SAFETY: getppid accesses no memory. In the new namespace, a parent outside of the namespace
    // is 0; the parent 1 has adopted an orphan.
    if unsafe { libc::getppid() } == 1 {
        return Err(Errno::ECHILD);
    }
    if let Some(program) = fork()? {
        guard(program);
    }
    Ok(())
}

fn die_with_parent() -> nix::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes a number and accesses no memory.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(drop)
}

/// Forks. Returns the child's number in the parent, and `None` in the child.
fn fork() -> nix::Result<Option<libc::pid_t>> {
    // SAFETY: this process has one thread, because it is a child before exec itself. Both processes
    // continue with system calls only.
    let child = Errno::result(unsafe { libc::fork() })?;
    Ok((child != 0).then_some(child))
}

/// Waits for `child`, and ends with its status. Signals to the process group reach only the
/// program.
fn guard(child: libc::pid_t) -> ! {
    // SAFETY: these are system calls on numbers and on one integer of this function. Nothing of the
    // parent is used any more. Its files are closed, so that a process that waits for them to close
    // waits only for the program.
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
