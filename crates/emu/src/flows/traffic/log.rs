//! A log of the kernel's TCP, acknowledgment by acknowledgment, in a separate thread: rows of the
//! trace `tcp`, and the statistics of each sender.

use super::rows::Rows;
use crate::clock::Clock;
use bentpipe_bpf::{Event, Log, Namespace, Row, Rows as Connections};
use bentpipe_core::{Probe, Span, Time};
use bentpipe_transport::flow::SourceCounters;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The sockets of a connection: its own address and port, and the other end's.
pub type Sockets = (SocketAddr, SocketAddr);

/// An end of a flow, as seen by the log.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Number of the end, and number of the connection, which identify the statistics.
    pub end: (usize, u16),
    /// The probe of its trace `tcp`.
    pub probe: Option<Probe>,
}

/// The thread that reads the log.
pub struct TcpLog {
    ending: Arc<AtomicBool>,
    thread: JoinHandle<Statistics>,
}

/// Statistics of the senders, by the numbers of their ends.
#[derive(Default)]
pub struct Statistics {
    /// Counters of the senders: round-trip times, retransmissions and time-outs.
    senders: BTreeMap<(usize, u16), SourceCounters>,
    /// Number of events for which the ring had no room.
    pub lost: u64,
    /// Number of rows with an impossible threshold or window that no acknowledgment had corrected.
    pub absurd: u64,
    /// Connections whose last row had such a value, with the acknowledged position at the first
    /// such row.
    suspects: BTreeMap<u64, u64>,
}

/// Minimum threshold or window, in segments, that is considered impossible.
const ABSURD: u32 = 1 << 24;

impl Statistics {
    /// Returns the statistics of a connection of an end.
    pub fn sender(&mut self, end: (usize, u16)) -> &mut SourceCounters {
        self.senders.entry(end).or_default()
    }

    /// Checks a row's threshold and window. A skipped operation is repaired at the next
    /// acknowledgment; until then its wrong result may remain. A threshold with the highest bit set
    /// is indistinguishable from an infinite one, but then the window reveals the error.
    fn look(&mut self, socket: u64, row: &Row) {
        if row.cwnd.max(row.ssthresh.unwrap_or(0)) < ABSURD {
            self.suspects.remove(&socket);
        } else if *self.suspects.entry(socket).or_insert(row.acknowledged) < row.acknowledged {
            self.absurd += 1;
        }
    }

    /// Removes and returns the statistics of all connections of an end.
    pub fn take(&mut self, end: usize) -> SourceCounters {
        let mut all = SourceCounters::default();
        self.senders.range((end, 0)..=(end, u16::MAX)).for_each(|(_, one)| all.merge(one));
        all
    }
}

/// Starts the kernel's log of the connections in the namespaces with these inode numbers. This
/// takes up to a second.
///
/// # Errors
/// Returns the reason, as a sentence, if BPF cannot be used here.
pub fn attach(namespaces: &[u64]) -> Result<Log, String> {
    bentpipe_bpf::available().map_err(|why| why.to_string())?;
    let namespaces: Vec<_> =
        namespaces.iter().map(|inode| Namespace { inode: *inode as u32, tag: 0 }).collect();
    Log::start(&namespaces).map_err(|error| error.to_string())
}

impl TcpLog {
    /// Starts the log for the connections `ends`.
    ///
    /// # Errors
    /// Returns an error, as a sentence, if there are no more threads.
    pub fn start(
        log: Log,
        ends: BTreeMap<Sockets, Seen>,
        clock: Clock,
        rows: Rows,
        end: Time,
    ) -> Result<TcpLog, String> {
        let ending = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ending);
        let thread = thread::Builder::new().name("tcp log".to_owned());
        let reader = Reader { log, ends, clock, rows, end };
        let thread = thread.spawn(move || reader.run(&seen)).map_err(|error| error.to_string())?;
        Ok(TcpLog { ending, thread })
    }

    /// Ends the log. Returns the statistics.
    pub fn finish(self) -> Statistics {
        self.ending.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Reader {
    log: Log,
    ends: BTreeMap<Sockets, Seen>,
    clock: Clock,
    rows: Rows,
    end: Time,
}

impl Reader {
    fn run(mut self, ending: &AtomicBool) -> Statistics {
        let mut statistics = Statistics::default();
        let mut connections = Connections::new();
        let mut sockets: BTreeMap<u64, Seen> = BTreeMap::new();
        loop {
            let last = ending.load(Ordering::Relaxed);
            let Reader { log, ends, clock, rows, end } = &mut self;
            let mut over = false;
            let count = log.poll(Duration::from_millis(50), &mut |event: &Event| {
                let seen = match sockets.get(&event.socket) {
                    Some(seen) => *seen,
                    // A closed socket has no port, so its identity was recorded before it closed.
                    None => match ends.get(&(event.local, event.remote)) {
                        Some(seen) => *sockets.entry(event.socket).or_insert(*seen),
                        None => return,
                    },
                };
                let Some(row) = connections.add(event) else { return };
                let time = clock.at(row.time);
                if time > *end {
                    over = true;
                    return;
                }
                rows.add(seen.probe, time, &row.values());
                statistics.look(event.socket, &row);
                let sender = statistics.sender(seen.end);
                if let Some(rtt) = row.rtt {
                    sender.rtt.add(Span::from_micros(rtt.into()));
                }
                sender.retransmissions = row.retransmissions.into();
                sender.timeouts = row.timeouts.into();
            });
            rows.flush();
            if last && (over || !count.is_ok_and(|count| count > 0)) {
                statistics.lost = log.lost().unwrap_or(0);
                return statistics;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_repaired_at_an_acknowledgment_are_not_counted() {
        let row = |cwnd, ssthresh, acknowledged| Row {
            cwnd,
            ssthresh,
            acknowledged,
            time: 0,
            socket: 1,
            rtt: None,
            srtt: None,
            rttvar: None,
            rto: 0,
            inflight: 0,
            sent: 0,
            retransmissions: 0,
            timeouts: 0,
            ca_state: 3,
        };
        let absurd = |rows: &[Row]| {
            let mut statistics = Statistics::default();
            rows.iter().for_each(|row| statistics.look(row.socket, row));
            statistics.absurd
        };
        // Observed on Linux 6.18: a window of hundreds of millions in one row, and in the rows of
        // the retransmissions after it.
        let odd = row(541_331_527, None, 1000);
        assert_eq!(absurd(&[row(10, Some(20), 1000), odd.clone(), odd.clone(), row(5, Some(5), 2448)]), 0);
        assert_eq!(absurd(&[odd, row(541_331_528, None, 2448)]), 1);
        assert_eq!(absurd(&[row(10, Some(667_073_216), 0), row(11, Some(667_073_216), 1448)]), 1);
    }
}
