//! Puts a network together: nodes with their routers, stages, wires, routes. Kinds of networks and links add
//! themselves through it.

use crate::network::{Graph, Network, StageId};
use crate::routes::{incoming, towards, Edge};
use bentpipe_core::{FlowId, NodeId, Outbox, Port, Probe, Recorder, Span, Stage, Stream, Streams, Table};
use bentpipe_models::net::router::Router;
use std::collections::{BTreeMap, BTreeSet};

/// A node under construction.
struct Node {
    stage: StageId,
    router: Router,
    ports: u16,
}

/// Which traces are written and where packets are captured.
pub trait Wanted {
    /// Whether rows of `table` are written.
    fn traces(&self, table: &Table) -> bool;
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
        let router = Router::new(id, self.wanted.interface(name));
        self.nodes.push(Node { stage, router, ports: 0 });
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// Adds a stage under a name that no other has.
    pub fn stage(&mut self, name: &str, stage: impl Stage + 'static) -> StageId {
        self.graph.add(name, Box::new(stage))
    }

    /// Leads an out port to an in port.
    pub fn wire(&mut self, from: (StageId, Port), to: (StageId, Port)) {
        self.graph.wire(from, to);
    }

    /// Leads an out port into a node's router.
    pub fn into_node(&mut self, from: (StageId, Port), node: NodeId) {
        let stage = self.nodes[node.0 as usize].stage;
        self.graph.wire(from, (stage, Port(0)));
    }

    /// A way from `from` to `to` that begins at the in port `entry`, with the propagation delay that routing counts.
    pub fn edge(&mut self, from: NodeId, to: NodeId, entry: (StageId, Port), delay: Span) {
        let port = self.out_of_node(from, entry);
        self.edges.push(Edge { from, to, port, delay });
    }

    /// Hands the packets of `flow` for `node` to the in port `entry`.
    pub fn endpoint(&mut self, node: NodeId, flow: FlowId, entry: (StageId, Port)) {
        let port = self.out_of_node(node, entry);
        self.nodes[node.0 as usize].router.set_endpoint(flow, port);
        self.destinations.insert(node);
    }

    fn out_of_node(&mut self, node: NodeId, to: (StageId, Port)) -> Port {
        let node = &mut self.nodes[node.0 as usize];
        let port = Port(node.ports);
        node.ports += 1;
        self.graph.wire((node.stage, port), to);
        port
    }

    /// The random stream of a stage.
    pub fn stream(&self, name: &str) -> Stream {
        self.streams.stream(name)
    }

    /// A probe on `table` for `entity`, when the scenario wants that trace.
    pub fn probe(&mut self, table: &'static Table, entity: &str) -> Option<Probe> {
        self.wanted.traces(table).then(|| self.recorder.open(table, entity))
    }

    /// Computes the routes and finishes.
    pub fn finish(mut self) -> Network {
        let count = self.nodes.len();
        let into = incoming(count, &self.edges);
        let mut out_degree = vec![0u32; count];
        for edge in &self.edges {
            out_degree[edge.from.0 as usize] += 1;
        }
        for edge in self.edges.iter().filter(|edge| out_degree[edge.from.0 as usize] == 1) {
            self.nodes[edge.from.0 as usize].router.set_default(edge.port);
        }
        for &destination in &self.destinations {
            for (index, port) in towards(destination, count, &self.edges, &into).into_iter().enumerate() {
                // A node with one way out sends everything there; a table of a thousand equal routes is only weight.
                if let (Some(port), true) = (port, out_degree[index] > 1) {
                    self.nodes[index].router.set_route(destination, port);
                }
            }
        }
        for node in self.nodes {
            self.graph.fill(node.stage, Box::new(node.router));
        }
        self.graph.finish(Outbox::new(self.recorder))
    }
}
