//! The process that creates the rules, waits, and removes them. It keeps its privileges and handles
//! no traffic.

use crate::config::{Accept, Config};
use crate::daemon::{Congestion, Daemon};
use crate::error::{Context, Error};
use crate::journal;
use crate::privileges;
use crate::rules::{Ports, Rules};
use crate::state::State;
use crate::sys;
use nix::sys::signal::{kill, SigSet, Signal};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::{ForkResult, Pid};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::time::{Duration, Instant};

/// Longest time until the proxy's process is ready; it takes milliseconds.
const READY: Duration = Duration::from_secs(30);
/// Time after the drain time-out until the child is killed.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a proxy in this thread's network namespace until SIGTERM or SIGINT. Call it before a second
/// thread exists.
///
/// # Errors
/// The proxy cannot be set up, or has failed.
pub fn run(config: &Config) -> Result<(), Error> {
    config.check()?;
    privileges::user(&config.user)?;
    privileges::check()?;
    let state = State::here()?;
    match state.find()? {
        Some(found) if found.alive => {
            return Err(io::Error::other(format!("process {} runs a proxy in this namespace", found.pid)))
                .context("starting");
        }
        Some(found) => {
            journal::warn(
                "leftovers",
                json!({"text": "removing what a killed proxy left", "pid": found.pid}),
            );
            found.rules.remove()?;
            state.clear()?;
        }
        None => {}
    }
    let descriptors = privileges::raise_descriptors();
    let (congestion, _registered) = congestion(config)?;
    warn_of_settings(config);

    let mut signals = SigSet::empty();
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGCHLD].into_iter().for_each(|signal| signals.add(signal));
    let before =
        signals.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK).context("blocking signals")?;
    let (mut ours, theirs) = UnixStream::pair().context("making a socket")?;
    let own = nix::unistd::getpid();
    let child = match sys::fork().context("starting the proxy's process")? {
        ForkResult::Child => {
            drop(ours);
            sys::exit(serve(config, &congestion, descriptors, own, theirs));
        }
        ForkResult::Parent { child } => child,
    };
    drop(theirs);
    let mut ready_message = String::new();
    ours.set_read_timeout(Some(READY)).context("waiting for the proxy's process")?;
    if ours.read_to_string(&mut ready_message).is_err() {
        let _ = kill(child, Signal::SIGKILL);
        ready_message =
            json!({"error": format!("its process was not ready after {} s", READY.as_secs())}).to_string();
    }
    let end = attend(config, &state, child, &ready_message, &signals);
    let _ = before.thread_set_mask();
    end
}

/// Removes what a proxy left in this thread's network namespace. Returns true if there was
/// something.
///
/// # Errors
/// A proxy runs here, or the machine does not allow it.
pub fn remove() -> Result<bool, Error> {
    let state = State::here()?;
    match state.find()? {
        Some(found) if found.alive => {
            Err(io::Error::other(format!("process {0} runs it: end it first (kill {0})", found.pid)))
                .context("removing the proxy's rules")
        }
        Some(found) => {
            found.rules.remove()?;
            state.clear()?;
            Ok(true)
        }
        // The folder of the records may exist.
        None => state.clear().map(|()| false),
    }
}

/// Runs the child process and returns its exit code.
fn serve(
    config: &Config,
    congestion: &Congestion,
    descriptors: u64,
    supervisor: Pid,
    mut parent: UnixStream,
) -> i32 {
    let prepared = Daemon::new(config, congestion, descriptors);
    // The supervisor may have ended already.
    if nix::unistd::getppid() != supervisor {
        return 1;
    }
    let ready_message = match &prepared {
        Ok(daemon) => json!({"ports": daemon.ports}),
        Err(error) => json!({"error": error.to_string()}),
    };
    let sent = parent.write_all(ready_message.to_string().as_bytes());
    drop(parent);
    let (Ok(daemon), Ok(())) = (prepared, sent) else { return 1 };
    match daemon.serve(Duration::from_secs(config.drain_timeout.into())) {
        Ok(()) => 0,
        Err(error) => {
            journal::log("error", "failed", json!({"text": error.to_string()}));
            1
        }
    }
}

/// Supervises the child from its message on.
fn attend(
    config: &Config,
    state: &State,
    child: Pid,
    ready_message: &str,
    signals: &SigSet,
) -> Result<(), Error> {
    let ready_message: serde_json::Value = serde_json::from_str(ready_message).unwrap_or_default();
    let ports: Option<Vec<Ports>> = serde_json::from_value(ready_message["ports"].clone()).ok();
    let Some(ports) = ports else {
        let _ = waitpid(child, None);
        let reason = ready_message["error"].as_str().unwrap_or("its process ended").to_owned();
        return Err(io::Error::other(reason)).context("setting the proxy up");
    };
    let ipv6 = ports.iter().all(|ports| ports.ipv6.is_some());
    let made = Rules::new(config, ipv6).and_then(|rules| {
        state.write(&rules)?;
        rules.make(config, &ports).inspect_err(|_| drop(rules.remove())).map(|()| rules)
    });
    let rules = match made {
        Ok(rules) => rules,
        Err(error) => {
            let _ = kill(child, Signal::SIGKILL);
            let _ = waitpid(child, None);
            let _ = state.clear();
            return Err(error);
        }
    };
    journal::info("ready", json!({"pid": child.as_raw(), "accept": config.accept}));
    notify("READY=1");
    let limit = Duration::from_secs(config.drain_timeout.into()) + GRACE;
    let status = wait(child, signals, limit, || {
        journal::info(
            "draining",
            json!({"text": "new connections pass by", "seconds": config.drain_timeout}),
        );
        notify("STOPPING=1");
        if let Err(error) = rules.let_pass() {
            journal::warn("rules", json!({"text": error.to_string()}));
        }
    });
    rules.remove()?;
    state.clear()?;
    journal::info("ended", json!({"status": format!("{status:?}")}));
    match status {
        WaitStatus::Exited(_, 0) => Ok(()),
        status => Err(io::Error::other(format!("{status:?}"))).context("the proxy's process broke down"),
    }
}

/// Waits for the child's end. Forwards the termination signal, and kills the child if it has not
/// ended `limit` later.
fn wait(child: Pid, signals: &SigSet, limit: Duration, draining: impl FnOnce()) -> WaitStatus {
    let mut draining = Some(draining);
    let mut deadline: Option<Instant> = None;
    loop {
        match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(nix::errno::Errno::EINTR) => {}
            Ok(status) => return status,
            Err(_) => return WaitStatus::Exited(child, 1),
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if matches!(sys::next_signal(signals, left), Some(Signal::SIGTERM | Signal::SIGINT)) {
            if let Some(draining) = draining.take() {
                draining();
                deadline = Some(Instant::now() + limit);
            }
            let _ = kill(child, Signal::SIGTERM);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let text = format!("the proxy's process did not end within {} s: killed", limit.as_secs());
            journal::warn("killed", json!({"text": text}));
            let _ = kill(child, Signal::SIGKILL);
            deadline = None;
        }
    }
}

/// Returns the kernel's names for the congestion controls; those that the proxy loads exist as long
/// as the returned value.
fn congestion(config: &Config) -> Result<(Congestion, Vec<bentpipe_bpf::Registered>), Error> {
    let list = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default();
    let has = list("tcp_available_congestion_control");
    let mut registered: Vec<(String, bentpipe_bpf::Registered)> = Vec::new();
    let mut name = |option: &'static str, wanted: &Option<String>| -> Result<Option<String>, Error> {
        let Some(wanted) = wanted else { return Ok(None) };
        if has.split_whitespace().any(|name| name == wanted) {
            return Ok(Some(wanted.clone()));
        }
        if let Some((_, ours)) = registered.iter().find(|(name, _)| name == wanted) {
            return Ok(Some(ours.name().to_owned()));
        }
        let ours: Vec<_> = bentpipe_bpf::list().collect();
        if !ours.contains(&wanted.as_str()) {
            let reason =
                format!("the kernel has {}; bentpipe has {}", has.trim().replace(' ', ", "), ours.join(", "));
            return Err(Error::option(option, wanted, reason));
        }
        let control = bentpipe_bpf::register(wanted, &BTreeMap::new(), &bentpipe_bpf::Start::default())
            .map_err(|error| Error::option(option, wanted, error.to_string()))?;
        let name = control.name().to_owned();
        journal::info("congestion", json!({"text": format!("congestion/{wanted}.c is loaded as {name}")}));
        registered.push((wanted.clone(), control));
        Ok(Some(name))
    };
    let client = name("--client-congestion", &config.client_congestion)?;
    let server = name("--server-congestion", &config.server_congestion)?;
    let allowed = list("tcp_allowed_congestion_control");
    let restricted =
        server.as_ref().is_some_and(|name| allowed.split_whitespace().all(|other| other != name));
    let registered = registered.into_iter().map(|(_, control)| control).collect();
    Ok((Congestion { client, server, restricted }, registered))
}

/// Warns about settings of the machine that the proxy depends on but does not change.
fn warn_of_settings(config: &Config) {
    for name in &config.interface {
        if nix::net::if_::if_nametoindex(name.as_str()).is_err() {
            journal::warn(
                "interface",
                json!({"text": format!("there is no interface {name}: nothing arrives on it")}),
            );
        }
    }
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?;
        text.trim().parse::<u32>().ok()
    };
    if read("ip_forward") == Some(0) {
        let text = "net.ipv4.ip_forward is 0: what is not proxied is not forwarded either";
        journal::warn("sysctl", json!({"text": text}));
    }
    if config.fast_open {
        let wanted = if config.accept == Accept::Early { 3 } else { 2 };
        if read("tcp_fastopen").is_some_and(|has| has & wanted != wanted) {
            let text = format!("net.ipv4.tcp_fastopen lacks bits of {wanted}: Fast Open is off");
            journal::warn("sysctl", json!({"text": text}));
        }
    }
}

/// Notifies systemd (sd_notify(3)), if systemd asked for it.
fn notify(state: &str) {
    if let Some(path) = std::env::var_os("NOTIFY_SOCKET") {
        // Nothing depends on its success.
        let _ = UnixDatagram::unbound().and_then(|socket| socket.send_to(state.as_bytes(), path));
    }
}
