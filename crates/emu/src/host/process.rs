//! Programs in hosts. They see the host's network and the names of the network's hosts; everything
//! else is as the user sees it.

use crate::host::namespace::Namespace;
use crate::host::user;
use crate::sys::{self, Surroundings};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time limit of a tool that configures the machine (ip, nft), to which the kernel answers in
/// milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

/// Runs a tool that configures the machine, with `input` on its standard input.
///
/// # Errors
/// Returns an error if the tool cannot be started, if it failed (with its output on standard
/// error), or if it exceeded the time limit and was killed.
pub(crate) fn configure(command: Command, input: &str) -> io::Result<()> {
    configure_within(LIMIT, command, input)
}

fn configure_within(limit: Duration, mut command: Command, input: &str) -> io::Result<()> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let number = Pid::from_raw(child.id() as i32);
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    let (ended, end) = mpsc::channel::<()>();
    let output = thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, move || {
            if end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                let _ = kill(number, Signal::SIGKILL);
            }
        })?;
        let written = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output();
        drop(ended);
        // If the tool has read only a part of the input, its own message is the better reason.
        output.and_then(|output| if output.status.success() { written.map(|()| output) } else { Ok(output) })
    })?;
    let program = command.get_program().to_string_lossy();
    match (output.status.success(), output.status.signal()) {
        (true, _) => Ok(()),
        (_, Some(9)) => Err(io::Error::other(format!("{program} did not end within {} s", limit.as_secs()))),
        _ => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// A program, with the files that are replaced for it.
pub struct Guest {
    /// The program to run. The caller sets its standard streams.
    pub command: Command,
    /// Files that replace others for the program: (replacement, replaced path).
    pub files: Vec<(PathBuf, PathBuf)>,
}

impl Guest {
    /// Starts the program in `namespace`, calls `started`, and waits for the program's end. The
    /// program is killed when this process dies.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub fn run(
        mut self,
        namespace: &Namespace,
        started: impl FnOnce(&Child) + Send,
    ) -> io::Result<ExitStatus> {
        // A program is killed when the thread that started it ends, so this thread waits for the
        // program.
        namespace.within(move || {
            let surroundings = Surroundings::new(&self.files, true)?;
            sys::prepare(&mut self.command, surroundings);
            let mut child = self.command.spawn()?;
            started(&child);
            child.wait()
        })?
    }

    /// Starts the program in `namespace`, in a separate process group and PID namespace, and calls
    /// `wait` to wait for it. All its processes end at the latest with the program or with this
    /// process.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started, or if `wait` fails.
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

    /// Replaces this process by the program, in the network namespace at `namespace` of the running
    /// network with process `owner`.
    ///
    /// # Errors
    /// Returns an error if the network has ended or belongs to another user, or if the program
    /// cannot be started. The function returns only in this case.
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

/// Returns the exit code of a status as in a shell: 128 plus the signal's number for a killed
/// program.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hanging_tool_is_killed() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        assert!(configure(shell("test \"$(cat)\" = asked"), "asked").is_ok());
        let failed = configure(shell("echo why >&2; exit 1"), "").unwrap_err();
        assert_eq!(failed.to_string(), "why");
        let never = configure_within(Duration::from_secs(1), shell("exec sleep 60"), "").unwrap_err();
        assert_eq!(never.to_string(), "sh did not end within 1 s");
    }
}
