//! A guest as a process of this machine. It can write only to its run's folder, has no network,
//! receives its job, and ends with the process that started it.

use super::hold::Hold;
use super::protocol::{Job, Said, Told, JOB};
use super::watch::{Verdict, Watch};
use crate::error::{Doing, Error as Trouble};
use crate::host::user;
use crate::sys::confine::{Confinement, Scratch};
use crate::sys::{self, Usage};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(100);
/// Time limit for a guest to power off.
const OFF: Duration = Duration::from_secs(10);
/// Number of console lines that are kept for a message.
const KEPT: usize = 12;
/// Location of a guest's memory, in a file system that covers this folder. The path is on the
/// kernel's command line, so it must be the same in every run. /sys is suitable, because no file
/// that a guest needs is below it and each guest mounts its own after its start.
const SCRATCH: &str = "/sys";
/// Name of the file there that contains the guest's [`Job`].
const NOTE: &str = "job";

/// Settings for the start of a guest.
#[derive(Clone, Debug)]
pub struct Start {
    /// Path of the guest's kernel, an executable file.
    pub kernel: PathBuf,
    /// The guest's first process and its arguments, words without spaces. A word that is a name in
    /// `files` is replaced by that file.
    pub init: Vec<String>,
    /// Absolute paths of files of the machine, by the names under which the guest finds them in one
    /// folder. This keeps the paths off the kernel's command line, on which the guest's behaviour
    /// depends.
    pub files: BTreeMap<String, PathBuf>,
    /// Memory limit in megabytes.
    pub memory_mb: u64,
    /// The guest's time of day when it starts, in nanoseconds of Unix time.
    pub epoch: u64,
    /// Words for its kernel's command line: those that this kernel needs, and those of
    /// [`parameters::of`](super::parameters::of).
    pub parameters: Vec<String>,
}

/// The duration of a guest's run.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// Seconds from its start to its end.
    pub wall_seconds: f64,
    /// Processor time of the guest in seconds.
    pub cpu_seconds: f64,
}

/// The error of a guest's run without results.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The guest could not be started.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// The guest reported the reason for a run without results.
    #[error("{message}")]
    Failed {
        /// True if the caller can correct the problem.
        bad_input: bool,
        /// Reason of the failure, as a sentence.
        message: String,
    },
    /// The guest's clock makes no progress.
    #[error(
        "time stands still in the guest because of {}: virtual time passes while all programs wait, and this one does \
         not; use a program that waits (poll, epoll, sleep), or the clock `real`",
        .0.join(" and ")
    )]
    Busy(Vec<String>),
    /// The guest's time stands still without any processor use.
    #[error("the guest did nothing and made no progress for {} s, and was ended{}", .idle.as_secs(), said(.console))]
    Idle {
        /// Time for which no progress was observed.
        idle: Duration,
        /// The last lines of its console.
        console: Vec<String>,
    },
    /// The guest's kernel ended without reporting a result.
    #[error("the guest's kernel ended before its run did{}", said(.console))]
    Ended {
        /// The last lines of its console.
        console: Vec<String>,
    },
}

fn said(console: &[String]) -> String {
    if console.is_empty() {
        return String::new();
    }
    format!("; the last that it said:\n  {}", console.join("\n  "))
}

/// Runs `job` in a new guest. Calls `progress` with the completed fraction about ten times a
/// second; it stops the run by breaking.
///
/// # Errors
/// Returns an error if the machine lacks a required feature, or the guest's own error.
#[allow(clippy::disallowed_methods, reason = "how long it took is real time")]
pub fn run(
    start: &Start,
    job: &Job,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Took, Error> {
    std::fs::create_dir_all(&job.out).doing(format!("making {}", job.out.display()))?;
    let began = Instant::now();
    let mut hold = Hold::new();
    let child = spawn(start, job, hold.as_ref()).doing("starting the guest")?;
    let mut guest = Guest { child, usage: None };
    let input = guest.child.stdin.take().expect("it was asked for");
    let output = guest.child.stdout.take().expect("it was asked for");
    let (tell, told) = mpsc::channel();
    let console = thread::Builder::new()
        .name("console".to_owned())
        .spawn(move || {
            BufReader::new(output).split(b'\n').map_while(Result::ok).try_for_each(|line| tell.send(line))
        })
        .doing("starting the thread that reads the guest's console")?;
    let watch = Watch::new(guest.child.id(), first_process(start).join(" "));
    if let Some(hold) = &mut hold {
        hold.begin(guest.child.id());
    }
    let outcome = converse(input, &told, watch, hold.as_mut(), progress);
    if outcome.is_err() {
        guest.kill();
    }
    let usage = guest.end();
    let _ = console.join();
    outcome?;
    Ok(Took { wall_seconds: began.elapsed().as_secs_f64(), cpu_seconds: usage.cpu_seconds })
}

/// Communicates with the guest until it has reported the end of its run.
fn converse(
    mut input: ChildStdin,
    lines: &Receiver<Vec<u8>>,
    mut watch: Watch,
    mut hold: Option<&mut Hold>,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<(), Error> {
    let mut tell = |text: String| {
        // A guest that has ended is detected below.
        let _ = input.write_all((text + "\n").as_bytes()).and_then(|()| input.flush());
    };
    let mut console = VecDeque::new();
    let (mut done, mut ready, mut stopping) = (0.0, false, false);
    loop {
        match lines.recv_timeout(PROGRESS) {
            Ok(line) => {
                let line = String::from_utf8_lossy(&line);
                match Said::read(&line) {
                    Some(Said::Ready) => {
                        ready = true;
                        watch.progressed();
                    }
                    Some(Said::Progress(fraction)) => {
                        done = fraction;
                        watch.progressed();
                    }
                    Some(Said::Runs { programs, at }) => {
                        if let Some(verdict) = watch.answer(&programs, at) {
                            return Err(ended(verdict, console));
                        }
                    }
                    Some(Said::Done) => return Ok(()),
                    Some(Said::Failed { bad_input, message }) => {
                        return Err(Error::Failed { bad_input, message })
                    }
                    None => {
                        if console.len() == KEPT {
                            console.pop_front();
                        }
                        console.push_back(line.trim_end().to_owned());
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(Error::Ended { console: console.into() }),
        }
        if let Some(hold) = &mut hold {
            hold.look();
        }
        let question = |question| tell(serde_json::to_string(&question).expect("it is plain data"));
        if let Some(verdict) = watch.ask(question) {
            return Err(ended(verdict, console));
        }
        if ready && !stopping && progress(done).is_break() {
            stopping = true;
            tell(serde_json::to_string(&Told::Stop).expect("it is plain data"));
        }
    }
}

fn ended(verdict: Verdict, console: VecDeque<String>) -> Error {
    match verdict {
        Verdict::Busy(programs) => Error::Busy(programs),
        Verdict::Idle(idle) => Error::Idle { idle, console: console.into() },
    }
}

/// The guest's process, which ends with this value.
struct Guest {
    child: Child,
    usage: Option<Usage>,
}

impl Guest {
    /// Waits until the guest has powered off, if it still runs.
    #[allow(clippy::disallowed_methods, reason = "a process of this machine is waited for")]
    fn end(&mut self) -> Usage {
        if let Some(usage) = self.usage {
            return usage;
        }
        let began = Instant::now();
        while began.elapsed() < OFF {
            if let Ok(Some(usage)) = sys::reap(self.child.id(), false) {
                self.usage = Some(usage);
                return usage;
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.kill()
    }

    fn kill(&mut self) -> Usage {
        let _ = self.child.kill();
        let usage = sys::reap(self.child.id(), true).ok().flatten().unwrap_or_default();
        self.usage = Some(usage);
        usage
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.usage.is_none() {
            self.kill();
        }
    }
}

fn spawn(start: &Start, job: &Job, hold: Option<&Hold>) -> io::Result<Child> {
    let said = serde_json::to_string(job).expect("it is plain data");
    let scratch = Scratch { place: Path::new(SCRATCH), note: (NOTE, &said), links: &start.files };
    let mut command = Command::new(&start.kernel);
    command
        .args(command_line(start)?)
        .env_clear()
        .env("TMPDIR", SCRATCH)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let confinement = Confinement::new(&job.out, &scratch, user::needed())?;
    sys::confine::prepare(&mut command, confinement.on(hold.map(Hold::processor)));
    command.spawn()
}

/// Returns the first process and its arguments, with the paths of the files in the guest.
fn first_process(start: &Start) -> Vec<String> {
    let place = |word: &String| match start.files.contains_key(word) {
        true => format!("{SCRATCH}/{word}"),
        false => word.clone(),
    };
    start.init.iter().map(place).collect()
}

/// Returns the words of the kernel's command line. They contain no path of this machine: the kernel
/// derives its first random numbers from the words, and even their length affects the guest's
/// behaviour.
fn command_line(start: &Start) -> io::Result<Vec<String>> {
    let words = first_process(start);
    let (init, arguments) = words.split_first().ok_or_else(|| io::Error::other("no first process"))?;
    let kernel = [
        format!("mem={}M", start.memory_mb),
        "root=/dev/root rootfstype=hostfs rootflags=/ ro".to_owned(),
        // The first process mounts /dev itself.
        "con=null con0=fd:0,fd:1 quiet panic=-1 devtmpfs.mount=0".to_owned(),
        format!("uml_dir={SCRATCH}/ umid=guest"),
        format!("time-travel=inf-cpu time-travel-start={}", start.epoch),
        // Networks create their radios themselves.
        "mac80211_hwsim.radios=0 mac80211_hwsim.support_p2p_device=0".to_owned(),
        start.parameters.join(" "),
        // The kernel passes unknown words to the environment of the first process.
        format!("{JOB}={SCRATCH}/{NOTE}"),
        format!("init={init}"),
        "--".to_owned(),
    ];
    let kernel = kernel.iter().flat_map(|words| words.split_whitespace()).map(str::to_owned);
    Ok(kernel.chain(arguments.iter().cloned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a guest of an installation in `folder`.
    fn installed(folder: &str) -> Start {
        let file = |name: &str| (name.to_owned(), Path::new(folder).join(name));
        Start {
            kernel: Path::new(folder).join("linux"),
            init: ["python", "-I", "first.py"].map(str::to_owned).to_vec(),
            files: [file("python"), file("first.py")].into(),
            memory_mb: 64,
            epoch: 1,
            parameters: vec!["tcp_hybla.rtt0=25".to_owned()],
        }
    }

    #[test]
    fn the_command_line_has_no_path_of_the_machine() {
        let words = command_line(&installed("/home/somebody")).unwrap();
        assert_eq!(words, command_line(&installed("/a \"folder\" elsewhere")).unwrap());
        assert_eq!(words[words.len() - 4..], ["init=/sys/python", "--", "-I", "/sys/first.py"]);
        assert!(words.contains(&"tcp_hybla.rtt0=25".to_owned()));
    }
}
