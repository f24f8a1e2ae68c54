//! Assembles a network: nodes with their routers, stages, wires and routes. Links and networks use
//! [`Builder`] to add their stages.

use crate::multicast::Tree;
use crate::network::{Graph, Network};
use crate::routes::{Edge, Routes};
use crate::scenario::Record;
use bentpipe_core::{FlowId, NodeId, Probe, Recorder, Span, Stream, Streams, Table};
use bentpipe_networks::multicast::{Copying, Groups, Receiver};
use bentpipe_networks::node::edge;
use bentpipe_networks::node::gate::Gate;
use bentpipe_networks::node::router::{beyond_name, Router};
use bentpipe_networks::node::service::ServedPackets;
use bentpipe_networks::{
    AccessNetwork, Construction, FlowEnds, OutsideRoutes, RadioLink, RoutingStage, StageId,
};
use bentpipe_stage::Supply;
use bentpipe_stage::{Outbox, Port, Stage};
use bentpipe_transport::sending::saved_path::SavedPaths;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// A node under construction.
struct Node {
    stage: StageId,
    router: Router,
    /// Input port of a stage for each output port of the router.
    exits: Vec<(StageId, Port)>,
    /// Output ports of the network that lead to this node.
    arrivals: Vec<(StageId, Port)>,
    /// Output ports of the endpoints at this node.
    departures: Vec<(StageId, Port)>,
    /// Output ports of the router that lead to endpoints.
    endpoints: Vec<Port>,
    /// True if packets must pass the node's router even if the node has a single exit. The router
    /// then captures or conditions packets, or hands them to services.
    has_router_tasks: bool,
    /// Services at this node that take passing packets.
    services: Vec<PassingService>,
}

impl Node {
    /// Adds an output port to the router.
    fn add_exit(&mut self, to: (StageId, Port)) -> Port {
        self.exits.push(to);
        Port(self.exits.len() as u16 - 1)
    }
}

/// The source and the destination of packets.
pub type Ends = (NodeId, NodeId);

/// A service that takes passing packets at a node.
struct PassingService {
    stage: StageId,
    /// Flows with ends in the model.
    flows: Vec<FlowId>,
    /// Real hosts: TCP packets from the first to the second.
    hosts: Vec<Ends>,
}

/// A stage with its own routing, to be built at the end.
struct Unbuilt<'a> {
    stage: StageId,
    /// Index of its network, as in [`Edge::part`].
    part: u32,
    /// The nodes between which it routes.
    nodes: Vec<NodeId>,
    build: RoutingStage<'a>,
}

/// A network under construction.
pub struct Builder<'a> {
    graph: Graph,
    streams: Streams,
    recorder: Recorder,
    record: &'a Record,
    nodes: Vec<Node>,
    ids: BTreeMap<String, NodeId>,
    edges: Vec<Edge>,
    /// Routes over the edges. They are computed at the first request for a path, and again at the
    /// first request after a new edge.
    routes: OnceCell<Routes>,
    /// Names of the links and networks.
    parts: Vec<&'a str>,
    /// The noun and the node of parts that would have the same name in results, because they belong
    /// to several networks.
    ambiguous: BTreeSet<(&'static str, String)>,
    /// Output ports of routers, by their node and destination.
    ports: BTreeMap<(NodeId, StageId, Port), Port>,
    unbuilt: Vec<Unbuilt<'a>>,
    /// Ends of the flows, by number.
    flows: Vec<FlowEnds>,
    destinations: BTreeSet<NodeId>,
    /// The multicast groups, shared with all parts that copy packets.
    groups: Groups,
    /// The observations of the run's connections, shared with all ends that resume from them.
    saved_paths: SavedPaths,
    /// The addresses of the multicast groups, each with the node of its source and the receivers.
    multicasts: Vec<(NodeId, NodeId, Vec<Receiver>)>,
    /// Indices of the links and networks that copy multicast packets by themselves.
    copying: BTreeSet<u32>,
    /// The kernel radios that replace models, and the gate number of the first radio; `None`
    /// without such radios.
    radios: Option<(u32, Vec<(RadioLink, StageId)>)>,
}

impl<'a> Builder<'a> {
    /// Returns the observations of the run's connections.
    pub fn saved_paths(&self) -> SavedPaths {
        self.saved_paths.clone()
    }

    /// Creates an empty network that writes traces to `recorder`.
    pub fn new(streams: Streams, recorder: Recorder, record: &'a Record) -> Builder<'a> {
        Builder {
            graph: Graph::default(),
            streams,
            recorder,
            record,
            nodes: Vec::new(),
            ids: BTreeMap::new(),
            edges: Vec::new(),
            routes: OnceCell::new(),
            parts: Vec::new(),
            ambiguous: BTreeSet::new(),
            ports: BTreeMap::new(),
            unbuilt: Vec::new(),
            flows: Vec::new(),
            destinations: BTreeSet::new(),
            groups: Groups::default(),
            saved_paths: SavedPaths::default(),
            multicasts: Vec::new(),
            copying: BTreeSet::new(),
            radios: None,
        }
    }

    /// Allows kernel radios to replace models. Their gates are numbered from `first` on.
    pub fn allow_radios(&mut self, first: u32) {
        self.radios = Some((first, Vec::new()));
    }

    /// Returns the radios that have replaced models so far, with their gates, in the order of the
    /// gate numbers.
    pub fn take_radios(&mut self) -> Vec<(RadioLink, StageId)> {
        self.radios.take().map_or_else(Vec::new, |(_, radios)| radios)
    }

    /// Begins the link or network `name`, to which all following parts belong.
    pub fn begin(&mut self, name: &'a str) {
        self.parts.push(name);
    }

    /// Adds networks by name.
    pub fn networks<'n: 'a>(
        &mut self,
        networks: impl Iterator<Item = (&'n str, &'n dyn AccessNetwork)> + Clone,
    ) {
        let mut seen = BTreeSet::new();
        for (part, node) in networks.clone().flat_map(|(_, network)| {
            let (part, nodes) = network.named_after_nodes();
            nodes.into_iter().map(move |node| (part, node))
        }) {
            if !seen.insert((part, node.clone())) {
                self.ambiguous.insert((part, node));
            }
        }
        for (name, network) in networks {
            self.begin(name);
            network.build(name, self);
        }
    }

    /// Adds the next flow with the nodes of its ends.
    pub fn flow(&mut self, name: &str, from: NodeId, to: NodeId) {
        self.flows.push(FlowEnds { name: name.to_owned(), from, to });
    }

    /// Adds a multicast group with a source at node `from`, and returns the address of the group.
    pub fn multicast(&mut self, from: NodeId, receivers: Vec<Receiver>) -> NodeId {
        let address = self.groups.add(receivers.clone());
        self.multicasts.push((address, from, receivers));
        address
    }

    /// Returns the links and networks on the tree from a node to receivers, each with its edges of
    /// the tree by their nodes.
    pub fn parts_of_tree(
        &self,
        from: NodeId,
        receivers: &[NodeId],
    ) -> BTreeMap<&'a str, BTreeSet<[NodeId; 2]>> {
        let routes = self.routes();
        let tree = Tree::of(routes, from, receivers.iter().copied());
        let mut parts: BTreeMap<&str, BTreeSet<[NodeId; 2]>> = BTreeMap::new();
        for edge in tree.paths.into_iter().flatten().flatten().map(|index| routes.edge(index)) {
            parts.entry(self.parts[edge.part as usize]).or_default().insert([edge.from, edge.to]);
        }
        parts
    }

    /// Adds the copies of multicast packets to the routers of the nodes on the trees.
    fn add_copies(&mut self, routes: &Routes) {
        for (address, from, receivers) in std::mem::take(&mut self.multicasts) {
            let tree = Tree::of(routes, from, receivers.iter().map(|receiver| receiver.node));
            // The output port of each receiver's packets at each node. A stage of a network that
            // copies packets by itself gets them over a single port.
            let mut ports: BTreeMap<NodeId, BTreeMap<u16, Port>> = BTreeMap::new();
            let mut entries: BTreeMap<(NodeId, StageId), Port> = BTreeMap::new();
            for ((receiver, path), number) in receivers.iter().zip(tree.paths).zip(0..) {
                for edge in path.iter().flatten().map(|index| routes.edge(*index)) {
                    let stage = self.nodes[edge.from.0 as usize].exits[edge.port.0 as usize].0;
                    let port = match self.copying.contains(&edge.part) {
                        true => *entries.entry((edge.from, stage)).or_insert(edge.port),
                        false => edge.port,
                    };
                    ports.entry(edge.from).or_default().insert(number, port);
                    self.groups.add_crossing(address, edge.part, number, [edge.from, edge.to]);
                    if self.copying.contains(&edge.part) {
                        self.destinations.insert(edge.to);
                    }
                }
                let endpoint = self.nodes[receiver.node.0 as usize].router.endpoint(receiver.flow);
                if let Some(port) = endpoint {
                    ports.entry(receiver.node).or_default().insert(number, port);
                }
            }
            self.set_copies(address, &ports);
        }
    }

    /// Sets the copies of a group at the nodes of its tree, from the output port of each receiver's
    /// packets at each node.
    fn set_copies(&mut self, address: NodeId, ports: &BTreeMap<NodeId, BTreeMap<u16, Port>>) {
        for (node, ports) in ports {
            let mut sets: BTreeMap<Port, Vec<u16>> = BTreeMap::new();
            for (receiver, port) in ports {
                sets.entry(*port).or_default().push(*receiver);
            }
            let copies = sets.into_iter().map(|(port, set)| (port, self.groups.leg(address, set)));
            let copies: Vec<_> = copies.collect();
            let at = &mut self.nodes[node.0 as usize];
            at.has_router_tasks |= copies.len() > 1;
            at.router.set_copies(address, copies);
        }
    }

    /// Adds the endpoint of `flows` at `node`, with its input port and its output port. Only the
    /// source of multicast flows belongs to several flows.
    pub fn endpoint(
        &mut self,
        node: NodeId,
        flows: &[FlowId],
        entry: (StageId, Port),
        exit: (StageId, Port),
    ) {
        let at = &mut self.nodes[node.0 as usize];
        let port = at.add_exit(entry);
        flows.iter().for_each(|flow| at.router.set_endpoint(*flow, port));
        at.endpoints.push(port);
        at.departures.push(exit);
        self.destinations.insert(node);
    }

    /// Adds the gate to the real host at `node`, with its input port and its output port.
    pub fn host(&mut self, node: NodeId, entry: (StageId, Port), exit: (StageId, Port)) {
        let at = &mut self.nodes[node.0 as usize];
        let port = at.add_exit(entry);
        at.router.set_host(port);
        at.endpoints.push(port);
        at.departures.push(exit);
        self.destinations.insert(node);
    }

    /// Makes a node the edge of a DiffServ domain.
    pub fn condition(&mut self, node: NodeId, edge: edge::Edge) {
        let at = &mut self.nodes[node.0 as usize];
        at.router.set_edge(edge);
        at.has_router_tasks = true;
    }

    /// Returns the stages by which packets leave and reach a node with a single neighbour; an empty
    /// list for other nodes.
    pub fn own_stages(&self, node: NodeId) -> Vec<StageId> {
        let out: BTreeSet<Port> =
            self.edges.iter().filter(|edge| edge.from == node).map(|edge| edge.port).collect();
        let at = &self.nodes[node.0 as usize];
        match (out.len(), out.first(), &at.arrivals[..]) {
            (1, Some(port), [(arrival, _)]) => vec![at.exits[port.0 as usize].0, *arrival],
            _ => Vec::new(),
        }
    }

    /// Returns the path from one node to another, if a path exists. The path has every node except
    /// the last, each with the link or network that follows the node.
    pub fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<(NodeId, &'a str)>> {
        let routes = self.routes();
        let named = |index: u32| {
            let edge = routes.edge(index);
            (edge.from, self.parts[edge.part as usize])
        };
        Some(routes.path(from, to)?.into_iter().map(named).collect())
    }

    /// Returns the routes over the edges that have been added so far.
    fn routes(&self) -> &Routes {
        self.routes.get_or_init(|| Routes::of(self.nodes.len(), &self.edges))
    }

    /// Returns the delay of a link or network from a node, the minimum if it leads to several
    /// nodes.
    pub fn delay(&self, node: NodeId, part: &str) -> Span {
        let here =
            self.edges.iter().filter(|edge| edge.from == node && self.parts[edge.part as usize] == part);
        here.map(|edge| edge.delay).min().unwrap_or(Span::ZERO)
    }

    /// Returns the name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        self.nodes.get(node.0 as usize).map_or("", |node| self.graph.name(node.stage))
    }

    /// Adds a service at a node, which takes the packets of `flows`, and, if it takes passing
    /// packets, the TCP packets of real hosts from the first of each pair in `hosts` to the second.
    /// Returns the service's stage.
    pub fn service(
        &mut self,
        node: NodeId,
        name: &str,
        takes: ServedPackets,
        (flows, hosts): (Vec<FlowId>, Vec<Ends>),
        stage: Box<dyn Stage>,
    ) -> StageId {
        let stage = self.graph.add(name, stage);
        let at = &mut self.nodes[node.0 as usize];
        at.has_router_tasks = true;
        match takes {
            ServedPackets::Passing => at.services.push(PassingService { stage, flows, hosts }),
            ServedPackets::Addressed => {
                let port = at.add_exit((stage, Port(0)));
                flows.iter().for_each(|flow| at.router.set_endpoint(*flow, port));
                at.endpoints.push(port);
                at.departures.push((stage, Port(0)));
                self.destinations.insert(node);
            }
        }
        stage
    }

    /// Returns the output port of a node's router that leads to a stage.
    fn port_of(&mut self, node: NodeId, entry: (StageId, Port)) -> Port {
        let at = &mut self.nodes[node.0 as usize];
        *self.ports.entry((node, entry.0, entry.1)).or_insert_with(|| at.add_exit(entry))
    }

    /// Returns the index of the present link or network.
    fn part(&self) -> u32 {
        self.parts.len().checked_sub(1).expect("every edge belongs to a link or network") as u32
    }

    /// Returns true if destinations measure details (`record.details`).
    pub fn details(&self) -> bool {
        self.record.details
    }

    /// Computes the routes and returns the network.
    pub fn finish(mut self) -> Network {
        let count = self.nodes.len();
        let routes = self.routes.take().unwrap_or_else(|| Routes::of(count, &self.edges));
        self.add_copies(&routes);
        // Routes are set per outgoing edge of each node, because an edge into a constellation leads
        // to several nodes.
        let mut out_degree = vec![0u32; count];
        let mut exit = vec![None; count];
        let exits: BTreeSet<(NodeId, Port)> = self.edges.iter().map(|edge| (edge.from, edge.port)).collect();
        for (node, port) in exits {
            out_degree[node.0 as usize] += 1;
            exit[node.0 as usize] = Some(port);
        }
        for (node, &port) in exit.iter().enumerate().filter(|(node, _)| out_degree[*node] == 1) {
            self.nodes[node].router.set_default(port.expect("a node with one outgoing edge has an exit"));
        }
        let mut beyond = vec![Vec::new(); self.unbuilt.len()];
        // A node with a single exit sends all packets to this exit, so it needs no table with equal
        // routes.
        let several = |node: NodeId| out_degree[node.0 as usize] > 1;
        for node in (0..count as u16).map(NodeId).filter(|node| several(*node)) {
            if let Some(up) = routes.up(node) {
                self.nodes[node.0 as usize].router.set_default(routes.edge(up).port);
            }
        }
        for &destination in &self.destinations {
            for (one, beyond) in self.unbuilt.iter().zip(&mut beyond) {
                let delays = one.nodes.iter().map(|node| delay_beyond(&routes, one.part, *node, destination));
                beyond.push((destination, delays.collect()));
            }
            routes.visit(destination, |node, edge| {
                if several(node) {
                    self.nodes[node.0 as usize].router.set_route(destination, edge.port);
                }
            });
        }
        for (one, destinations) in std::mem::take(&mut self.unbuilt).into_iter().zip(beyond) {
            let stage = (one.build)(OutsideRoutes { destinations, flows: self.flows.clone() }, &mut self);
            self.graph.fill(one.stage, stage);
        }
        self.place_services();
        for (index, node) in self.nodes.into_iter().enumerate() {
            // At a node with a single exit and a single endpoint, all packets from the endpoint
            // leave by the exit, and all arriving packets are for the endpoint. The router is
            // bypassed, which saves half of the calls per packet.
            let decides = node.has_router_tasks || out_degree[index] != 1;
            let (depart_to, arrive_at) = match (exit[index], &node.endpoints[..]) {
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
        let mut network = self.graph.finish(Outbox::new(self.recorder));
        network.set_groups(self.groups);
        network
    }

    /// Routes passing packets to the services that take them. A second router, equal to the first
    /// but without the services, routes the packets that the services send.
    fn place_services(&mut self) {
        for (name, id) in &self.ids {
            let node = &mut self.nodes[id.0 as usize];
            if node.services.is_empty() {
                continue;
            }
            let beyond = self.graph.reserve(beyond_name(name));
            for (port, &to) in node.exits.iter().enumerate() {
                self.graph.wire((beyond, Port(port as u16)), to);
            }
            self.graph.fill_router(beyond, node.router.beyond());
            for PassingService { stage, flows, hosts } in std::mem::take(&mut node.services) {
                let port = node.add_exit((stage, Port(0)));
                flows.iter().for_each(|flow| node.router.set_service(*flow, port));
                hosts.iter().for_each(|ends| node.router.set_proxy(*ends, port));
                self.graph.wire((stage, Port(0)), (beyond, Port(0)));
            }
        }
    }
}

/// Returns the delay from `node` to `destination`; `None` if the route leads through the network
/// with the number `part`.
fn delay_beyond(routes: &Routes, part: u32, node: NodeId, destination: NodeId) -> Option<Span> {
    let mut edges = routes.path(node, destination)?.into_iter().map(|index| routes.edge(index));
    edges.try_fold(Span::ZERO, |delay, edge| (edge.part != part).then_some(delay + edge.delay))
}

impl Supply for Builder<'_> {
    fn stream(&mut self, name: &str) -> Stream {
        self.streams.stream(name)
    }

    fn probe(&mut self, table: &'static Table, entity: &str) -> Option<Probe> {
        self.record.writes(table).then(|| self.recorder.open(table, entity))
    }
}

impl<'a> Construction<'a> for Builder<'a> {
    fn node(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id =
            NodeId(u16::try_from(self.nodes.len()).expect("the scenario's check bounds the number of nodes"));
        let stage = self.graph.reserve(name);
        let interface = self.record.interface(name);
        self.nodes.push(Node {
            stage,
            router: Router::new(id, interface),
            exits: Vec::new(),
            arrivals: Vec::new(),
            departures: Vec::new(),
            endpoints: Vec::new(),
            has_router_tasks: interface.is_some(),
            services: Vec::new(),
        });
        self.ids.insert(name.to_owned(), id);
        id
    }

    fn label(&self, part: &'static str, node: &str) -> String {
        match self.ambiguous.contains(&(part, node.to_owned())) {
            false => node.to_owned(),
            true => format!("{}.{node}", self.parts.last().expect("a network is being built")),
        }
    }

    fn streams(&self) -> Streams {
        self.streams
    }

    fn stage(&mut self, name: &str, stage: Box<dyn Stage>) -> StageId {
        self.graph.add(name, stage)
    }

    fn routing_stage(&mut self, name: &str, nodes: &[NodeId], build: RoutingStage<'a>) -> StageId {
        let (stage, part) = (self.graph.reserve(name), self.part());
        self.unbuilt.push(Unbuilt { stage, part, nodes: nodes.to_vec(), build });
        stage
    }

    fn wire(&mut self, from: (StageId, Port), to: (StageId, Port)) {
        self.graph.wire(from, to);
    }

    fn radio(&mut self, name: &str, link: RadioLink) -> Option<StageId> {
        let (first, radios) = self.radios.as_mut()?;
        let gate = self.graph.add(name, Box::new(Gate::new(*first + radios.len() as u32)));
        radios.push((link, gate));
        Some(gate)
    }

    fn towards_node(&mut self, from: (StageId, Port), node: NodeId) {
        self.nodes[node.0 as usize].arrivals.push(from);
    }

    fn edge(&mut self, from: NodeId, to: NodeId, entry: (StageId, Port), delay: Span) {
        let (part, port) = (self.part(), self.port_of(from, entry));
        self.routes.take();
        self.edges.push(Edge { from, to, port, delay, part, mesh: false });
    }

    fn copying(&mut self) -> Copying {
        let part = self.part();
        self.copying.insert(part);
        Copying::new(self.groups.clone(), part)
    }

    fn mesh(&mut self, nodes: &[(NodeId, (StageId, Port))], delay: &dyn Fn(usize, usize) -> Span) {
        let part = self.part();
        self.routes.take();
        for (at, &(from, entry)) in nodes.iter().enumerate() {
            let port = self.port_of(from, entry);
            let others = nodes.iter().enumerate().filter(|(other, _)| *other != at);
            let edge = |(other, (to, _)): (usize, &(NodeId, _))| Edge {
                from,
                to: *to,
                port,
                delay: delay(at, other),
                part,
                mesh: true,
            };
            self.edges.extend(others.map(edge));
        }
    }
}
