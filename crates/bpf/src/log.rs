//! Logs the kernel's connections: reads the records of the tracing program (programs/log.c) from
//! its ring buffer.

use std::io;
use std::time::Duration;

use nix::time::{clock_getres, ClockId};

use crate::bpf::Tracer;
use crate::event::RECORD;
use crate::{available, objects, Event, Unavailable};

/// Default size of the ring in bytes, enough for 100 000 events.
const RING: u32 = 1 << 24;

/// Minimum and maximum size of the ring in bytes. The minimum is a multiple of the page size on
/// every architecture.
const RINGS: (u32, u32) = (1 << 16, 1 << 30);

/// A network namespace whose connections are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Inode number of the namespace's file (`/proc/PID/ns/net`).
    pub inode: u32,
    /// Tag copied into the events of this namespace.
    pub tag: u32,
}

/// A running log; it stops when dropped or when the process exits.
#[derive(Debug)]
pub struct Log {
    tracer: Tracer,
    tick: u64,
}

/// The reason why connections cannot be logged.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// BPF cannot be used here.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// BPF can be used, but the kernel refused the log.
    #[error("the kernel refuses the log of its connections: {0}")]
    Refused(#[source] io::Error),
    /// A running log could not be read.
    #[error("the log of the kernel's connections cannot be read: {0}")]
    Read(#[source] io::Error),
}

impl Log {
    /// Starts to log the connections of at most 4096 network namespaces. Earlier events are not
    /// recorded.
    pub fn start(namespaces: &[Namespace]) -> Result<Log, LogError> {
        Log::with_ring(namespaces, RING)
    }

    /// Like [`Log::start`], with a ring of at least `bytes`: 64 KiB to 1 GiB. An event takes 168
    /// bytes.
    pub fn with_ring(namespaces: &[Namespace], bytes: u32) -> Result<Log, LogError> {
        let bytes = bytes.clamp(RINGS.0, RINGS.1).next_power_of_two();
        let namespaces: Vec<_> =
            namespaces.iter().map(|namespace| (namespace.inode, namespace.tag)).collect();
        match Tracer::start(objects::LOG, &namespaces, bytes) {
            Ok(tracer) => Ok(Log { tracer, tick: tick() }),
            Err(error) => {
                available()?;
                Err(LogError::Refused(error))
            }
        }
    }

    /// Passes pending events to `each` and returns their number. Events of one processor are in
    /// order. If none is pending, waits at most `timeout`; returns early once many events have
    /// arrived, but not after a single one.
    pub fn poll(&mut self, timeout: Duration, each: &mut dyn FnMut(&Event)) -> Result<usize, LogError> {
        let mut count = 0;
        let tick = self.tick;
        let mut read = |record: &[u8]| {
            count += 1;
            each(&Event::read(record, tick));
        };
        self.tracer.poll(timeout, &mut read).map_err(LogError::Read)?;
        Ok(count)
    }

    /// Returns the number of events lost because the ring was full. Poll more often to avoid this.
    pub fn lost(&self) -> Result<u64, LogError> {
        self.tracer.lost().map_err(LogError::Read)
    }

    /// Returns true if the log contains segments of closing connections. This needs a kernel with
    /// CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS; otherwise acknowledgments after a FIN are missing.
    /// Nothing is missing if the sender closes only after all its data is acknowledged.
    pub fn sees_closing(&self) -> bool {
        self.tracer.sees_closing()
    }
}

/// Returns the kernel's tick in nanoseconds: the resolution of its coarse clocks.
fn tick() -> u64 {
    let tick = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).expect("Linux has this clock");
    u64::try_from(tick.tv_nsec()).expect("less than a second")
}

const _: () = assert!(
    RECORD == 160,
    "the documentation of with_ring states the size of an event, including the ring's 8 bytes"
);
