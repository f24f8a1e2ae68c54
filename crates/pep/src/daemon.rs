//! The serving process. It creates everything that needs privileges, gives them up, and starts the
//! workers.

use crate::config::Config;
use crate::control::{Command, Control};
use crate::error::{Context, Error};
use crate::journal;
use crate::metrics::{self, Counts};
use crate::pipe::Pipes;
use crate::privileges;
use crate::raw::Raw;
use crate::rules::Ports;
use crate::sockets::Settings;
use crate::syn_queue::SynQueue;
use crate::sys;
use crate::worker::{Worker, WorkerParts};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sched::{unshare, CloneFlags};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use serde_json::json;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Descriptors of a worker that belong to no connection: pipes, listeners, and inherited ones.
const OTHER_DESCRIPTORS: u64 = 256;
/// The number of nfnetlink_log groups reserved for workers.
const MAX_WORKERS: usize = 256;

/// The kernel's names of the congestion controls, and whether choosing them needs CAP_NET_ADMIN.
#[derive(Clone, Default)]
pub struct Congestion {
    /// Congestion control towards clients.
    pub client: Option<String>,
    /// Congestion control towards servers.
    pub server: Option<String>,
    /// True if the one towards servers is restricted (net.ipv4.tcp_allowed_congestion_control).
    pub restricted: bool,
}

/// A proxy that is ready to serve.
pub struct Daemon {
    workers: Vec<WorkerParts>,
    metrics: Option<TcpListener>,
    /// Ports at which the workers listen.
    pub ports: Vec<Ports>,
}

/// Returns the number of workers, and of connections that each may have.
fn share(config: &Config, descriptors: u64) -> (usize, usize) {
    let each = (descriptors.saturating_sub(OTHER_DESCRIPTORS) / 2).clamp(16, 1 << 20) as usize;
    // Connections are spread randomly: some workers have more than their share (four standard
    // deviations).
    let room = |workers: usize| {
        let fair = (config.connections as usize).div_ceil(workers);
        if workers == 1 {
            fair
        } else {
            fair + 4 * fair.isqrt()
        }
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let enough = || (processors..MAX_WORKERS).find(|&workers| room(workers) <= each).unwrap_or(MAX_WORKERS);
    let workers = config.workers.map_or_else(enough, |workers| workers as usize);
    (workers, room(workers).min(each))
}

impl Daemon {
    /// Creates everything for which this process may need privileges.
    ///
    /// # Errors
    /// The machine does not allow it.
    pub fn new(config: &Config, congestion: &Congestion, descriptors: u64) -> Result<Daemon, Error> {
        let (count, capacity) = share(config, descriptors);
        journal::info(
            "limits",
            json!({
                "descriptors_of_a_worker": descriptors, "workers": count, "connections_of_a_worker": capacity,
            }),
        );
        if count * capacity < config.connections as usize {
            let text = format!(
                "open files (RLIMIT_NOFILE) are enough for {} connections: more pass by",
                count * capacity
            );
            journal::warn("limits", json!({"text": text}));
        }
        let ipv6 = std::fs::exists("/proc/sys/net/ipv6").unwrap_or(false);
        let settings = Settings::new(config, congestion.client.clone(), congestion.server.clone());
        let mut daemon = Daemon { workers: Vec::new(), metrics: None, ports: Vec::new() };
        for worker in 0..count {
            let mut listeners = vec![settings.listener(false).context("listening at 127.0.0.1")?];
            if ipv6 {
                listeners.push(settings.listener(true).context("listening at ::1")?);
            }
            let port = |socket: &socket2::Socket| Some(socket.local_addr().ok()?.as_socket()?.port());
            let ports: Vec<_> = listeners.iter().filter_map(port).collect();
            daemon.ports.push(Ports { ipv4: ports[0], ipv6: ports.get(1).copied() });
            let group = config.group + worker as u16;
            daemon.workers.push(WorkerParts {
                listeners,
                syn_queue: SynQueue::new(group).context(format!("taking group {group} of nfnetlink_log"))?,
                release: Raw::new(config.mark).context("opening raw sockets")?,
                forward: Raw::new(0).context("opening raw sockets")?,
                settings: settings.clone(),
                capacity,
                pipes: Pipes::new(count),
                idle_timeout: (config.idle_timeout > 0).then_some(config.idle_timeout),
                connect_timeout: config.connect_timeout,
                log_connections: config.log_connections,
                counts: Arc::default(),
                control: Arc::new(Control::new().context("making an eventfd")?),
            });
        }
        if let Some(address) = config.metrics_address()? {
            let listener = TcpListener::bind(address).context(format!("serving metrics at {address}"))?;
            listener.set_nonblocking(true).context("serving metrics")?;
            daemon.metrics = Some(listener);
        }
        let became = privileges::drop_to(&config.user, congestion.restricted)?;
        if !became {
            journal::warn(
                "user",
                json!({"text": format!("{} cannot be had here; only capabilities were dropped", config.user)}),
            );
        }
        // End at once if the parent, which removes the rules, dies. A new start then finds
        // everything free. This must follow the change of user, which resets the setting.
        prctl::set_pdeathsig(Signal::SIGKILL).context("asking to end with the parent")?;
        Ok(daemon)
    }

    /// Serves until SIGTERM, then until the last connection has ended, a second SIGTERM comes, or
    /// `drain_timeout` has passed.
    ///
    /// # Errors
    /// The machine has no more threads, or a worker has failed.
    pub fn serve(self, drain_timeout: Duration) -> Result<(), Error> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGTERM);
        let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .context("waiting for signals")?;
        let counts: Vec<_> = self.workers.iter().map(|parts| parts.counts.clone()).collect();
        let controls: Vec<_> = self.workers.iter().map(|parts| parts.control.clone()).collect();
        let mut threads = Vec::new();
        for (number, parts) in self.workers.into_iter().enumerate() {
            threads.push(start(number, parts).context("starting a worker")?);
        }
        let send_command =
            |command: Command| controls.iter().for_each(|control| control.send_command(command));
        let counts: Vec<&Counts> = counts.iter().map(Arc::as_ref).collect();
        let mut deadline: Option<Instant> = None;
        while !threads.iter().all(JoinHandle::is_finished) {
            if threads.iter().any(JoinHandle::is_finished) && deadline.is_none() {
                // A worker ends alone only by a failure; then the whole proxy ends.
                send_command(Command::Stop);
            }
            let mut watched = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
            watched.extend(
                self.metrics.as_ref().map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN)),
            );
            let _ = poll(&mut watched, PollTimeout::from(if deadline.is_some() { 20_u16 } else { 1000 }));
            if let Some(listener) = &self.metrics {
                metrics::answer(listener, &counts);
            }
            while let Ok(Some(_)) = signals.read_signal() {
                let again = deadline.is_some();
                deadline = deadline.or(Some(Instant::now() + drain_timeout));
                send_command(if again { Command::Stop } else { Command::Drain });
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                send_command(Command::Stop);
            }
        }
        let ends = threads.into_iter().map(|thread| {
            let end = thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a worker panicked")));
            end.context("serving")
        });
        ends.collect()
    }
}

fn start(number: usize, parts: WorkerParts) -> std::io::Result<JoinHandle<std::io::Result<()>>> {
    thread::Builder::new().name(format!("worker{number}")).spawn(move || {
        // The worker gets its own table of descriptors, and with it its own limit.
        unshare(CloneFlags::CLONE_FILES)?;
        sys::close_all_but(parts.descriptors())?;
        Worker::new(parts)?.run()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_workers_follows_from_the_descriptor_limit() {
        let config = |connections, workers| Config { connections, workers, ..Config::default() };
        // 20 000 descriptors suffice for 9 872 connections; 10 workers would leave no margin for
        // uneven spreading.
        let (workers, room) = share(&config(100_000, None), 20_000);
        assert!(workers == 11.max(thread::available_parallelism().unwrap().get()));
        assert!(workers * room >= 100_000 && room <= 9_872);
        assert_eq!(share(&config(1_000_000, None), 1024).0, 256);
        assert_eq!(share(&config(100, Some(1)), 20_000), (1, 100));
        // Fewer workers than needed mean fewer connections.
        assert_eq!(share(&config(100_000, Some(1)), 1024), (1, 384));
    }
}
