//! Assignment of flows to proxies and services.

use crate::builder::Builder;
use crate::layout::lay;
use crate::scenario::{Flow, Scenario};
use bentpipe_core::{FlowId, NodeId, Recorder, Streams};
use bentpipe_networks::node::service::{ServedFlow, ServedPackets, Service};
use bentpipe_networks::Construction;
use bentpipe_transport::app::End;
use bentpipe_transport::names;

/// A proxy or a service of a scenario.
#[derive(Clone, Copy)]
pub struct PlacedService<'a> {
    /// The index of the proxy or service in [`Scenario::services`], from 1.
    pub number: u16,
    /// The list to which it belongs, which is also its kind in messages.
    pub list: &'static str,
    pub name: &'a str,
    pub node: &'a str,
    /// False for a proxy that the scenario switches off.
    pub enabled: bool,
    /// The flows that it must serve; all flows that it can serve if `None`.
    pub flows: Option<&'a [String]>,
    pub service: &'a dyn Service,
    /// The key of its mechanism or role in the scenario.
    pub key: &'static str,
}

impl Scenario {
    /// Returns the proxies and services that run: first the proxies, then the services, each in the
    /// order of the scenario.
    pub(crate) fn services(&self) -> impl Iterator<Item = PlacedService<'_>> {
        self.all_services().filter(|at| at.enabled)
    }

    /// Returns the proxies and services, including proxies that are switched off.
    pub(crate) fn all_services(&self) -> impl Iterator<Item = PlacedService<'_>> {
        let proxies = self.proxy.iter().map(|proxy| PlacedService {
            number: 0,
            list: "proxy",
            name: &proxy.name,
            node: &proxy.node,
            enabled: proxy.enabled,
            flows: proxy.flows.as_deref(),
            service: &proxy.mechanism,
            key: "mechanism",
        });
        let services = self.service.iter().map(|service| PlacedService {
            number: 0,
            list: "service",
            name: &service.name,
            node: &service.node,
            enabled: true,
            flows: service.flows.as_deref(),
            service: &*service.role,
            key: "role",
        });
        proxies.chain(services).zip(1..).map(|(at, number)| PlacedService { number, ..at })
    }

    /// Returns true if a service replaces a flow's destination.
    pub(crate) fn has_stand_in(&self, flow: &Flow) -> bool {
        self.services().any(|at| at.stands_in(flow))
    }
}

impl PlacedService<'_> {
    /// Returns true if the service must serve a flow.
    pub fn is_for(&self, flow: &Flow) -> bool {
        self.flows.is_none_or(|flows| flows.contains(&flow.name))
    }

    fn stands_in(&self, flow: &Flow) -> bool {
        self.service.served_packets() == ServedPackets::Addressed
            && self.node == *flow.to
            && self.is_for(flow)
            && self.service.incompatibility(&flow.transport).is_none()
    }
}

/// The reason why a flow is not served.
pub enum Obstacle {
    /// The service's `flows` does not name the flow.
    NotNamed,
    /// The service cannot serve such flows, for this reason.
    Refused(&'static str),
    /// The flow starts at the node, or ends there although the service only takes passing packets.
    AtItsEnd,
    /// The flow ends elsewhere, and the service's `flows` does not name it.
    EndsElsewhere,
    /// The flow takes another path, over these nodes.
    Elsewhere(Vec<String>),
    /// The flow passes the node in one direction only, because its directions take different paths.
    OneWay,
}

/// Returns each flow of the scenario as seen by a service, or the reason why the service does not
/// serve the flow.
pub fn served<'a>(
    builder: &mut Builder<'_>,
    scenario: &'a Scenario,
    at: &PlacedService<'_>,
) -> Vec<Result<ServedFlow, (&'a Flow, Obstacle)>> {
    let flows = scenario.flow.iter().zip(0..);
    let one = |(flow, index)| one(builder, at, flow, FlowId(index)).map_err(|why| (flow, why));
    flows.map(one).collect()
}

fn one(
    builder: &mut Builder<'_>,
    at: &PlacedService<'_>,
    flow: &Flow,
    id: FlowId,
) -> Result<ServedFlow, Obstacle> {
    if !at.is_for(flow) {
        return Err(Obstacle::NotNamed);
    }
    if let Some(why) = at.service.incompatibility(&flow.transport) {
        return Err(Obstacle::Refused(why));
    }
    let node = builder.node(at.node);
    let ends = [builder.node(&flow.from), builder.node(&flow.to)];
    let links = match at.service.served_packets() {
        ServedPackets::Passing => passing(builder, node, ends)?,
        ServedPackets::Addressed => addressed(builder, node, ends, at.flows.is_some())?,
    };
    let names = |number| names::traced_as(&flow.name, End::Source, number);
    let traced = (0..flow.app.connections().traced()).map(names).map(<[String; 2]>::from).collect();
    Ok(ServedFlow {
        number: at.number,
        flow: id,
        name: flow.name.clone(),
        ends,
        links,
        traced,
        dscp: flow.dscp.value(),
        transport: flow.transport.clone(),
        calls: flow.app.calls().cloned(),
    })
}

/// Returns the indices of the proxies that end the connections of each flow. The first list has
/// the proxies in the order of data from the flow's source, and the second in the order of data
/// from its destination.
pub fn splits(scenario: &Scenario) -> Vec<[Vec<usize>; 2]> {
    let is_split = |at: &PlacedService<'_>| {
        let proxy = scenario.proxy.get(usize::from(at.number) - 1);
        proxy.is_some_and(|proxy| proxy.mechanism.splits())
    };
    if !scenario.services().any(|at| is_split(&at)) {
        return vec![[Vec::new(), Vec::new()]; scenario.flow.len()];
    }
    let mut found = vec![[Vec::new(), Vec::new()]; scenario.flow.len()];
    let mut builder = lay(scenario, Streams::new(0, 0), Recorder::default());
    for at in scenario.services().filter(is_split) {
        let node = builder.node(at.node);
        for served in served(&mut builder, scenario, &at).into_iter().flatten() {
            let [from, to] = served.ends;
            for (direction, (from, to)) in [(from, to), (to, from)].into_iter().enumerate() {
                let path = builder.path(from, to).unwrap_or_default();
                let place = path.iter().position(|(at, _)| *at == node);
                found[served.flow.0 as usize][direction].push((place, usize::from(at.number) - 1));
            }
        }
    }
    let in_order = |mut places: Vec<(Option<usize>, usize)>| {
        places.sort();
        places.into_iter().map(|(_, proxy)| proxy).collect()
    };
    found.into_iter().map(|directions| directions.map(in_order)).collect()
}

/// Returns the links or networks towards both ends of a flow that passes `node`.
pub fn passing(builder: &Builder<'_>, node: NodeId, ends: [NodeId; 2]) -> Result<[String; 2], Obstacle> {
    if ends.contains(&node) {
        return Err(Obstacle::AtItsEnd);
    }
    // The first link or network after the node on the path towards each end.
    let towards = |from: NodeId, to: NodeId| {
        let path = builder.path(from, to).unwrap_or_default();
        let link = path.iter().find(|(at, _)| *at == node).map(|(_, link)| (*link).to_owned());
        (path, link)
    };
    let (path, destination) = towards(ends[0], ends[1]);
    let (_, source) = towards(ends[1], ends[0]);
    match (source, destination) {
        (Some(source), Some(destination)) => Ok([source, destination]),
        (None, None) => {
            let nodes = path.iter().map(|(at, _)| *at).chain([ends[1]]);
            Err(Obstacle::Elsewhere(nodes.map(|node| builder.name(node).to_owned()).collect()))
        }
        _ => Err(Obstacle::OneWay),
    }
}

/// Returns the links or networks from `node` towards both ends of a flow whose packets are
/// addressed to it.
fn addressed(
    builder: &Builder<'_>,
    node: NodeId,
    ends: [NodeId; 2],
    named: bool,
) -> Result<[String; 2], Obstacle> {
    if ends[0] == node {
        return Err(Obstacle::AtItsEnd);
    }
    if ends[1] != node && !named {
        return Err(Obstacle::EndsElsewhere);
    }
    let towards = |end: NodeId| {
        let path = builder.path(node, end).unwrap_or_default();
        path.first().map_or_else(String::new, |(_, link)| (*link).to_owned())
    };
    Ok(ends.map(towards))
}
