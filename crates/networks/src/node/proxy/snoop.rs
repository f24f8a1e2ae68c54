//! Snoop (H. Balakrishnan, S. Seshan, E. Amir, R. Katz, "Improving TCP/IP Performance over Wireless
//! Networks", MobiCom 1995): before a link that loses packets, a node caches unacknowledged packets
//! and retransmits lost ones itself. The sender then does not mistake these losses for congestion.
//! The connection is not split.
//!
//! Data towards the link (the paper's `snoop_data`, figure 2):
//! - The next packet of the sequence is cached and forwarded.
//! - A retransmission by the source is forwarded if it has not been acknowledged, and marked: only
//!   the source repairs its loss. If the packet has already been acknowledged, the node answers
//!   with the last acknowledgment, which was lost.
//! - A packet after a hole is forwarded and marked. The missing data was lost before the node or
//!   overtaken, so the source repairs it.
//!
//! Acknowledgments from the link (`snoop_ack`, figure 3):
//! - A new acknowledgment is forwarded. The node removes the acknowledged packets from its cache
//!   and measures the round-trip time to the receiver.
//! - An old acknowledgment is dropped.
//! - A duplicate acknowledgment for a cached packet without a mark causes the node to retransmit
//!   the packet. The node drops this duplicate and the expected further duplicates for packets in
//!   flight. Duplicates for all other packets are forwarded to the source.
//!
//! In addition, the first cached packet is retransmitted if no acknowledgment has arrived for twice
//! the smoothed round-trip time of the link, and at least `shortest`. This time doubles with each
//! unsuccessful retransmission. After [`MAX_BACKOFF`] retransmissions, only the source retransmits
//! the packet.
//!
//! Deviations: retransmissions wait in the link's queue like all other packets, whereas the paper
//! gives them priority. The round-trip time is measured with every packet that was sent once, not
//! once per window. If the cache is full, packets are forwarded without being cached. The source
//! does not receive selective acknowledgments in the duplicates that the node drops.

use super::acknowledgments::{acknowledges, sequence_difference};
use super::frames::segment;
use super::{at, Enhancement, RealForm};
use crate::node::service::{ServedFlow, Supply};
use bentpipe_core::{Column, Count, FlowId, Report, Sample, Span, Table, Tables, Time};
use bentpipe_stage::packet::segment::{Segment, SegmentFlags};
use bentpipe_stage::{DropReason, Outbox, Packet, Port, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Snoop (Balakrishnan, Seshan, Amir and Katz, MobiCom 1995): caches unacknowledged packets before
/// a link that loses packets, and retransmits lost ones itself. The sender then does not mistake
/// these losses for congestion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the link or network that loses packets.
    pub over: String,
    /// Maximum number of cached packets per connection, 1000 by default. Further packets are
    /// forwarded without being cached.
    #[serde(default = "default_cache")]
    pub cache: Count<1, 1_000_000>,
    /// Minimum time without an acknowledgment after which a packet is retransmitted, 20 ms by
    /// default.
    #[serde(default = "default_shortest")]
    pub shortest: Span,
}

fn default_cache() -> Count<1, 1_000_000> {
    Count::new(1000)
}

fn default_shortest() -> Span {
    Span::from_millis(20)
}

/// Counters of Snoop for a flow.
pub static REPORT: Table = Table {
    name: "snoop",
    entity: "flow at a proxy",
    about: "at the end of the run, by each node with Snoop, as FLOW@PROXY",
    columns: &[
        Column::whole(
            "repaired",
            "packets",
            "packets retransmitted by the proxy after duplicate acknowledgments",
        ),
        Column::whole(
            "repaired_late",
            "packets",
            "packets retransmitted by the proxy because no acknowledgment arrived",
        ),
        Column::whole("suppressed", "packets", "acknowledgments that were not passed on to the source"),
        Column::whole("most_kept", "packets", "maximum number of packets kept for one connection"),
    ],
};

/// Maximum number of retransmissions of a packet without an acknowledgment.
pub const MAX_BACKOFF: u32 = 6;

/// Drop reason: the source does not need the acknowledgment, because the node repairs the loss or a
/// newer acknowledgment has passed.
pub const SUPPRESSED: DropReason = DropReason::new("acknowledgment suppressed");

/// A packet that the receiver has not acknowledged.
struct CachedPacket {
    packet: Packet,
    /// Time at which the packet was last forwarded.
    sent: Time,
    /// True if the packet was sent once. Its acknowledgment then gives the round-trip time.
    sent_once: bool,
    /// True if the source must repair the loss of this packet (the mark).
    known_lost: bool,
    /// True if the node has retransmitted the packet.
    retransmitted: bool,
}

/// The state of a connection's data over the link.
#[derive(Default)]
struct State {
    cached: VecDeque<CachedPacket>,
    /// Sequence number of the next byte expected from the source.
    next: u32,
    /// The last acknowledgment, unchanged.
    last: Option<Box<Packet>>,
    /// Number of duplicate acknowledgments that are still expected and will be dropped.
    expected: u32,
    rtt: Option<Span>,
    backed_off: u32,
    due: Option<Time>,
}

#[derive(Clone, Copy, Default)]
struct Counters {
    retransmitted: u64,
    retransmitted_on_timeout: u64,
    suppressed: u64,
    max_cached: u64,
}

struct Flow {
    served: ServedFlow,
    /// True for each end that is beyond the link.
    behind_link: [bool; 2],
    counters: Counters,
}

/// One direction of a connection: flow, number of the connection, and index of the receiving end.
type Key = (FlowId, u16, usize);

/// The proxy as a stage, with input port 0 and output port 0.
pub struct Snoop {
    name: String,
    cache: usize,
    shortest: Span,
    flows: BTreeMap<FlowId, Flow>,
    states: BTreeMap<Key, State>,
}

impl Snoop {
    fn new(name: &str, config: &Config, flows: Vec<ServedFlow>) -> Snoop {
        let flow = |served: ServedFlow| {
            let behind_link = served.links.each_ref().map(|link| *link == config.over);
            (served.flow, Flow { served, behind_link, counters: Counters::default() })
        };
        Snoop {
            name: name.to_owned(),
            cache: config.cache.value() as usize,
            shortest: config.shortest,
            flows: flows.into_iter().map(flow).collect(),
            states: BTreeMap::new(),
        }
    }
}

/// Returns the sequence number of the byte after the last byte of a segment.
fn end(segment: &Segment) -> u32 {
    segment.sequence.wrapping_add(segment.payload.into())
}

impl State {
    /// Returns the time to wait for an acknowledgment.
    fn timeout(&self, shortest: Span) -> Span {
        self.rtt.map_or(shortest * 10, |rtt| (rtt * 2).max(shortest)) * (1 << self.backed_off)
    }

    fn set_timer(&mut self, now: Time, shortest: Span) {
        let waits = self.cached.front().is_some_and(|first| !first.known_lost);
        self.due = waits.then(|| now + self.timeout(shortest));
    }

    /// Handles data from the source. Returns an acknowledgment if the node answers the data instead
    /// of forwarding it.
    fn data(&mut self, now: Time, packet: &Packet, (cache, shortest): (usize, Span)) -> Option<Packet> {
        let data = segment(packet)?;
        let acknowledged = self.last.as_deref().and_then(segment).map(|ack| ack.acknowledgment);
        if self.last.is_none() && self.cached.is_empty() {
            self.next = data.sequence;
        }
        let place = sequence_difference(data.sequence, self.next);
        if place < 0 {
            if acknowledged.is_some_and(|acknowledged| sequence_difference(end(data), acknowledged) <= 0) {
                return self.last.as_deref().cloned();
            }
            // The source's retransmission time-out has expired.
            let same = |cached: &&mut CachedPacket| {
                segment(&cached.packet).is_some_and(|own| own.sequence == data.sequence)
            };
            if let Some(cached) = self.cached.iter_mut().find(same) {
                (cached.known_lost, cached.sent_once, cached.sent) = (true, false, now);
            }
            return None;
        }
        if self.cached.len() < cache {
            let cached = CachedPacket {
                packet: packet.clone(),
                sent: now,
                sent_once: true,
                known_lost: place > 0,
                retransmitted: false,
            };
            self.cached.push_back(cached);
            if self.cached.len() == 1 {
                self.set_timer(now, shortest);
            }
        }
        self.next = end(data);
        None
    }

    /// Handles an acknowledgment from the receiver. Returns true if it is forwarded, and the packet
    /// to retransmit, if any.
    fn acknowledgment(&mut self, now: Time, packet: &Packet, shortest: Span) -> (bool, Option<Packet>) {
        let Some(ack) = segment(packet) else { return (true, None) };
        let last = self.last.as_deref().and_then(segment);
        let advance = last.map_or(1, |last| sequence_difference(ack.acknowledgment, last.acknowledgment));
        if advance < 0 {
            return (false, None);
        }
        if advance > 0 || last.is_some_and(|last| last.window != ack.window) || !acknowledges(packet) {
            while let Some(first) = self.cached.front() {
                if segment(&first.packet)
                    .is_some_and(|data| sequence_difference(end(data), ack.acknowledgment) > 0)
                {
                    break;
                }
                if first.sent_once {
                    let sample = now.since(first.sent);
                    self.rtt = Some(self.rtt.map_or(sample, |rtt| (rtt * 7 + sample) / 8));
                }
                self.cached.pop_front();
            }
            if advance > 0 {
                self.expected = 0;
                self.backed_off = 0;
                self.set_timer(now, shortest);
            }
            self.last = Some(Box::new(packet.clone()));
            return (true, None);
        }
        let in_flight = self.cached.len().saturating_sub(1) as u32;
        let Some(first) = self.cached.front_mut() else { return (true, None) };
        let missing = segment(&first.packet).is_some_and(|data| data.sequence == ack.acknowledgment);
        if !missing || first.known_lost {
            return (true, None);
        }
        if !first.retransmitted {
            (first.retransmitted, first.sent_once, first.sent) = (true, false, now);
            self.expected = in_flight;
            let again = first.packet.clone();
            self.set_timer(now, shortest);
            return (false, Some(again));
        }
        // Duplicates after the expected ones indicate a further loss, so they are forwarded to the
        // source.
        let drops = self.expected > 0;
        self.expected = self.expected.saturating_sub(1);
        (!drops, None)
    }
}

impl Stage for Snoop {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        let Some(flow) = self.flows.get_mut(&packet.flow) else { return out.send(Port(0), packet) };
        let from = flow.served.side(packet.source);
        let Some(tcp) = segment(&packet) else { return out.send(Port(0), packet) };
        if tcp.flags.0 & (SegmentFlags::SYN.0 | SegmentFlags::RST.0) != 0 {
            return out.send(Port(0), packet);
        }
        let counters = &mut flow.counters;
        if flow.behind_link[from] && tcp.flags.contains(SegmentFlags::ACK) {
            let state = self.states.entry((packet.flow, packet.connection, from)).or_default();
            let (forwards, again) = state.acknowledgment(now, &packet, self.shortest);
            if let Some(again) = again {
                counters.retransmitted += 1;
                out.create(Port(0), Packet { leg: again.leg.beyond(flow.served.number), ..again });
            }
            if !forwards && tcp.payload == 0 {
                counters.suppressed += 1;
                return out.drop(packet, SUPPRESSED);
            }
        }
        if flow.behind_link[1 - from] && tcp.payload > 0 {
            let state = self.states.entry((packet.flow, packet.connection, 1 - from)).or_default();
            if let Some(answer) = state.data(now, &packet, (self.cache, self.shortest)) {
                out.consume(packet);
                return out.create(Port(0), answer);
            }
            counters.max_cached = counters.max_cached.max(state.cached.len() as u64);
        }
        out.send(Port(0), packet);
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        for ((flow, ..), state) in &mut self.states {
            if state.due.is_none_or(|due| due > now) {
                continue;
            }
            if let Some(first) = state.cached.front_mut() {
                (first.sent_once, first.retransmitted, first.sent) = (false, true, now);
                first.known_lost = state.backed_off == MAX_BACKOFF;
                if let Some(flow) = self.flows.get_mut(flow) {
                    flow.counters.retransmitted_on_timeout += 1;
                    let leg = first.packet.leg.beyond(flow.served.number);
                    out.create(Port(0), Packet { leg, ..first.packet.clone() });
                }
            }
            state.backed_off = (state.backed_off + 1).min(MAX_BACKOFF);
            state.set_timer(now, self.shortest);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.states.values().filter_map(|state| state.due).min()
    }

    fn report(&self, _now: Time, report: &mut Report) {
        for flow in self.flows.values() {
            let Counters { retransmitted, retransmitted_on_timeout, suppressed, max_cached } = flow.counters;
            let values =
                [retransmitted, retransmitted_on_timeout, suppressed, max_cached].map(|count| count as f64);
            report.row(&REPORT, &at(&flow.served.name, &self.name), &values);
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"over = "two", cache = 300"#;
}

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&REPORT];
}

impl Enhancement for Config {
    fn build(&self, name: &str, flows: Vec<ServedFlow>, _: &mut dyn Supply) -> Box<dyn Stage> {
        Box::new(Snoop::new(name, self, flows))
    }

    fn over(&self) -> Option<&str> {
        Some(&self.over)
    }

    fn real_form(&self) -> Option<RealForm<'_>> {
        Some(RealForm::Frames)
    }
}
