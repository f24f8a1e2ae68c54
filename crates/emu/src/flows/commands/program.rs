//! A program, with its own thread that starts it, waits for it and ends it.

use crate::clock::{monotonic, sleep_until, Clock};
use crate::host::namespace::Namespace;
use crate::host::process::Guest;
use bentpipe_core::{Span, Time};
use nix::sys::signal::{killpg, Signal};
use nix::unistd::Pid;
use std::fs::read_to_string;
use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Interval at which a program is checked for its end.
const LOOK: Span = Span::from_millis(10);
/// Time for a program to end by itself after SIGTERM.
const GRACE: Span = Span::from_millis(1000);
/// Time limit for a server to listen.
const LISTEN: Span = Span::from_millis(2000);

/// A program that is ready to start.
pub struct Program {
    pub guest: Guest,
    pub namespace: Namespace,
}

/// A program that is running or about to start. It ends when this value is dropped.
pub struct Started {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Course>>,
}

/// Start and end in nanoseconds of the monotonic clock, and the manner of the end.
struct Course {
    started: Option<u64>,
    ended: Option<u64>,
    outcome: io::Result<Option<i32>>,
    stopped: bool,
}

/// A program that has ended.
pub struct Ended {
    /// Time at which the program was started, if it was.
    pub started: Option<Time>,
    /// Time at which the program ended by itself; `None` if it was stopped.
    pub at: Option<Time>,
    /// Its exit code, or 128 plus the number of the signal that killed it; `None` if it was stopped
    /// with the run.
    pub code: Option<i32>,
    /// Reason for which the program could not be started, if any.
    pub failure: Option<String>,
}

impl Ended {
    /// Returns the outcome of the program, in words.
    pub fn outcome(&self) -> String {
        match (&self.failure, self.started, self.code) {
            (Some(failure), ..) => format!("could not be started: {failure}"),
            (None, None, _) => "the run ended before its start".to_owned(),
            (None, _, None) => "ended with the run".to_owned(),
            (None, _, Some(code)) => format!("exit code {code}"),
        }
    }
}

impl Program {
    /// Starts the program at once and waits until a new socket listens, or until a time limit.
    pub fn listening(self) -> io::Result<Started> {
        let host = self.namespace.again()?;
        let before = host.within(listeners)?;
        let started = self.start(None)?;
        let until = monotonic() + LISTEN.as_nanos();
        while monotonic() < until && host.within(listeners)? <= before && !started.has_ended() {
            sleep_until(monotonic() + LOOK.as_nanos());
        }
        Ok(started)
    }

    /// Starts the program at `time` of the run.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn start_at(self, clock: Clock, time: Time) -> io::Result<Started> {
        self.start(Some(clock.monotonic_at(time)))
    }

    fn start(self, at: Option<u64>) -> io::Result<Started> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = thread::Builder::new().name("command".to_owned());
        let thread = thread.spawn(move || self.run(at.unwrap_or(0), &seen))?;
        Ok(Started { stop, thread: Some(thread) })
    }

    fn run(self, at: u64, stop: &AtomicBool) -> Course {
        let stopped = || stop.load(Ordering::Relaxed);
        let mut course = Course { started: None, ended: None, outcome: Ok(None), stopped: false };
        while monotonic() < at {
            if stopped() {
                return course;
            }
            sleep_until(at.min(monotonic() + LOOK.as_nanos()));
        }
        course.started = Some(monotonic());
        course.outcome = self.guest.run_fenced(&self.namespace, |child| {
            let mut kill_at = None;
            loop {
                if let Some(status) = child.try_wait()? {
                    return Ok(status.code());
                }
                match kill_at {
                    None if stopped() => {
                        course.stopped = true;
                        signal(child, Signal::SIGTERM);
                        kill_at = Some(monotonic() + GRACE.as_nanos());
                    }
                    Some(time) if monotonic() >= time => signal(child, Signal::SIGKILL),
                    _ => {}
                }
                sleep_until(monotonic() + LOOK.as_nanos());
            }
        });
        course.ended = Some(monotonic());
        course
    }
}

/// Sends a signal to the program's process group. The child has not been waited for, so the kernel
/// has not reused its number.
fn signal(child: &Child, signal: Signal) {
    let _ = killpg(Pid::from_raw(child.id() as i32), signal);
}

impl Started {
    /// Asks the program to end and does not wait for it.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until the program has ended.
    pub fn ended(mut self, clock: Clock) -> Ended {
        let thread = self.thread.take().expect("it is waited for once");
        let course = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let at = |time: Option<u64>| time.map(|time| clock.at(time));
        let itself = !course.stopped && course.outcome.is_ok();
        Ended {
            started: at(course.started.filter(|_| course.outcome.is_ok())),
            at: at(course.ended.filter(|_| itself)),
            code: course.outcome.as_ref().ok().copied().flatten().filter(|_| itself),
            failure: course.outcome.err().map(|error| error.to_string()),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the number of listening sockets of this thread's namespace: TCP in state LISTEN, and UDP
/// without a peer.
fn listeners() -> usize {
    let count = |protocol: &str, state: &str| {
        let table = read_to_string(format!("/proc/thread-self/net/{protocol}")).unwrap_or_default();
        table.lines().skip(1).filter(|line| line.split_whitespace().nth(3) == Some(state)).count()
    };
    count("tcp", "0A") + count("tcp6", "0A") + count("udp", "07") + count("udp6", "07")
}
