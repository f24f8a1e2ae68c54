//! Puts a network together: nodes with their routers, stages, wires, routes. Kinds of networks and links add
//! themselves through it.

use crate::network::{Graph, Network, StageId};
use crate::routes::{incoming, towards, Edge};
use bentpipe_core::{FlowId, NodeId, Probe, Recorder, Span, Stream, Streams, Table};
use bentpipe_models::net::constellation::{self, routes::Exit, Constellation, FlowPath};
use bentpipe_models::net::edge;
use bentpipe_models::net::router::Router;
use bentpipe_models::{Outbox, Port, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// A node under construction.
struct Node {
    stage: StageId,
    router: Router,
    /// In port of a stage for each out port of the router.
    exits: Vec<(StageId, Port)>,
    /// Out ports that lead here from the network.
    arrivals: Vec<(StageId, Port)>,
    /// Out ports of the endpoints here.
    departures: Vec<(StageId, Port)>,
    /// Out ports of the router that lead to endpoints.
    endpoints: Vec<Port>,
    /// Whether packets must pass its router, though there is one way out: they are captured, conditioned or handed to proxies there.
    looks: bool,
    /// The proxies here and the flows that each serves.
    proxies: Vec<(StageId, Vec<FlowId>)>,
}

/// A network whose ways change while it runs, under construction.
struct Hub<'a> {
    stage: StageId,
    name: &'a str,
    config: &'a constellation::Config,
    /// In the order of the configuration.
    sites: Vec<NodeId>,
}

/// Which traces are written and where packets are captured.
pub trait Wanted {
    /// Whether rows of `table` are written.
    fn traces(&self, table: &Table) -> bool;
    /// Whether destinations measure details.
    fn details(&self) -> bool;
    /// The capture interface of a node, if its packets are captured.
    fn interface(&self, node: &str) -> Option<u32>;
}

/// A network under construction.
pub struct Builder<'a> {
    graph: Graph,
    streams: Streams,
    recorder: Recorder,
    wanted: &'a dyn Wanted,
    nodes: Vec<Node>,
    ids: BTreeMap<String, NodeId>,
    edges: Vec<Edge>,
    /// Names of the links and networks.
    ways: Vec<&'a str>,
    hubs: Vec<Hub<'a>>,
    /// Names and ends of the flows, by number.
    flows: Vec<(&'a str, NodeId, NodeId)>,
    destinations: BTreeSet<NodeId>,
}

impl<'a> Builder<'a> {
    /// Nothing yet; traces go to `recorder`.
    pub fn new(streams: Streams, recorder: Recorder, wanted: &'a dyn Wanted) -> Builder<'a> {
        Builder {
            graph: Graph::default(),
            streams,
            recorder,
            wanted,
            nodes: Vec::new(),
            ids: BTreeMap::new(),
            edges: Vec::new(),
            ways: Vec::new(),
            hubs: Vec::new(),
            flows: Vec::new(),
            destinations: BTreeSet::new(),
        }
    }

    /// The node of this name, made if it is not there yet.
    pub fn node(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id =
            NodeId(u16::try_from(self.nodes.len()).expect("the scenario's check bounds the number of nodes"));
        let stage = self.graph.reserve(name);
        let interface = self.wanted.interface(name);
        self.nodes.push(Node {
            stage,
            router: Router::new(id, interface),
            exits: Vec::new(),
            arrivals: Vec::new(),
            departures: Vec::new(),
            endpoints: Vec::new(),
            looks: interface.is_some(),
            proxies: Vec::new(),
        });
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// Adds a stage under a name that no other has.
    pub fn stage(&mut self, name: &str, stage: impl Stage + 'static) -> StageId {
        self.graph.add(name, Box::new(stage))
    }

    /// What is added next belongs to the link or network `name`.
    pub fn begin(&mut self, name: &'a str) {
        self.ways.push(name);
    }

    /// Leads an out port to an in port.
    pub fn wire(&mut self, from: (StageId, Port), to: (StageId, Port)) {
        self.graph.wire(from, to);
    }

    /// Leads an out port of the network to a node.
    pub fn into_node(&mut self, from: (StageId, Port), node: NodeId) {
        self.nodes[node.0 as usize].arrivals.push(from);
    }

    /// A way from `from` to `to` that begins at the in port `entry`, with the propagation delay that routing counts.
    pub fn edge(&mut self, from: NodeId, to: NodeId, entry: (StageId, Port), delay: Span) {
        let port = self.out_of_node(from, entry);
        self.add_edge(from, to, port, delay);
    }

    fn add_edge(&mut self, from: NodeId, to: NodeId, port: Port, delay: Span) {
        let way = self.ways.len().checked_sub(1).expect("every edge belongs to a link or network") as u32;
        self.edges.push(Edge { from, to, port, delay, way });
    }

    /// Adds constellation `name`, which decides on the ways between its sites itself. Routing from elsewhere counts the delay that
    /// [`constellation::Config::expected_delay`] gives.
    pub fn constellation(&mut self, name: &'a str, config: &'a constellation::Config) {
        let stage = self.graph.reserve(name);
        let sites: Vec<NodeId> = config.sites.keys().map(|site| self.node(site)).collect();
        for (index, (&from, at)) in sites.iter().zip(config.sites.values()).enumerate() {
            let port = self.out_of_node(from, (stage, Port(index as u16)));
            self.into_node((stage, Port(index as u16)), from);
            for (&to, other) in sites.iter().zip(config.sites.values()).filter(|(to, _)| **to != from) {
                self.add_edge(from, to, port, config.expected_delay(at, other));
            }
        }
        self.hubs.push(Hub { stage, name, config, sites });
    }

    /// Says where the next flow begins and ends, whatever stands there.
    pub fn flow(&mut self, name: &'a str, from: NodeId, to: NodeId) {
        self.flows.push((name, from, to));
    }

    /// The endpoint of `flow` at `node`: its in port and its out port.
    pub fn endpoint(&mut self, node: NodeId, flow: FlowId, entry: (StageId, Port), exit: (StageId, Port)) {
        let port = self.out_of_node(node, entry);
        let at = &mut self.nodes[node.0 as usize];
        at.router.set_endpoint(flow, port);
        at.endpoints.push(port);
        at.departures.push(exit);
        self.destinations.insert(node);
    }

    /// The gate to the real host at `node`: its in port and its out port.
    pub fn host(&mut self, node: NodeId, entry: (StageId, Port), exit: (StageId, Port)) {
        let port = self.out_of_node(node, entry);
        let at = &mut self.nodes[node.0 as usize];
        at.router.set_host(port);
        at.endpoints.push(port);
        at.departures.push(exit);
        self.destinations.insert(node);
    }

    /// Makes a node the edge of a DiffServ domain.
    pub fn condition(&mut self, node: NodeId, edge: edge::Edge) {
        let at = &mut self.nodes[node.0 as usize];
        at.router.set_edge(edge);
        at.looks = true;
    }

    /// The stages by which packets leave and reach a node with one neighbour; none for any other node.
    pub fn own_ways(&self, node: NodeId) -> Vec<StageId> {
        let out: BTreeSet<Port> =
            self.edges.iter().filter(|edge| edge.from == node).map(|edge| edge.port).collect();
        let at = &self.nodes[node.0 as usize];
        match (out.len(), out.first(), &at.arrivals[..]) {
            (1, Some(port), [(arrival, _)]) => vec![at.exits[port.0 as usize].0, *arrival],
            _ => Vec::new(),
        }
    }

    /// The way from one node to another, or nothing when there is none: every node on it but the last, with the link or
    /// network by which it is left.
    pub fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<(NodeId, &'a str)>> {
        let count = self.nodes.len();
        let ways = towards(to, count, &self.edges, &incoming(count, &self.edges));
        let (mut at, mut path) = (from, Vec::new());
        while at != to {
            let edge = &self.edges[ways[at.0 as usize]? as usize];
            path.push((at, self.ways[edge.way as usize]));
            at = edge.to;
        }
        Some(path)
    }

    /// The delay by which a way leaves a node, the least if it leads to several.
    pub fn delay(&self, node: NodeId, way: &str) -> Span {
        let here = self.edges.iter().filter(|edge| edge.from == node && self.ways[edge.way as usize] == way);
        here.map(|edge| edge.delay).min().unwrap_or(Span::ZERO)
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        self.ids.iter().find(|(_, id)| **id == node).map_or("", |(name, _)| name)
    }

    /// Puts a proxy between a node and the packets of `flows` that pass it.
    pub fn proxy(&mut self, node: NodeId, name: &str, flows: Vec<FlowId>, stage: Box<dyn Stage>) {
        let stage = self.graph.add(name, stage);
        let at = &mut self.nodes[node.0 as usize];
        at.proxies.push((stage, flows));
        at.looks = true;
    }

    fn out_of_node(&mut self, node: NodeId, to: (StageId, Port)) -> Port {
        let node = &mut self.nodes[node.0 as usize];
        node.exits.push(to);
        Port(node.exits.len() as u16 - 1)
    }

    /// The random stream of a stage.
    pub fn stream(&self, name: &str) -> Stream {
        self.streams.stream(name)
    }

    /// Whether destinations measure details.
    pub fn details(&self) -> bool {
        self.wanted.details()
    }

    /// A probe on `table` for `entity`, when the scenario wants that trace.
    pub fn probe(&mut self, table: &'static Table, entity: &str) -> Option<Probe> {
        self.wanted.traces(table).then(|| self.recorder.open(table, entity))
    }

    /// Computes the routes and finishes.
    pub fn finish(mut self) -> Network {
        let count = self.nodes.len();
        let into = incoming(count, &self.edges);
        // By the ways out of each node: those into a constellation lead to several nodes over one.
        let mut out_degree = vec![0u32; count];
        let mut way_out = vec![None; count];
        let ways: BTreeSet<(NodeId, Port)> = self.edges.iter().map(|edge| (edge.from, edge.port)).collect();
        for (node, port) in ways {
            out_degree[node.0 as usize] += 1;
            way_out[node.0 as usize] = Some(port);
        }
        for (node, &port) in way_out.iter().enumerate().filter(|(node, _)| out_degree[*node] == 1) {
            self.nodes[node].router.set_default(port.expect("there is one way out"));
        }
        let mut exits: Vec<BTreeMap<NodeId, Vec<Exit>>> = vec![BTreeMap::new(); self.hubs.len()];
        for &destination in &self.destinations {
            let ways = towards(destination, count, &self.edges, &into);
            for (hub, exits) in self.hubs.iter().zip(&mut exits) {
                exits.insert(destination, self.exits(hub, destination, &ways));
            }
            for (index, edge) in ways.into_iter().enumerate() {
                // A node with one way out sends everything there; a table of a thousand equal routes is only weight.
                if let (Some(edge), true) = (edge, out_degree[index] > 1) {
                    self.nodes[index].router.set_route(destination, self.edges[edge as usize].port);
                }
            }
        }
        for (hub, exits) in std::mem::take(&mut self.hubs).into_iter().zip(exits) {
            let stage = self.build_constellation(&hub, exits);
            self.graph.fill(hub.stage, Box::new(stage));
        }
        self.place_proxies();
        for (index, node) in self.nodes.into_iter().enumerate() {
            // A node with one way out has nothing to decide: what it sends goes there, and what arrives is for its
            // endpoint if it has only one. Its router is then passed by, which saves half of the calls per packet.
            let decides = node.looks || out_degree[index] != 1;
            let (depart_to, arrive_at) = match (way_out[index], &node.endpoints[..]) {
                (Some(port), [only]) if !decides => (Some(port), Some(*only)),
                (Some(port), _) if !decides => (Some(port), None),
                _ => (None, None),
            };
            let target =
                |port: Option<Port>| port.map_or((node.stage, Port(0)), |port| node.exits[port.0 as usize]);
            for &from in &node.departures {
                self.graph.wire(from, target(depart_to));
            }
            for &from in &node.arrivals {
                self.graph.wire(from, target(arrive_at));
            }
            for (port, &to) in node.exits.iter().enumerate() {
                self.graph.wire((node.stage, Port(port as u16)), to);
            }
            self.graph.fill_router(node.stage, node.router);
        }
        self.graph.finish(Outbox::new(self.recorder))
    }

    /// Leads the packets that proxies are to see to them. What these send is routed by a second router, which is as the first
    /// was without them.
    fn place_proxies(&mut self) {
        for (name, id) in &self.ids {
            let node = &mut self.nodes[id.0 as usize];
            if node.proxies.is_empty() {
                continue;
            }
            let beyond = self.graph.reserve(format!("{name}.beyond"));
            for (port, &to) in node.exits.iter().enumerate() {
                self.graph.wire((beyond, Port(port as u16)), to);
            }
            self.graph.fill_router(beyond, node.router.beyond());
            for (stage, flows) in &node.proxies {
                node.exits.push((*stage, Port(0)));
                let port = Port(node.exits.len() as u16 - 1);
                flows.iter().for_each(|flow| node.router.set_proxy(*flow, port));
                self.graph.wire((*stage, Port(0)), (beyond, Port(0)));
            }
        }
    }

    /// The sites by which packets can leave `hub` for `destination`, and do not come back to it.
    fn exits(&self, hub: &Hub<'_>, destination: NodeId, ways: &[Option<u32>]) -> Vec<Exit> {
        let beyond = |site: NodeId| {
            let (mut at, mut delay) = (site, Span::ZERO);
            while at != destination {
                let edge = &self.edges[ways[at.0 as usize]? as usize];
                if self.nodes[at.0 as usize].exits[edge.port.0 as usize].0 == hub.stage {
                    return None;
                }
                delay += edge.delay;
                at = edge.to;
            }
            Some(delay)
        };
        let sites = hub.sites.iter().enumerate();
        sites.filter_map(|(index, &site)| Some(Exit { site: index as u32, beyond: beyond(site)? })).collect()
    }

    fn build_constellation(
        &mut self,
        hub: &Hub<'_>,
        destinations: BTreeMap<NodeId, Vec<Exit>>,
    ) -> Constellation {
        let handovers =
            hub.config.sites.keys().map(|site| self.probe(&constellation::HANDOVER, site)).collect();
        let flows = self.flows.clone().into_iter().map(|(name, from, to)| {
            let forth = FlowPath {
                destination: to,
                probe: self.probe(&constellation::PATH, name),
                flow: Some(name.to_owned()),
            };
            let back = self.probe(&constellation::PATH, &format!("{name}.reverse"));
            [forth, FlowPath { destination: from, probe: back, flow: None }]
        });
        let flows = flows.collect();
        let (name, streams) = (hub.name.to_owned(), self.streams);
        Constellation::new(hub.config, constellation::Parts { name, destinations, streams, handovers, flows })
    }
}
