//! The trace `tcp` in virtual time: the moment of a query is the moment of the event, because time
//! stands still while processors work. The engine's thread therefore queries TCP_INFO whenever it
//! has written a packet to a sender, and when one sends after a silence. The result is a row for
//! each acknowledgment that changes something and for each time-out, without a program in the
//! kernel.
//!
//! The thread also discards arriving data for applications that only count it
//! ([`Watched::discard`]). One system call of the engine's thread then writes the packet and
//! empties the receiving socket, and no other thread wakes.
//!
//! The kernel does not report round-trip times, only the smoothed one, srtt. By equation 2.3 of RFC
//! 6298 with alpha = 1/8, the sample was 8 srtt' - 7 srtt, within 7 us of rounding.

use super::diag::{answered, question};
use super::info::Info;
use super::log::{Seen, Statistics};
use crate::frame;
use crate::observer::{Look, Observer, Question, QUESTION};
use bentpipe_core::address::Plan;
use bentpipe_core::{FlowId, NodeId, Probe, Span, Time};
use bentpipe_engine::Network;
use nix::sys::socket::{getpeername, getsockname, SockaddrIn};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Silence after which a packet may result from a time-out, which is at least 200 ms.
const SILENCE: Span = Span::from_millis(150);

/// Indices of `rtt` and `timeouts` in a row of the trace `tcp`.
const RTT: usize = 2;
const TIMEOUTS: usize = 10;

/// The state of a connection at its last query.
struct Asked {
    /// Socket; `None` after it was closed.
    socket: Option<OwnedFd>,
    question: [u8; QUESTION],
    /// True if the connection was opened from here.
    opened: bool,
    seen: Seen,
    /// True if the connection has sent data.
    sends: bool,
    /// True if the connection has sent its end. A closed socket does not answer queries.
    ends: bool,
    /// True if the engine's thread discards arriving data.
    discards: bool,
    asked: Time,
    acknowledged: u64,
    srtt: u32,
    variation: u32,
    /// Window, retransmissions, and number of SACKed segments.
    state: (u32, u64, u32),
    /// Consecutive time-outs without progress, as the kernel counts them, and all time-outs.
    in_a_row: u8,
    timeouts: u64,
}

/// The place of a packet: the host of this node, and its flow.
type Place = (NodeId, FlowId);

/// The connections of a run, which the driver adds and the engine's thread queries.
#[derive(Clone, Default)]
pub struct Exact {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    connections: BTreeMap<Sockets, Asked>,
    /// The connections, by the packets to and from them.
    places: BTreeMap<Place, Sockets>,
    /// Sockets for queries about the connections of a node.
    asking: BTreeMap<NodeId, OwnedFd>,
    /// True if the engine's thread can discard data, and the discarded data by socket.
    can_discard: bool,
    sinks: BTreeMap<RawFd, Sink>,
    statistics: Statistics,
    /// Place of the packet of the last query, and its connection if the connection has been closed
    /// since then.
    questioned: Option<Place>,
    closed: Option<(Place, Asked)>,
}

/// A socket whose arriving data the engine's thread discards.
struct Sink {
    /// Probe of the trace `delivery`, if it is recorded, and the bytes in its last row.
    probe: Option<Probe>,
    delivered: u64,
    discarded: Arc<Discarded>,
}

/// The discarded data of a connection.
#[derive(Debug, Default)]
pub struct Discarded {
    bytes: AtomicU64,
    last: AtomicU64,
}

impl Discarded {
    /// Returns the number of bytes, and the time of the last discarded bytes; `None` before the
    /// first.
    pub fn total(&self) -> Option<(u64, Time)> {
        let bytes = self.bytes.load(Ordering::Relaxed);
        (bytes > 0).then(|| (bytes, Time::from_nanos(self.last.load(Ordering::Relaxed))))
    }
}

/// The socket's own address and port, and the other end's.
type Sockets = (SocketAddrV4, SocketAddrV4);

/// A connection whose state is queried until this value is dropped.
pub struct Watched {
    inner: Arc<Mutex<Inner>>,
    sockets: Sockets,
}

impl Watched {
    /// Makes the engine's thread discard the data that arrives from now on, after `delivered`
    /// bytes, with a row of `probe` each time. The socket then needs no other reader. Returns
    /// `None` if the thread does not support discarding.
    pub fn discard(&self, probe: Option<Probe>, delivered: u64) -> Option<Arc<Discarded>> {
        let mut inner = lock(&self.inner);
        let Inner { connections, can_discard: true, sinks, .. } = &mut *inner else { return None };
        let asked = connections.get_mut(&self.sockets)?;
        asked.discards = true;
        let discarded = Arc::new(Discarded::default());
        let sink = Sink { probe, delivered, discarded: Arc::clone(&discarded) };
        // The sink outlives the connection, because the ring may still have to report data.
        sinks.insert(asked.socket.as_ref()?.as_raw_fd(), sink);
        Some(discarded)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut inner = lock(&self.inner);
        let places = places(self.sockets);
        let asked = inner.connections.remove(&self.sockets);
        for place in places {
            inner.places.remove(&place);
        }
        // The connection was queried before, and the answer may arrive only now.
        if let Some(place) = inner.questioned.filter(|place| places.contains(place)) {
            inner.closed = asked.map(|asked| (place, Asked { socket: None, ..asked }));
        }
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

fn places((local, remote): Sockets) -> [Place; 2] {
    let node =
        Plan::default().node(IpAddr::V4(*local.ip())).expect("hosts have the addresses of their nodes");
    [(local, remote), (remote, local)]
        .map(|(source, destination)| (node, frame::tcp_flow(source, destination)))
}

impl Exact {
    /// Starts to query the connection of `socket`; `opened` if it was opened at this end.
    ///
    /// # Errors
    /// Returns an error if there are no more file descriptors.
    pub fn watch(&self, socket: BorrowedFd<'_>, opened: bool, seen: Seen) -> io::Result<Watched> {
        let socket = socket.try_clone_to_owned()?;
        let local: SockaddrIn = getsockname(socket.as_raw_fd())?;
        let remote: SockaddrIn = getpeername(socket.as_raw_fd())?;
        let sockets = (local.into(), remote.into());
        let info = Info::of(socket.as_fd())?;
        let asked = Asked {
            socket: Some(socket),
            question: question(sockets.0, sockets.1),
            opened,
            seen,
            sends: false,
            ends: false,
            discards: false,
            asked: Time::ZERO,
            acknowledged: info.acknowledged(opened),
            srtt: info.srtt(),
            variation: info.variation(),
            state: (info.cwnd(), info.retransmissions(), info.sacked()),
            in_a_row: 0,
            timeouts: 0,
        };
        let mut inner = lock(&self.inner);
        inner.connections.insert(sockets, asked);
        for place in places(sockets) {
            inner.places.insert(place, sockets);
        }
        Ok(Watched { inner: Arc::clone(&self.inner), sockets })
    }

    /// Uses this socket for queries about the connections of the host of `node`
    /// ([`diag`](super::diag)), together with the packet's write.
    pub fn ask_by(&self, node: NodeId, socket: OwnedFd) {
        lock(&self.inner).asking.insert(node, socket);
    }

    /// Returns the statistics of the senders.
    pub fn finish(&self) -> Statistics {
        std::mem::take(&mut lock(&self.inner).statistics)
    }
}

impl Observer for Exact {
    fn begin(&mut self, discards: bool) {
        lock(&self.inner).can_discard = discards;
    }

    fn looks(&self, node: NodeId, flow: FlowId, packet: &[u8]) -> Look {
        let mut inner = lock(&self.inner);
        let sockets = inner.places.get(&(node, flow));
        let look = match sockets.and_then(|sockets| inner.connections.get(sockets)) {
            // Without data, the receive call would consume the socket's error, which is for its
            // owner.
            Some(Asked { discards: true, socket: Some(socket), .. }) if frame::has_data(packet) => {
                Look::Discard(socket.as_raw_fd())
            }
            Some(Asked { ends: true, .. }) => Look::AtHost(None),
            Some(asked) if asked.sends => Look::AtHost(
                inner
                    .asking
                    .get(&node)
                    .map(|socket| Question { socket: socket.as_raw_fd(), bytes: asked.question }),
            ),
            _ => Look::Nothing,
        };
        inner.questioned = matches!(look, Look::AtHost(Some(_))).then_some((node, flow));
        look
    }

    fn discarded(&mut self, network: &mut Network, socket: RawFd, now: Time, bytes: usize) {
        let mut inner = lock(&self.inner);
        let Some(sink) = inner.sinks.get_mut(&socket) else { return };
        sink.delivered += bytes as u64;
        sink.discarded.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        sink.discarded.last.store(now.as_nanos(), Ordering::Relaxed);
        if let Some(probe) = sink.probe {
            network.out().record(probe, now, &[sink.delivered as f64, f64::NAN]);
        }
    }

    fn got(&mut self, network: &mut Network, node: NodeId, flow: FlowId, now: Time, answer: Option<&[u8]>) {
        let told = answer.and_then(answered);
        let mut inner = lock(&self.inner);
        inner.ask((node, flow), network, now, told, |asked| asked.sends);
        (inner.questioned, inner.closed) = (None, None);
    }

    fn sent(&mut self, network: &mut Network, node: NodeId, flow: FlowId, now: Time, packet: &[u8]) {
        let (has_data, ends) = (frame::has_data(packet), frame::begins_or_ends(packet));
        if has_data || ends {
            lock(&self.inner).ask((node, flow), network, now, None, |asked| {
                asked.ends |= ends;
                has_data && (!std::mem::replace(&mut asked.sends, true) || now.since(asked.asked) >= SILENCE)
            });
        }
    }
}

impl Inner {
    /// Queries the connection of the packet at `place` if the query is `worth` its cost, or takes
    /// the answer in `told`.
    fn ask(
        &mut self,
        place: Place,
        network: &mut Network,
        now: Time,
        told: Option<Info>,
        worth: impl FnOnce(&mut Asked) -> bool,
    ) {
        let Inner { connections, places, statistics, closed, .. } = self;
        let found = places.get(&place).and_then(|sockets| connections.get_mut(sockets));
        let closed = closed.as_mut().filter(|(at, _)| *at == place).map(|(_, asked)| asked);
        let Some(asked) = found.or(closed) else { return };
        if !worth(asked) {
            return;
        }
        asked.asked = now;
        let info = told.or_else(|| Info::of(asked.socket.as_ref()?.as_fd()).ok());
        let Some(info) = info else { return };
        let (acknowledged, in_a_row) = (info.acknowledged(asked.opened), info.timeouts_in_a_row());
        let timed_out = u64::from(in_a_row.saturating_sub(asked.in_a_row));
        asked.in_a_row = in_a_row;
        let before = (asked.srtt, asked.variation);
        (asked.srtt, asked.variation) = (info.srtt(), info.variation());
        let state = (info.cwnd(), info.retransmissions(), info.sacked());
        let advanced = acknowledged > asked.acknowledged;
        // The kernel takes a sample only from data that arrived for the first time.
        let arrived = info.sacked() > asked.state.2 || advanced && info.is_undisturbed();
        // Duplicate acknowledgments change the measurements, the window and the retransmissions.
        if !advanced && timed_out == 0 && before == (asked.srtt, asked.variation) && state == asked.state {
            return;
        }
        let rtt = sample(before, &info, arrived);
        (asked.acknowledged, asked.state) = (acknowledged, state);
        asked.timeouts += timed_out;
        let sender = statistics.sender(asked.seen.end);
        if let Some(rtt) = rtt {
            sender.rtt.add(rtt);
        }
        sender.retransmissions = info.retransmissions();
        sender.timeouts = asked.timeouts;
        if let Some(probe) = asked.seen.probe {
            let mut row = info.row(asked.opened);
            row[RTT] = rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64());
            row[TIMEOUTS] = asked.timeouts as f64;
            network.out().record(probe, now, &row);
        }
    }
}

/// Returns the round-trip time sample that changed the smoothed time and its variation to their
/// present values, if there was one. The kernel takes no sample from retransmitted data, so
/// unchanged values imply a sample only if new data has `arrived`.
fn sample((srtt, variation): (u32, u32), info: &Info, arrived: bool) -> Option<Span> {
    if srtt == 0 {
        return Some(Span::from_micros(info.srtt().into()));
    }
    let unchanged = info.srtt() == srtt && info.variation() == variation;
    if unchanged && !arrived {
        return None;
    }
    let sample = 8 * u64::from(info.srtt());
    sample.checked_sub(7 * u64::from(srtt)).map(Span::from_micros)
}
