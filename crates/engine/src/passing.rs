//! Which flows pass a proxy.

use crate::builder::Builder;
use crate::scenario::{Flow, Scenario};
use bentpipe_core::{FlowId, NodeId};
use bentpipe_models::app::End;
use bentpipe_models::net::proxy::{self, Passing};
use bentpipe_models::network::Construction;

/// Why a proxy does not serve a flow.
pub enum Obstacle {
    /// It was not asked to.
    NotNamed,
    /// The flow is not over TCP.
    NotTcp,
    /// The flow begins or ends at the node.
    AtItsEnd,
    /// It takes another way, over these nodes.
    Elsewhere(Vec<String>),
    /// It passes in one direction only, as there and back are different ways.
    OneWay,
}

/// Each flow of the scenario with how it passes `proxy`, or why it does not.
pub fn passing<'a>(
    builder: &mut Builder<'_>,
    scenario: &'a Scenario,
    proxy: &proxy::Config,
) -> Vec<Result<Passing, (&'a Flow, Obstacle)>> {
    let node = builder.node(&proxy.node);
    let flows = scenario.flow.iter().zip(0..);
    let one = |(flow, index)| one(builder, (proxy, node), flow, FlowId(index)).map_err(|why| (flow, why));
    flows.map(one).collect()
}

fn one(
    builder: &mut Builder<'_>,
    (proxy, node): (&proxy::Config, NodeId),
    flow: &Flow,
    id: FlowId,
) -> Result<Passing, Obstacle> {
    if !proxy.flows.is_empty() && !proxy.flows.contains(&flow.name) {
        return Err(Obstacle::NotNamed);
    }
    if !flow.is_tcp() {
        return Err(Obstacle::NotTcp);
    }
    let ends = [builder.node(&flow.from), builder.node(&flow.to)];
    if ends.contains(&node) {
        return Err(Obstacle::AtItsEnd);
    }
    // The way towards each end as it leaves the node.
    let towards = |from: NodeId, to: NodeId| {
        let path = builder.path(from, to).unwrap_or_default();
        let way = path.iter().find(|(at, _)| *at == node).map(|(_, way)| (*way).to_owned());
        (path, way)
    };
    let (path, destination) = towards(ends[0], ends[1]);
    let (_, source) = towards(ends[1], ends[0]);
    let ways = match (source, destination) {
        (Some(source), Some(destination)) => [source, destination],
        (None, None) => {
            let nodes = path.iter().map(|(at, _)| *at).chain([ends[1]]);
            return Err(Obstacle::Elsewhere(nodes.map(|node| builder.name(node).to_owned()).collect()));
        }
        _ => return Err(Obstacle::OneWay),
    };
    let names = |number| flow.traced_as(End::Source, number);
    let traced = (0..flow.app.connections().traced()).map(names).map(<[String; 2]>::from).collect();
    Ok(Passing { flow: id, name: flow.name.clone(), ends, ways, traced })
}
