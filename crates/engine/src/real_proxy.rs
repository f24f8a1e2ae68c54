//! Splitting proxies of an emulated network, whose connections real sockets carry.
//!
//! The router of the proxy's node passes TCP packets of the served hosts to a gate, one for each
//! link or network at the node. Packets from the sockets enter by the same gates and take the usual
//! routes. The emulator provides the sockets.

use crate::builder::{Builder, Ends};
use crate::host::Host;
use crate::scenario::Scenario;
use crate::serving::{passing, served};
use bentpipe_core::NodeId;
use bentpipe_networks::node::proxy::{at, split, Mechanism};
use bentpipe_networks::node::service::ServedFlow;
use bentpipe_networks::Construction;
use std::collections::BTreeMap;

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

/// Adds the proxies that split connections of real hosts. Their gates are numbered from `first` on.
pub fn add(builder: &mut Builder<'_>, scenario: &Scenario, hosts: &[Host], first: u32) -> Vec<RealProxy> {
    let mut proxies = Vec::new();
    let mut number = first;
    for placed in scenario.services() {
        let Some(proxy) = scenario.proxy.get(usize::from(placed.number) - 1) else { continue };
        let Mechanism::Split(config) = &proxy.mechanism else { continue };
        let node = builder.node(placed.node);
        let flows = served(builder, scenario, &placed).into_iter().flatten();
        let is_real = |served: &ServedFlow| !scenario.flow[served.flow.0 as usize].is_modelled();
        let flows: Vec<ServedFlow> = flows.filter(is_real).collect();
        let mut sides: BTreeMap<String, (Vec<NodeId>, Vec<Ends>)> = BTreeMap::new();
        let pairs = hosts.iter().flat_map(|one| hosts.iter().map(move |two| [one.node, two.node]));
        for ends in pairs.filter(|[from, to]| from != to) {
            // A proxy without a list of flows serves all connections, also those of programs.
            let is_served = proxy.flows.is_none()
                || flows.iter().any(|flow| flow.ends == ends || flow.ends == [ends[1], ends[0]]);
            let Some([link, _]) = passing(builder, node, ends).ok().filter(|_| is_served) else { continue };
            let (nodes, pairs) = sides.entry(link).or_default();
            if !nodes.contains(&ends[0]) {
                nodes.push(ends[0]);
            }
            pairs.push((ends[0], ends[1]));
        }
        let sides = sides.into_iter().map(|(link, (hosts, pairs))| {
            let name = at(&link, placed.name);
            let gate = builder.proxy(node, &name, number, pairs);
            number += 1;
            Side { link, hosts, gate: Host { name, node, gate, stages: Vec::new() } }
        });
        let sides: Vec<Side> = sides.collect();
        if !sides.is_empty() {
            proxies.push(RealProxy { name: placed.name.to_owned(), config: config.clone(), flows, sides });
        }
    }
    proxies
}
