//! The paths of a scenario's flows, in numbers. Equations, `bentpipe check`, reports and pages all
//! use this interpretation of a scenario.
//!
//! Nodes, routes and the parts of networks are those of a run (`instantiate::lay`), so a path here
//! is the path in a run. Each part supplies the numbers of its hops (`bentpipe_stage::facts`).

mod hops;
mod means;
mod queues;
mod sharing;

use crate::layout::lay;
use crate::scenario::{Flow as Wanted, Scenario};
use bentpipe_core::{Recorder, Streams};
use bentpipe_networks::node::edge::Rule;
use bentpipe_networks::node::proxy;
use bentpipe_networks::Construction;
use bentpipe_stage::facts::{Hop as Medium, Traffic};
use bentpipe_transport::app::Answers;
use bentpipe_transport::tcp::header;
use bentpipe_transport::Packets;
use serde::Serialize;
use std::collections::BTreeMap;

pub use queues::Queue;

/// The facts of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// The flows, in the order of the scenario.
    pub flows: Vec<Flow>,
    /// The queues of all links and networks.
    pub queues: Vec<Queue>,
    /// The flows whose packets share a medium, by the medium's name.
    pub media: BTreeMap<String, Vec<String>>,
}

/// A flow with its path in both directions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// Name of the flow, as in the scenario.
    pub name: String,
    /// Name of the node at which the flow's data starts.
    pub from: String,
    /// Name of the node for which the flow's data is destined.
    pub to: String,
    /// Time in seconds at which the flow starts.
    pub start_s: f64,
    /// Size of its full packets at the network layer, in bytes.
    pub packet_bytes: u32,
    /// Traffic of the destination in addition to acknowledgments: `nothing` (none that is relevant
    /// to a path), `messages` or `stream`.
    pub answers: &'static str,
    /// Size of the largest packets in the opposite direction, acknowledgments or data, in bytes; 0
    /// if there are none.
    pub answer_bytes: u32,
    /// Rate that its application offers in the long run, at the network layer in bit/s; null if it
    /// uses all that is available.
    pub demand_bit_s: Option<f64>,
    /// Maximum mean rate of its pages, files or mails, at the network layer in bit/s; null if it
    /// has none or the rate is unknown.
    pub mean_bit_s: Option<f64>,
    /// Maximum mean rate of the answers to its pages, files or mails, at the network layer in
    /// bit/s; null as for `mean_bit_s`.
    pub answers_mean_bit_s: Option<f64>,
    /// True if the flow reduces its rate when packets are lost.
    pub responsive: bool,
    /// The flow's share of the rate on its path, at the network layer in bit/s; null if it has no
    /// path.
    pub share_bit_s: Option<f64>,
    /// The hops of its packets, in order; null if there is no path.
    pub there: Option<Vec<Hop>>,
    /// The hops of packets in the opposite direction; null if there is no path.
    pub back: Option<Vec<Hop>>,
    /// Proxies on the path of its packets.
    pub proxies: Vec<Proxy>,
}

/// A hop of a flow's path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hop {
    /// The node at which the hop starts.
    pub from: String,
    /// The node at which the hop ends.
    pub to: String,
    /// The link, multilink or network of the hop.
    pub network: String,
    /// The medium of the hop in numbers.
    #[serde(flatten)]
    pub medium: Medium,
    /// Changes of the hop that the scenario plans.
    pub changes: Vec<Change>,
    /// Number of flows whose packets share its media, this one included.
    pub flows: usize,
    /// Maximum mean rate of the pages, files and mails of other flows on its media, at the network
    /// layer in bit/s.
    pub pages_bit_s: f64,
}

/// A change of a hop during the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Time of the change in seconds from the start of the run.
    pub at_s: f64,
    /// The change: keys with their new values, or the link to which a handover leads.
    pub what: String,
}

/// A proxy on a flow's path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proxy {
    /// Name of the proxy, as in the scenario.
    pub name: String,
    /// Name of the node at which the proxy runs.
    pub node: String,
    /// Kind of the proxy's mechanism, as in the scenario.
    pub kind: &'static str,
}

/// Returns the facts of a scenario that has passed its check.
pub fn facts(scenario: &Scenario) -> Facts {
    // Randomly drawn start times are those of the first replication.
    let scenario = &*scenario.started(scenario.seed.value(), 0);
    let mut builder = lay(scenario, Streams::new(0, 0), Recorder::default());
    let mut flows: Vec<Flow> = scenario.flow.iter().map(of_flow).collect();
    let mut paths = hops::Paths::new(scenario);
    for (flow, wanted) in flows.iter_mut().zip(&scenario.flow) {
        let (from, to) = (builder.node(&flow.from), builder.node(&flow.to));
        let traffic = |bytes| Traffic { bytes, dscp: wanted.dscp, run: scenario.duration };
        flow.there = paths.add(&builder, (from, to), traffic(flow.packet_bytes));
        flow.back = paths.add(&builder, (to, from), traffic(flow.answer_bytes.max(header::HEADER)));
    }
    paths.fill(&mut flows);
    for (flow, wanted) in flows.iter_mut().zip(&scenario.flow) {
        pass(scenario, wanted, flow);
        let means = wanted
            .app
            .transactions()
            .and_then(|transactions| means::of(&transactions, flow, scenario.duration.as_secs_f64()));
        if let Some((there, back)) = means {
            let headers = headers(wanted.transport.packets(None));
            (flow.mean_bit_s, flow.answers_mean_bit_s) = (Some(headers * there), Some(headers * back));
        }
    }
    let groups: Vec<Option<&str>> = scenario.flow.iter().map(|flow| flow.multicast.as_deref()).collect();
    let media = sharing::share(&mut flows, &groups);
    Facts { flows, queues: queues::of(scenario), media }
}

fn of_flow(flow: &Wanted) -> Flow {
    let demand = flow.app.demand();
    let packets = flow.transport.packets(demand.map(|demand| demand.datagram));
    let headers = headers(packets);
    let (answers, data) = match flow.app.answers() {
        Answers::Nothing => ("nothing", 0),
        Answers::Messages(bytes) => ("messages", size_with(flow.transport.packets(Some(bytes)), bytes)),
        Answers::Stream => ("stream", packets.size),
    };
    let max_rate = flow.transport.max_rate().map(|rate| rate.bits_per_second() as f64);
    Flow {
        name: flow.name.clone(),
        from: flow.from.clone(),
        to: flow.to.to_string(),
        start_s: flow.start.as_secs_f64(),
        packet_bytes: packets.size,
        answers,
        answer_bytes: packets.answer.max(data),
        demand_bit_s: match (demand.map(|demand| headers * demand.rate_bit_s), max_rate) {
            (Some(demand), Some(max)) => Some(demand.min(max)),
            (demand, max) => demand.or(max),
        },
        mean_bit_s: None,
        answers_mean_bit_s: None,
        responsive: packets.responsive,
        share_bit_s: None,
        there: None,
        back: None,
        proxies: Vec::new(),
    }
}

/// Returns the bytes by which packets at the network layer exceed their payload.
fn headers(packets: Packets) -> f64 {
    f64::from(packets.size) / f64::from(packets.payload.max(1))
}

/// Returns the size at the network layer of a packet with at most `bytes` bytes of payload.
fn size_with(packets: Packets, bytes: u32) -> u32 {
    packets.size - packets.payload + bytes.min(packets.payload)
}

/// Adds the proxies that serve a flow, and the DiffServ edges that condition its packets.
fn pass(scenario: &Scenario, wanted: &Wanted, flow: &mut Flow) {
    let there = flow.there.iter().flatten();
    let inner: Vec<&str> = there.skip(1).map(|hop| hop.from.as_str()).collect();
    let serves = |proxy: &&proxy::Config| {
        proxy.enabled
            && inner.contains(&proxy.node.as_str())
            && wanted.transport.tcp().is_some()
            && proxy.flows.as_ref().is_none_or(|flows| flows.contains(&flow.name))
    };
    let proxies = inner.iter().flat_map(|node| scenario.proxy.iter().filter(|proxy| proxy.node == **node));
    let proxies = proxies.filter(serves).map(|proxy| Proxy {
        name: proxy.name.clone(),
        node: proxy.node.clone(),
        kind: proxy.mechanism.kind(),
    });
    flow.proxies = proxies.collect();
    let ends = [[&wanted.from, &wanted.to], [&wanted.to, &wanted.from]];
    for (hops, [from, to]) in [&mut flow.there, &mut flow.back].into_iter().zip(ends) {
        for hop in hops.iter_mut().flatten() {
            let fits = |rule: &&Rule| {
                let among = |names: &[String], name: &String| names.is_empty() || names.contains(name);
                among(&rule.flow, &wanted.name) && among(&rule.from, from) && among(&rule.to, to)
            };
            let rules = scenario.edge.get(&hop.from).map_or(&[][..], |rules| rules);
            if let Some(rule) = rules.iter().find(fits) {
                let meter = rule.meter.as_ref().map_or("no meter", |meter| meter.kind());
                let note = format!("the edge at {} conditions its packets ({meter})", hop.from);
                hop.medium.notes.push(note);
            }
        }
    }
}
