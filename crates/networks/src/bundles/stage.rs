//! The agents of a delay-tolerant network as one stage. Input port and output port i belong to node
//! i of the plan.

use super::Config;
use crate::{FlowEnds, OutsideRoutes};
use bentpipe_core::{Column, NodeId, Report, Span, Stream, Table, Time, Whole};
use bentpipe_dtn::contacts::Node;
use bentpipe_dtn::network::{Bundle, Network, Outcome, Reason};
use bentpipe_link::channel::CORRUPTED;
use bentpipe_stage::{DropReason, Held, Outbox, Packet, Port, Stage};
use bentpipe_transport::statistics::SpanStatistics;
use std::collections::BTreeMap;

/// Drop reason: the lifetime of the bundle expired.
pub const EXPIRED: DropReason = DropReason::new("bundle expired");
/// Drop reason: the storage of an agent was full.
pub const FULL: DropReason = DropReason::new("bundle storage full");
/// Drop reason: a contact ended unexpectedly during the bundle's transmission.
pub const CUT_OFF: DropReason = DropReason::new("contact ended during the bundle's transmission");
/// Drop reason: the packet's destination cannot be reached from another node of the network.
pub const UNREACHABLE: DropReason = DropReason::new("not behind a node of the bundle network");

/// Data that each agent sent to each other agent.
pub static HOPS: Table = Table {
    name: "bundle_hops",
    entity: "hop",
    about: "at the end of the run, from each node of a network of bundle agents to another (NETWORK.FROM.TO), if it sent something",
    columns: &[
        Column::whole("hop_bytes", "bytes", "bytes that were sent, headers, retransmissions and reports included"),
        Column::real("hop_transmitting", "s", "time for which they were transmitted"),
    ],
};

/// Totals of a delay-tolerant network over a run.
pub static REPORT: Table = Table {
    name: "bundles",
    entity: "network",
    about: "at the end of the run",
    columns: &[
        Column::whole("created", "1", "bundles that were made of packets"),
        Column::whole("delivered", "1", "bundles that arrived"),
        Column::whole("expired", "1", "bundles whose lifetime was over"),
        Column::whole(
            "dropped",
            "1",
            "bundles dropped for other reasons: no room, errors, a contact that ended",
        ),
        Column::whole("stored", "1", "bundles that were in the network at the end"),
        Column::real("delivery_ratio", "1", "delivered bundles divided by created ones"),
        Column::real("delay_mean", "s", "mean time from a bundle's creation to its arrival"),
        Column::real("delay_max", "s", "longest time from a bundle's creation to its arrival"),
        Column::real("hops_mean", "1", "mean number of contacts that delivered bundles passed"),
        Column::whole(
            "sent_bytes",
            "bytes",
            "bytes that contacts sent: headers, retransmissions and reports included",
        ),
        Column::real("overhead", "1", "sent bytes divided by delivered payload"),
        Column::whole("stored_max", "bytes", "the most that a node stored at once"),
        Column::whole("searches", "1", "searches for routes"),
    ],
};

/// Outcomes of the bundles of a flow, from its source to its destination.
pub static FLOW: Table = Table {
    name: "flow_carried",
    entity: "flow",
    about: "at the end of the run, of the packets of a flow that crossed a network of bundle agents from its source to its destination",
    columns: &[
        Column::whole("bundles_created", "1", "bundles that were made of the flow's packets"),
        Column::whole("bundles_delivered", "1", "bundles that arrived"),
        Column::whole("bundles_expired", "1", "bundles whose lifetime was over"),
        Column::whole("bundles_dropped", "1", "bundles dropped for other reasons: no room, errors, a contact that ended"),
        Column::real("delivery_ratio", "1", "delivered bundles divided by created ones, those still stored included"),
        Column::real("bundle_delay_mean", "s", "mean time from a bundle's creation to its arrival"),
        Column::real("bundle_delay_p50", "s", "median of that time"),
        Column::real("bundle_delay_p95", "s", "95th percentile of that time"),
        Column::real("bundle_delay_max", "s", "longest such time"),
    ],
};

/// Counters of the bundles of a flow.
struct FlowStatistics {
    name: String,
    from: NodeId,
    created: u64,
    expired: u64,
    dropped: u64,
    delay: SpanStatistics,
}

impl FlowStatistics {
    fn report(&self, report: &mut Report) {
        if self.created == 0 {
            return;
        }
        let values = [
            self.created as f64,
            self.delay.count() as f64,
            self.expired as f64,
            self.dropped as f64,
            self.delay.count() as f64 / self.created as f64,
            self.delay.mean(),
            self.delay.percentile(50.0),
            self.delay.percentile(95.0),
            self.delay.max(),
        ];
        report.row(&FLOW, &self.name, &values);
    }
}

/// A packet in the network.
struct CarriedPacket {
    packet: Whole<Packet>,
    entered: Time,
}

/// A stage with all bundle agents of a network.
pub struct Agents {
    name: String,
    network: Network,
    lifetime: Span,
    /// Node at which packets leave the network, by destination and input port: the node nearest to
    /// the destination, except the node of the input port.
    exits: BTreeMap<NodeId, Vec<Option<u32>>>,
    carried: BTreeMap<u64, CarriedPacket>,
    flows: Vec<FlowStatistics>,
    delay: SpanStatistics,
    hops: u64,
}

impl Agents {
    /// Returns the agents of network `name` at `nodes`, in the order of the plan.
    pub fn new(
        name: &str,
        config: &Config,
        nodes: &[NodeId],
        outside: OutsideRoutes,
        mut stream: Stream,
    ) -> Agents {
        let [real, known] = config.plans();
        let mut errors = config.error.errors();
        let corrupted = move |now: Time, bytes: u64| {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            errors.as_mut().is_some_and(|errors| errors.loses_unit(now, bytes, &mut stream))
        };
        let exits = outside.destinations.into_iter().map(|(destination, delays)| {
            let by_entry = (0..nodes.len()).map(|entry| {
                let others = (0..).zip(&delays).filter(|(node, _)| *node != entry as u32);
                others.filter_map(|(node, delay)| Some((delay.as_ref()?, node))).min().map(|(_, node)| node)
            });
            (destination, by_entry.collect())
        });
        let of_flow = |FlowEnds { name, from, .. }| FlowStatistics {
            name,
            from,
            created: 0,
            expired: 0,
            dropped: 0,
            delay: SpanStatistics::default(),
        };
        Agents {
            name: name.to_owned(),
            network: Network::new(real, known, config.agents(), Box::new(corrupted)),
            lifetime: config.lifetime,
            exits: exits.collect(),
            carried: BTreeMap::new(),
            flows: outside.flows.into_iter().map(of_flow).collect(),
            delay: SpanStatistics::default(),
            hops: 0,
        }
    }

    /// Sends the packets of delivered bundles and drops the packets of lost bundles.
    fn process_outcomes(&mut self, now: Time, out: &mut Outbox) {
        while let Some(outcome) = self.network.next_outcome() {
            let (Outcome::Delivered { bundle, .. } | Outcome::Dropped { bundle, .. }) = outcome;
            let Some(CarriedPacket { packet, entered }) = self.carried.remove(&bundle) else { continue };
            let packet = packet.into_inner();
            let mut flow = flow_of(&mut self.flows, &packet);
            match outcome {
                Outcome::Delivered { to, hops, .. } => {
                    let delay = now.since(entered);
                    self.delay.add(delay);
                    self.hops += u64::from(hops);
                    flow.iter_mut().for_each(|flow| flow.delay.add(delay));
                    out.send(Port(to.0 as u16), packet);
                }
                Outcome::Dropped { reason, .. } => {
                    let expired = reason == Reason::Expired;
                    flow.iter_mut().for_each(|flow| {
                        flow.expired += u64::from(expired);
                        flow.dropped += u64::from(!expired);
                    });
                    let reason = match reason {
                        Reason::Expired => EXPIRED,
                        Reason::StorageFull => FULL,
                        Reason::Errors => CORRUPTED,
                        Reason::CutOff => CUT_OFF,
                    };
                    out.drop(packet, reason);
                }
            }
        }
    }
}

/// Returns the flow of a packet on its way from the flow's source to the flow's destination.
/// Returns `None` for packets in the opposite direction.
fn flow_of<'a>(flows: &'a mut [FlowStatistics], packet: &Packet) -> Option<&'a mut FlowStatistics> {
    flows.get_mut(packet.flow.0 as usize).filter(|flow| flow.from == packet.source)
}

impl Stage for Agents {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        let exits = self.exits.get(&packet.destination);
        let Some(to) = exits.and_then(|exits| exits[usize::from(port.0)]) else {
            return out.drop(packet, UNREACHABLE);
        };
        let priority = match packet.dscp {
            0 => 0,
            1..32 => 1,
            _ => 2,
        };
        let bundle = Bundle {
            from: Node(u32::from(port.0)),
            to: Node(to),
            payload: u64::from(packet.size),
            lifetime: self.lifetime,
            priority,
        };
        if let Some(flow) = flow_of(&mut self.flows, &packet) {
            flow.created += 1;
        }
        let number = self.network.insert(now, bundle);
        self.carried.insert(number, CarriedPacket { packet: Whole::new(packet), entered: now });
        self.process_outcomes(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        self.network.advance(now);
        self.process_outcomes(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.network.next_wake()
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        self.carried.values().for_each(|carried| carried.packet.read(|packet| held.add(packet)));
        held
    }

    fn report(&self, _now: Time, report: &mut Report) {
        let counters = self.network.counters();
        let per = |sum: f64, count: u64| if count == 0 { f64::NAN } else { sum / count as f64 };
        let values = [
            counters.created as f64,
            counters.delivered as f64,
            counters.expired as f64,
            counters.dropped as f64,
            self.network.stored() as f64,
            per(counters.delivered as f64, counters.created),
            self.delay.mean(),
            self.delay.max(),
            per(self.hops as f64, self.delay.count()),
            counters.sent_bytes as f64,
            per(counters.sent_bytes as f64, counters.delivered_bytes),
            counters.stored_max as f64,
            counters.searches as f64,
        ];
        report.row(&REPORT, &self.name, &values);
        let plan = self.network.plan();
        for (ends, sent) in self.network.sent() {
            let [from, to] = ends.map(|node| plan.name(node));
            let hop = format!("{}.{from}.{to}", self.name);
            report.row(&HOPS, &hop, &[sent.bytes as f64, sent.time.as_secs_f64()]);
        }
        self.flows.iter().for_each(|flow| flow.report(report));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_testing::bench::{self, stream, Bench};

    const PLAN: &str = "src,dst,start,end,rate_bps,owlt_s\\na,b,1,9,8000,0.5\\nb,c,10,19,8000,2\\n";

    fn agents(more: &str) -> Agents {
        let config: Config = serde_json::from_str(&format!("{{\"plan\": \"{PLAN}\"{more}}}")).unwrap();
        // Nodes a, b and c have the numbers 0, 1 and 2. Node 7 is reached through c.
        let nodes: Vec<NodeId> = (0..3).map(NodeId).collect();
        let behind =
            |node: usize| (0..3).map(|place| (place == node).then_some(Span::ZERO)).collect::<Vec<_>>();
        let beyond = (0..3).map(|node| (NodeId(node as u16), behind(node))).chain([(NodeId(7), behind(2))]);
        let flows = vec![FlowEnds { name: "f".to_owned(), from: NodeId(0), to: NodeId(7) }];
        let beyond = OutsideRoutes { destinations: beyond.collect(), flows };
        Agents::new("space", &config, &nodes, beyond, stream("space"))
    }

    fn packet(number: u32, destination: u16) -> Packet {
        Packet { destination: NodeId(destination), ..bench::packet(number, 1000) }
    }

    #[test]
    fn packets_cross_as_bundles_and_leave_at_the_node_of_their_destination() {
        let mut bench = Bench::new(agents(""));
        bench.offer(Time::ZERO, 0, Port(0), packet(0, 7));
        bench.offer(Time::ZERO, 0, Port(0), packet(1, 1));
        bench.offer(Time::ZERO, 0, Port(0), packet(2, 5));
        assert_eq!(bench.held().packets, 2);
        bench.run(Time::MAX);
        let left =
            bench.left.iter().map(|left| (left.packet.number, left.port.0, left.at.as_nanos() / 1_000_000));
        // 1000 bytes of payload and 83 bytes of headers take 1.083 s. The second bundle arrives at
        // b at 1 + 2 x 1.083 + 0.5 s, the first bundle at c at 10 + 1.083 + 2 s.
        assert_eq!(left.collect::<Vec<_>>(), [(1, 1, 3_666), (0, 2, 13_083)]);
        assert_eq!(bench.drops(), [(UNREACHABLE, 1)]);
        let report = bench.report();
        let value = |column: &str| report.value("bundles", "space", column).unwrap();
        assert_eq!(
            [value("created"), value("delivered"), value("delivery_ratio"), value("hops_mean")],
            [2.0, 2.0, 1.0, 1.5]
        );
        assert_eq!(report.value("flow_carried", "f", "bundle_delay_max"), Some(13.083));
        assert_eq!(bench.held(), Held::default());
    }

    #[test]
    fn bundles_are_dropped_on_expiry_and_full_storage_with_their_reasons() {
        let mut bench = Bench::new(agents(", \"lifetime\": \"5 s\", \"storage\": \"2200 B\""));
        (0..3).for_each(|number| bench.offer(Time::ZERO, 0, Port(0), packet(number, 7)));
        bench.run(Time::MAX);
        assert!(bench.left.is_empty());
        assert_eq!(BTreeMap::from_iter(bench.drops()), BTreeMap::from([(FULL, 1), (EXPIRED, 2)]));
    }
}
