//! Programs in hosts: they see the host's network, the names of its hosts, and otherwise what the user sees.

use crate::namespace::Namespace;
use crate::sys::{self, Surroundings};
use crate::user;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

/// A program, and what it sees otherwise than the user.
pub struct Guest {
    /// What to run; its standard streams are the caller's business.
    pub command: Command,
    /// Files that it sees in place of others: what, and where.
    pub files: Vec<(PathBuf, PathBuf)>,
}

impl Guest {
    /// Starts it in `namespace`, calls `started`, and waits. It is killed when this process dies.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(
        mut self,
        namespace: &Namespace,
        started: impl FnOnce(&Child) + Send,
    ) -> io::Result<ExitStatus> {
        // The thread that starts it is the parent whose death it must not survive, so that thread waits for it.
        namespace.within(move || {
            let surroundings = Surroundings::new(&self.files, true)?;
            sys::prepare(&mut self.command, surroundings);
            let mut child = self.command.spawn()?;
            started(&child);
            child.wait()
        })?
    }

    /// Starts it in `namespace`, in a process group and a PID namespace of its own, and has `wait` wait for it. Nothing that it
    /// starts outlives it, and it does not outlive this process.
    ///
    /// # Errors
    /// It cannot be started, or `wait` fails.
    pub(crate) fn run_fenced<R: Send>(
        mut self,
        namespace: &Namespace,
        wait: impl FnOnce(&mut Child) -> io::Result<R> + Send,
    ) -> io::Result<R> {
        namespace.within(move || {
            let surroundings = Surroundings::new(&self.files, false)?.fenced();
            self.command.process_group(0);
            sys::prepare(&mut self.command, surroundings);
            wait(&mut self.command.spawn()?)
        })?
    }

    /// Becomes the program, in the network namespace at `namespace` of the living network whose process is `owner`.
    ///
    /// # Errors
    /// The network has ended, belongs to another user, or the program cannot be started. Returns only then.
    pub fn exec(mut self, owner: u32, namespace: &str) -> io::Error {
        let mut enter = || -> io::Result<()> {
            let file = std::fs::File::open(namespace)?;
            user::join(owner)?;
            nix::sched::setns(&file, nix::sched::CloneFlags::CLONE_NEWNET)?;
            let surroundings = Surroundings::new(&self.files, false)?;
            sys::prepare(&mut self.command, surroundings);
            Ok(())
        };
        match enter() {
            Ok(()) => self.command.exec(),
            Err(error) => error,
        }
    }
}

/// The exit code that a shell gives for a status: 128 and the signal's number for a program that was killed.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
