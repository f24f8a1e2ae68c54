//! Proxies for packets of real hosts in an emulated network.
//!
//! The router of the proxy's node passes TCP packets of the served hosts to the proxy, which has
//! one of two forms ([`RealForm`]):
//!
//! - Real sockets end the connections. The router passes packets to a gate, one for each link or
//!   network at the node. Packets from the sockets enter by the same gates and take the usual
//!   routes. The emulator provides the sockets.
//! - The model handles the frames, as it handles the packets of modelled flows.

use crate::builder::{Builder, Ends};
use crate::host::Host;
use crate::scenario::Scenario;
use crate::serving::{passing, served, PlacedService};
use bentpipe_core::{FlowId, NodeId};
use bentpipe_networks::node::gate::Gate;
use bentpipe_networks::node::proxy::frames::Frames;
use bentpipe_networks::node::proxy::{self, at, split, RealForm};
use bentpipe_networks::node::service::{pair, ServedFlow, ServedPackets};
use bentpipe_networks::Construction;
use bentpipe_transport::{tcp, Config as Transport};
use std::collections::{BTreeMap, BTreeSet};

/// A splitting proxy whose connections real sockets carry.
pub struct RealProxy {
    /// Name of the proxy in the scenario.
    pub name: String,
    /// Configuration of the proxy.
    pub config: split::Config,
    /// The scenario's flows over real sockets that the proxy serves.
    pub flows: Vec<ServedFlow>,
    /// The sides of the proxy, by the names of their links.
    pub sides: Vec<Side>,
}

/// The side of a proxy towards a link or network.
pub struct Side {
    /// Name of the link or network.
    pub link: String,
    /// Nodes of the hosts beyond the link or network.
    pub hosts: Vec<NodeId>,
    /// The gate of the side, as a host at the proxy's node.
    pub gate: Host,
}

/// Returns the proxy of the scenario that a placed service is, if any.
fn proxy_at<'a>(scenario: &'a Scenario, placed: &PlacedService<'_>) -> Option<&'a proxy::Config> {
    scenario.proxy.get(usize::from(placed.number) - 1)
}

/// Returns the form in which the proxy handles packets of real hosts; `None` for other services.
pub fn form<'a>(scenario: &'a Scenario, placed: &PlacedService<'_>) -> Option<RealForm<'a>> {
    proxy_at(scenario, placed)?.mechanism.real_form()
}

/// Adds the proxies that handle packets of real hosts. Returns those of sockets, with gates
/// numbered from `first` on.
pub fn add(builder: &mut Builder<'_>, scenario: &Scenario, hosts: &[Host], first: u32) -> Vec<RealProxy> {
    let mut proxies = Vec::new();
    let mut number = first;
    for placed in scenario.services() {
        let Some(proxy) = proxy_at(scenario, &placed) else { continue };
        let flows: Vec<ServedFlow> = served(builder, scenario, &placed).into_iter().flatten().collect();
        let (modelled, real): (Vec<_>, Vec<_>) =
            flows.into_iter().partition(|served| scenario.flow[served.flow.0 as usize].is_modelled());
        // A proxy without a list of flows serves all connections, also those of programs.
        let pairs = pairs(builder, &placed, hosts, proxy.flows.is_some().then_some(&real));
        match proxy.mechanism.real_form() {
            Some(RealForm::Sockets(config)) => {
                let sides = sides(builder, &placed, pairs, &mut number);
                if !sides.is_empty() {
                    let name = placed.name.to_owned();
                    proxies.push(RealProxy { name, config: config.clone(), flows: real, sides });
                }
            }
            Some(RealForm::Frames) => add_model(builder, scenario, &placed, (modelled, real), pairs),
            None => {}
        }
    }
    proxies
}

/// The source and the destination of packets, and the links towards both.
type Pair = ([NodeId; 2], [String; 2]);

/// Returns the pairs of real hosts whose packets pass the proxy. With `flows`, only hosts of these
/// flows.
fn pairs(
    builder: &mut Builder<'_>,
    placed: &PlacedService<'_>,
    hosts: &[Host],
    flows: Option<&Vec<ServedFlow>>,
) -> Vec<Pair> {
    let node = builder.node(placed.node);
    let pairs = hosts.iter().flat_map(|one| hosts.iter().map(move |two| [one.node, two.node]));
    let connected: Option<BTreeSet<_>> =
        flows.map(|flows| flows.iter().map(|flow| pair(flow.ends)).collect());
    let is_served = |ends: &[NodeId; 2]| {
        ends[0] != ends[1] && connected.as_ref().is_none_or(|connected| connected.contains(&pair(*ends)))
    };
    pairs.filter(is_served).filter_map(|ends| Some((ends, passing(builder, node, ends).ok()?))).collect()
}

/// Adds a gate for each link towards the hosts.
fn sides(
    builder: &mut Builder<'_>,
    placed: &PlacedService<'_>,
    pairs: Vec<Pair>,
    number: &mut u32,
) -> Vec<Side> {
    let node = builder.node(placed.node);
    let mut sides: BTreeMap<String, (Vec<NodeId>, Vec<Ends>)> = BTreeMap::new();
    for (ends, [link, _]) in pairs {
        let (nodes, pairs) = sides.entry(link).or_default();
        if !nodes.contains(&ends[0]) {
            nodes.push(ends[0]);
        }
        pairs.push(ends.into());
    }
    let sides = sides.into_iter().map(|(link, (hosts, pairs))| {
        let name = at(&link, placed.name);
        let gate = Box::new(Gate::new(*number));
        let gate = builder.service(node, &name, ServedPackets::Passing, (Vec::new(), pairs), gate);
        *number += 1;
        Side { link, hosts, gate: Host { name, node, gate, stages: Vec::new() } }
    });
    sides.collect()
}

/// Adds the model of a proxy, which handles the packets of `modelled` flows and the frames of
/// `real` flows and of programs.
fn add_model(
    builder: &mut Builder<'_>,
    scenario: &Scenario,
    placed: &PlacedService<'_>,
    (modelled, mut real): (Vec<ServedFlow>, Vec<ServedFlow>),
    pairs: Vec<Pair>,
) {
    let numbers = modelled.iter().map(|served| served.flow).collect();
    let mut connected: BTreeSet<_> = real.iter().map(|flow| pair(flow.ends)).collect();
    for (ends, links) in &pairs {
        if connected.insert(pair(*ends)) {
            let number = FlowId((scenario.flow.len() + real.len()) as u32);
            let name = format!("{}-{}", builder.name(ends[0]), builder.name(ends[1]));
            real.push(of_programs(placed.number, (number, name), *ends, links));
        }
    }
    if modelled.is_empty() && pairs.is_empty() {
        return;
    }
    let flows = modelled.into_iter().chain(real.iter().cloned()).collect();
    let model = placed.service.build(placed.name, flows, builder);
    let hosts = pairs.into_iter().map(|(ends, _)| ends.into()).collect();
    let node = builder.node(placed.node);
    let stage = Box::new(Frames::new(placed.name, model, real));
    builder.service(node, placed.name, ServedPackets::Passing, (numbers, hosts), stage);
}

/// Returns the connections of programs between two hosts, as a flow.
fn of_programs(
    number: u16,
    (flow, name): (FlowId, String),
    ends: [NodeId; 2],
    links: &[String; 2],
) -> ServedFlow {
    ServedFlow {
        number,
        flow,
        name,
        ends,
        links: links.clone(),
        traced: Vec::new(),
        dscp: 0,
        transport: Transport::Tcp(tcp::Config::default()),
        calls: None,
    }
}
