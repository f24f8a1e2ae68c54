//! Builds a network that can run from a scenario.

use crate::builder::Builder;
use crate::change::Changes;
use crate::handovers;
use crate::host::Host;
use crate::layout::{lay, lay_with};
use crate::network::Network;
use crate::real_proxy::{self, RealProxy};
use crate::scenario::{Flow, Scenario};
use crate::serving::served;
use bentpipe_core::{FlowId, NodeId, Probe, Recorder, Stream, Streams, Table, Time};
use bentpipe_networks::multicast::Receiver;
use bentpipe_networks::node::edge::classify::{FlowEnds, Pattern};
use bentpipe_networks::node::edge::{self, Edge};
use bentpipe_networks::node::gate::{self, Gate};
use bentpipe_networks::node::proxy::RealForm;
use bentpipe_networks::node::service::ServedFlow;
use bentpipe_networks::{Construction, RadioLink, StageId};
use bentpipe_stage::Port;
use bentpipe_stage::Supply;
use bentpipe_transport::app::End;
use bentpipe_transport::hosting::{self, Site};
use bentpipe_transport::sending::saved_path::SavedPaths;
use bentpipe_transport::tcp::endpoint::MakeCongestion;
use bentpipe_transport::{self as transport, names, tcp, Control, EndpointParts};
use std::collections::BTreeMap;

/// Builds the network of `scenario` for replication number `run`, with traces to `recorder`.
///
/// # Panics
/// Panics if the scenario has not passed its check and [`Scenario::check_simulated`].
pub fn instantiate(scenario: &Scenario, seed: u64, run: u64, recorder: Recorder) -> Network {
    build(scenario, seed, run, recorder, None, false).network
}

/// A network with real hosts.
pub struct Emulated {
    /// The network with gates instead of hosts.
    pub network: Network,
    /// The hosts, in the order of the request.
    pub hosts: Vec<Host>,
    /// The radios of the machine's kernel, with gates numbered after those of the hosts.
    pub radios: Vec<(RadioLink, Host)>,
    /// The proxies over real sockets, with gates numbered after those of the radios.
    pub proxies: Vec<RealProxy>,
}

/// Builds the network of `scenario` with real hosts at the nodes `hosts`, in this order. Flows with
/// endpoints in the kernel have no ends in the model. With `radios`, radios of the machine's kernel
/// replace the models of networks that request them.
///
/// # Panics
/// Panics if the scenario has not passed its check.
pub fn instantiate_emulated(
    scenario: &Scenario,
    seed: u64,
    run: u64,
    recorder: Recorder,
    hosts: &[String],
    radios: bool,
) -> Emulated {
    build(scenario, seed, run, recorder, Some(hosts), radios)
}

/// Builds models of the ends of flows that have endpoints in the kernel, for a network that
/// [`instantiate_emulated`] has built with `hosts`. Returns the stage of each end, and a network
/// with the ends and with gates of the same numbers. Packets for an end enter its stage. Packets
/// from an end leave by the gate of its node.
///
/// # Panics
/// Panics if the scenario has not passed [`Scenario::check_simulated`], or if an end has no host.
pub fn instantiate_ends(
    scenario: &Scenario,
    seed: u64,
    run: u64,
    hosts: &[Host],
) -> (Network, BTreeMap<(FlowId, NodeId), StageId>) {
    let scenario = &*scenario.started(seed, run);
    let mut builder = Builder::new(Streams::new(seed, run), Recorder::default(), &scenario.record);
    let gates: Vec<StageId> = (0..hosts.len() as u32)
        .map(|number| builder.stage(&gate::name(&hosts[number as usize].name), Box::new(Gate::new(number))))
        .collect();
    let at = |name: &str| hosts.iter().position(|host| host.name == name).expect("every end has a host");
    let mut stages = BTreeMap::new();
    let mut layout = lay(scenario, Streams::new(seed, run), Recorder::default());
    let senders = scenario.senders();
    let flows = scenario.flow.iter().enumerate();
    for (index, flow) in flows.filter(|(_, flow)| !flow.is_modelled()) {
        let sender = &scenario.flow[senders[index]];
        let (id, from, to) = (FlowId(index as u32), at(&flow.from), at(&flow.to));
        for (end, own, peer) in [(End::Source, from, to), (End::Destination, to, from)] {
            let nodes = (hosts[own].node, hosts[peer].node);
            let (builder, layout) = (&mut builder, Some(&mut layout));
            let stage = add_end(EndSupply { builder, layout, scenario, flow, sender, end }, id, nodes);
            builder.wire((stage, Port(0)), (gates[own], gate::NETWORK));
            stages.insert((id, nodes.0), stage);
        }
    }
    (builder.finish(), stages)
}

fn build(
    scenario: &Scenario,
    seed: u64,
    run: u64,
    recorder: Recorder,
    hosts: Option<&[String]>,
    radios: bool,
) -> Emulated {
    let scenario = &*scenario.started(seed, run);
    let first = radios.then(|| hosts.map_or(0, |hosts| hosts.len() as u32));
    let mut builder = lay_with(scenario, Streams::new(seed, run), recorder, first);
    let (senders, groups) = (scenario.senders(), scenario.groups());
    let groups: BTreeMap<usize, &[usize]> =
        groups.iter().map(|(_, members)| (members[0], &**members)).collect();
    for (index, flow) in scenario.flow.iter().enumerate() {
        if hosts.is_none() || flow.is_modelled() {
            let receivers = groups.get(&index).copied().unwrap_or_default();
            add_flow(&mut builder, scenario, (index, senders[index]), receivers);
        }
    }
    add_edges(&mut builder, scenario);
    add_services(&mut builder, scenario, hosts.is_some());
    let names = hosts;
    let hosts = hosts.unwrap_or_default().iter().enumerate();
    let hosts = hosts.map(|(number, name)| add_host(&mut builder, number as u32, name));
    let mut hosts: Vec<Host> = hosts.collect();
    for host in &mut hosts {
        let modelled = |flow: &&Flow| flow.is_modelled();
        let mut ends = scenario.flow.iter().filter(modelled).flat_map(|flow| [&flow.from, &flow.to]);
        if !ends.any(|end| *end == host.name) {
            host.stages = builder.own_stages(host.node);
        }
    }
    let radios = builder.take_radios().into_iter().map(|(link, gate)| {
        let (name, node) = (format!("{}.{}", link.network, builder.name(link.node)), link.node);
        (link, Host { name, node, gate, stages: Vec::new() })
    });
    let radios: Vec<_> = radios.collect();
    let first = (hosts.len() + radios.len()) as u32;
    let proxies = names.map_or_else(Vec::new, |_| real_proxy::add(&mut builder, scenario, &hosts, first));
    let mut network = builder.finish();
    network.expect_changes(Changes::of(scenario));
    Emulated { network, hosts, radios, proxies }
}

fn add_edges(builder: &mut Builder<'_>, scenario: &Scenario) {
    for (name, rules) in &scenario.edge {
        let patterns = rules.iter().map(|rule| {
            let nodes = |names: &[String], builder: &mut Builder<'_>| {
                names.iter().map(|name| builder.node(name)).collect::<Vec<_>>()
            };
            let flows = scenario.flow.iter().enumerate().filter(|(_, flow)| rule.flow.contains(&flow.name));
            let known = flows.map(|(index, flow)| {
                let (from, to) = (builder.node(&flow.from), builder.node(&flow.to));
                FlowEnds { flow: FlowId(index as u32), from, to }
            });
            let pattern = Pattern {
                flows: known.collect(),
                from: nodes(&rule.from, builder),
                to: nodes(&rule.to, builder),
                protocol: rule.protocol,
                dscp: rule.dscp.clone(),
            };
            (rule, pattern)
        });
        let patterns: Vec<_> = patterns.collect();
        let stream = builder.stream(&edge::stream_name(name));
        let node = builder.node(name);
        builder.condition(node, Edge::new(name, patterns.into_iter(), stream));
    }
}

fn add_host(builder: &mut Builder<'_>, number: u32, name: &str) -> Host {
    let node = builder.node(name);
    let gate = builder.stage(&gate::name(name), Box::new(Gate::new(number)));
    builder.host(node, (gate, gate::NETWORK), (gate, Port(0)));
    Host { name: name.to_owned(), node, gate, stages: Vec::new() }
}

impl tcp::Supply for Builder<'_> {
    fn congestion(&mut self, control: Control<'_>) -> MakeCongestion {
        congestion(control)
    }
}

/// Adds the proxies and services. In an emulation, they serve the flows with endpoints in the
/// model, and [`real_proxy`] adds the proxies for real hosts.
fn add_services(builder: &mut Builder<'_>, scenario: &Scenario, is_emulated: bool) {
    for at in scenario.services() {
        if is_emulated && real_proxy::form(scenario, &at) == Some(RealForm::Frames) {
            continue;
        }
        let flows = served(builder, scenario, &at).into_iter().flatten();
        let is_modelled = |served: &ServedFlow| scenario.flow[served.flow.0 as usize].is_modelled();
        let flows: Vec<_> = flows.filter(|served| !is_emulated || is_modelled(served)).collect();
        if is_emulated && flows.is_empty() {
            continue;
        }
        let numbers = flows.iter().map(|served| served.flow).collect();
        let stage = at.service.build(at.name, flows, builder);
        let node = builder.node(at.node);
        builder.service(node, at.name, at.service.served_packets(), (numbers, Vec::new()), stage);
    }
}

/// Adds the ends of flow `index`, whose packets the source of flow `sender` sends. The first flow
/// of a multicast group has `receivers`, the numbers of the flows of the group.
fn add_flow(
    builder: &mut Builder<'_>,
    scenario: &Scenario,
    (index, sender): (usize, usize),
    receivers: &[usize],
) {
    let (id, flow, sender) = (FlowId(index as u32), &scenario.flow[index], &scenario.flow[sender]);
    let (from, to) = (builder.node(&flow.from), builder.node(&flow.to));
    let mut ends = vec![(End::Source, from, to, vec![id]), (End::Destination, to, from, vec![id])];
    if !receivers.is_empty() {
        let receiver = |flow: &usize| Receiver {
            flow: FlowId(*flow as u32),
            name: scenario.flow[*flow].name.clone(),
            node: builder.node(&scenario.flow[*flow].to),
        };
        let receivers: Vec<Receiver> = receivers.iter().map(receiver).collect();
        let flows = receivers.iter().map(|receiver| receiver.flow).collect();
        ends[0] = (End::Source, from, builder.multicast(from, receivers), flows);
    } else if flow.multicast.is_some() {
        ends.remove(0);
    }
    for (end, node, peer, flows) in ends {
        if end == End::Destination && scenario.has_stand_in(flow) {
            continue;
        }
        let stage =
            add_end(EndSupply { builder, layout: None, scenario, flow, sender, end }, id, (node, peer));
        builder.endpoint(node, &flows, (stage, Port(0)), (stage, Port(0)));
    }
}

/// Creates a factory of congestion controls.
fn congestion(control: Control<'_>) -> MakeCongestion {
    let (name, parameters) = (control.name.to_owned(), control.parameters.clone());
    Box::new(move || bentpipe_congestion::create(&name, &parameters).expect("the scenario has been checked"))
}

/// Adds one end of a flow at `node`; the other end is at `peer`. The stage has input port 0 and
/// output port 0.
fn add_end(mut ends: EndSupply<'_, '_>, id: FlowId, (node, peer): (NodeId, NodeId)) -> StageId {
    let EndSupply { builder, flow, sender, end, .. } = &mut ends;
    let end = *end;
    let stage_name = names::end(&flow.name, end);
    let site = Site {
        flow: id,
        name: flow.name.clone(),
        node,
        peer,
        end,
        start: Time::ZERO + flow.start,
        dscp: flow.dscp.value(),
        details: builder.details(),
        capture: None,
    };
    let plan = builder.stream(&names::plan(&sender.name));
    let (common, calls) = (plan.clone().bits(), flow.app.calls().cloned());
    let app = flow.app.build(end, plan);
    let transactions = (end == End::Source && flow.app.has_transactions())
        .then(|| builder.probe(&hosting::TRACE, &flow.name))
        .flatten();
    let measures = flow.app.measures().filter(|_| end == End::Destination || flow.app.measures_both());
    let measures = measures.and_then(|table| builder.probe(table, &site.incoming()));
    let stream = builder.stream(&stage_name);
    let traced = flow.app.connections().traced();
    let parts = EndpointParts { site, app, calls, traced, transactions, measures, stream, common };
    let stage = flow.transport.build(parts, &mut ends);
    ends.builder.stage(&stage_name, stage)
}

/// The services to a transport while an end of a flow is built.
struct EndSupply<'a, 'b> {
    builder: &'a mut Builder<'b>,
    /// Builder with the paths, if `builder` does not have them.
    layout: Option<&'a mut Builder<'b>>,
    scenario: &'a Scenario,
    flow: &'a Flow,
    /// The flow whose source sends the packets.
    sender: &'a Flow,
    end: End,
}

impl Supply for EndSupply<'_, '_> {
    fn stream(&mut self, name: &str) -> Stream {
        self.builder.stream(name)
    }

    fn probe(&mut self, table: &'static Table, entity: &str) -> Option<Probe> {
        self.builder.probe(table, entity)
    }
}

impl tcp::Supply for EndSupply<'_, '_> {
    fn congestion(&mut self, control: Control<'_>) -> MakeCongestion {
        congestion(control)
    }
}

impl transport::Supply for EndSupply<'_, '_> {
    fn with_handover_signals(&mut self, config: &tcp::Config) -> tcp::Config {
        let layout = self.layout.as_deref_mut().unwrap_or(self.builder);
        handovers::with_handover_signals(layout, self.scenario, self.flow, config, self.end)
    }

    fn path_changes(&mut self) -> Vec<Time> {
        let layout = self.layout.as_deref_mut().unwrap_or(self.builder);
        handovers::path_changes(layout, self.scenario, self.flow)
    }

    fn saved_paths(&mut self) -> SavedPaths {
        self.builder.saved_paths()
    }
}
