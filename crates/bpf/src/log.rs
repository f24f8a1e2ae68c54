//! The log of the kernel's connections: the records of the tracing program (programs/log.c), read
//! from its ring.

use std::io;
use std::time::Duration;

use nix::time::{clock_getres, ClockId};

use crate::bpf::Tracer;
use crate::event::RECORD;
use crate::{available, objects, Event, Unavailable};

/// Bytes of the ring, enough for 100 000 events.
const RING: u32 = 1 << 24;

/// Smallest and largest ring that can be requested: a page of every architecture, and what a
/// machine can spare.
const RINGS: (u32, u32) = (1 << 16, 1 << 30);

/// A network namespace whose connections are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// The inode number of its file (`/proc/PID/ns/net`).
    pub inode: u32,
    /// A number that its events carry.
    pub tag: u32,
}

/// A running log; it stops when dropped or when the process exits.
#[derive(Debug)]
pub struct Log {
    tracer: Tracer,
    tick: u64,
}

/// The reason for which there is no log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// BPF cannot be used here.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// BPF can be used, but the kernel refused this.
    #[error("the kernel refuses the log of its connections: {0}")]
    Refused(#[source] io::Error),
    /// A running log could not be read.
    #[error("the log of the kernel's connections cannot be read: {0}")]
    Read(#[source] io::Error),
}

impl Log {
    /// Starts to log the connections of some network namespaces, at most 4096. Only events from now
    /// on are recorded.
    pub fn start(namespaces: &[Namespace]) -> Result<Log, LogError> {
        Log::with_ring(namespaces, RING)
    }

    /// Does the same with a ring of at least `bytes`: 64 KiB to 1 GiB. An event takes 168 bytes.
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

    /// Passes some of the waiting events to `each`, in the order in which they happened on each
    /// processor, and returns their number. Waits at most `timeout` if there are none: returns
    /// early once many events have arrived, but not after a single one.
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

    /// Returns the number of events for which the ring had no room, because it was not read often
    /// enough.
    pub fn lost(&self) -> Result<u64, LogError> {
        self.tracer.lost().map_err(LogError::Read)
    }

    /// Returns true if the kernel shows segments of connections that are closing. If it lets no
    /// program into its functions (it needs CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS),
    /// acknowledgments that come after a FIN are not in the log. A sender that waits until
    /// everything is acknowledged before it closes loses none.
    pub fn sees_closing(&self) -> bool {
        self.tracer.sees_closing()
    }
}

/// Returns the kernel's tick in nanoseconds, which is the resolution of its coarse clocks.
fn tick() -> u64 {
    let tick = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).expect("Linux has this clock");
    u64::try_from(tick.tv_nsec()).expect("less than a second")
}

const _: () =
    assert!(RECORD == 160, "with_ring says how much an event takes, 8 bytes for the ring's own use included");
