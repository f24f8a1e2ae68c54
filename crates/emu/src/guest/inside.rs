//! The guest's first process: creates the few file systems that a run needs, runs its job, and
//! powers the guest off.
//!
//! The guest sees the machine's files read-only, except for the folder of the run. When the console
//! closes, the guest ends.

use super::protocol::{Job, Said, Told, JOB};
use crate::clock::{monotonic, Timing};
use crate::emulate::{emulate_on, Error};
use crate::error::{Doing, Error as Trouble};
use crate::host::namespace::control_socket;
use crate::sys;
use bentpipe_core::Streams;
use bentpipe_engine::scenario::Scenario;
use bentpipe_runs::{OnlyProgress, Options};
use nix::errno::Errno;
use nix::mount::{mount, MsFlags};
use nix::sys::reboot::{reboot, RebootMode};
use nix::sys::socket::AddressFamily;
use nix::sys::termios::{cfmakeraw, tcgetattr, tcsetattr, SetArg};
use nix::unistd::{sethostname, sync};
use std::io::{self, stdin, stdout, BufRead, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

/// Number of progress reports in a run.
const STEPS: f64 = 200.0;
/// Folder for temporary files of programs. It ends with the guest.
const SCRATCH: &str = "/dev/shm";

/// Runs as the guest's first process: reads its job from the console, runs it, and powers the guest
/// off. `load` reads a resolved scenario.
pub fn live(load: &dyn Fn(&str) -> Result<Scenario, String>) -> ! {
    let said = match job() {
        Ok(job) => work(&job, load),
        Err(error) => Said::Failed { bad_input: false, message: error.to_string() },
    };
    say(&said);
    end()
}

/// Powers the guest off immediately.
fn end() -> ! {
    sync();
    let _ = reboot(RebootMode::RB_POWER_OFF);
    // The first process of a running kernel must not end.
    loop {
        thread::park();
    }
}

/// Writes a line to the console.
fn say(said: &Said) {
    let mut console = stdout().lock();
    let _ = console.write_all(said.line().as_bytes()).and_then(|()| console.flush());
}

/// Reads the job, before the guest's own mounts cover its folder.
fn job() -> Result<Job, Trouble> {
    let doing = "reading the guest's job";
    let console = stdin();
    let mut modes = tcgetattr(console.as_fd()).doing(doing)?;
    cfmakeraw(&mut modes);
    tcsetattr(console.as_fd(), SetArg::TCSANOW, &modes).doing(doing)?;
    let place = std::env::var(JOB).map_err(io::Error::other).doing(doing)?;
    let text = std::fs::read(place).doing(doing)?;
    let job = serde_json::from_slice(&text).map_err(io::Error::from).doing(doing)?;
    say(&Said::Ready);
    Ok(job)
}

fn work(job: &Job, load: &dyn Fn(&str) -> Result<Scenario, String>) -> Said {
    let stop = Arc::new(AtomicBool::new(false));
    let failed = |bad_input, message: String| Said::Failed { bad_input, message };
    if let Err(error) = file_systems(&job.out).and_then(|()| listen(Arc::clone(&stop))) {
        return failed(false, error.to_string());
    }
    std::env::set_var("PATH", &job.path);
    std::env::set_var("TMPDIR", SCRATCH);
    let scenario = match load(&job.scenario) {
        Ok(scenario) => scenario,
        Err(message) => return failed(true, message),
    };
    let options = Options {
        seed: None,
        run: job.run,
        command: job.command.clone(),
        allow_commands: job.allow_commands,
        started: job.started.clone(),
        // A query of rows would take time on the guest's clock.
        watched: false,
        pace: None,
    };
    let (seed, run) = options.seeds(&scenario);
    if let Err(error) = randomness(Streams::new(seed, run)) {
        return failed(false, error.to_string());
    }
    let mut told = 0.0;
    let mut progress = |fraction: f64| {
        if fraction - told >= 1.0 / STEPS {
            told = fraction;
            say(&Said::Progress(fraction));
        }
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let mut follow = OnlyProgress(&mut progress);
    match emulate_on(Timing::Virtual, &scenario, &job.scenario, &job.out, &options, &mut follow) {
        Ok(_) => Said::Done,
        Err(error) => failed(matches!(error, Error::NotAllowed(_) | Error::Wifi(_)), error.to_string()),
    }
}

/// Seeds the kernel's random numbers from the random streams of the run, since the kernel has no
/// other source (see `sys::confine`).
fn randomness(streams: Streams) -> Result<(), Trouble> {
    let mut stream = streams.stream("guest");
    let seed = std::array::from_fn(|_| (stream.uniform() * 256.0) as u8);
    let random = std::fs::File::open("/dev/urandom").doing("opening /dev/urandom")?;
    sys::seed_random(random.as_fd(), &seed).doing("seeding the kernel's random numbers")
}

/// Creates the file systems that a run needs, and makes the folder of the run writable.
fn file_systems(out: &Path) -> Result<(), Trouble> {
    let none = None::<&str>;
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", SCRATCH)] {
        if kind == "tmpfs" {
            std::fs::create_dir_all(place).doing(format!("making {place}"))?;
        }
        match mount(Some(kind), place, Some(kind), MsFlags::empty(), none) {
            // The kernel has already mounted some of them.
            Ok(()) | Err(Errno::EBUSY) => {}
            Err(error) => return Err(error).doing(format!("mounting {place}")),
        }
    }
    // A mount may now cover the folder's place.
    std::fs::create_dir_all(out).doing(format!("making {}", out.display()))?;
    mount(Some("none"), out, Some("hostfs"), MsFlags::empty(), Some(out))
        .doing(format!("mounting {}", out.display()))?;
    // The kernel derives lower limits from the size of its memory, which it does not share.
    let limit = "2000000 2000000 2000000";
    std::fs::write("/proc/sys/net/ipv4/tcp_mem", limit).doing("raising the limits of TCP's memory")?;
    sethostname("guest").doing("naming the guest")?;
    let up = || sys::bring_up_loopback(control_socket(AddressFamily::Inet)?.as_fd());
    up().doing("bringing up the loopback interface")
}

/// Starts to handle messages to the guest.
fn listen(stop: Arc<AtomicBool>) -> Result<(), Trouble> {
    let hear = move || {
        // The priority prevails over programs that never wait.
        let _ = sys::real_time_priority(1);
        for line in stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Told::Stop) => stop.store(true, Ordering::Relaxed),
                Ok(Told::WhatRuns) => say(&Said::Runs { programs: what_runs(), at: monotonic() }),
                Err(_) => {}
            }
        }
        // The process that started the guest has ended.
        end()
    };
    let thread = thread::Builder::new().name("console".to_owned()).spawn(hear);
    thread.map(drop).doing("starting the thread that hears the console")
}

/// Returns the programs that are ready to run, except for this one and the kernel's threads.
fn what_runs() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let runs = |number: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        *number != 1 && stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
    };
    let name = |number: u32| {
        let words = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        Some(words.trim().to_owned()).filter(|words| !words.is_empty())
    };
    numbers.filter(runs).filter_map(name).collect()
}
