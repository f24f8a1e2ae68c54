//! The interface through which [`AccessNetwork::build`](super::AccessNetwork::build) adds a
//! network's stages, wires and routing edges to the engine's graph.

use crate::multicast::Copying;
use bentpipe_core::{NodeId, Span, Streams};
use bentpipe_stage::Supply;
use bentpipe_stage::{Port, Stage};

/// Index of a stage in the engine's graph of stages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StageId(pub u32);

/// A wireless link in one direction, from a station whose radio runs in the machine's kernel to a
/// peer station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RadioLink {
    /// Name of the network in the scenario.
    pub network: String,
    /// Node of the station's radio.
    pub node: NodeId,
    /// Index of the station in its network.
    pub station: usize,
    /// Index of the peer station in the network.
    pub peer: usize,
}

/// The engine's functions that an access network calls while the network is built.
pub trait Construction<'a>: Supply {
    /// Returns the ID of the node with this name.
    fn node(&mut self, name: &str) -> NodeId;

    /// Returns the name, in results, of a part that is [named after its
    /// node](super::AccessNetwork::named_after_nodes), such as a terminal. The name is that of the
    /// node, or NETWORK.NODE if several networks have such a part at this node.
    fn label(&self, part: &'static str, node: &str) -> String;

    /// Returns the factory of random streams, for stages that create streams during the run.
    fn streams(&self) -> Streams;

    /// Adds a stage under a unique name and returns the stage's ID.
    fn stage(&mut self, name: &str, stage: Box<dyn Stage>) -> StageId;

    /// Adds a stage that routes packets between `nodes` by itself. The engine calls `build` after
    /// it has computed the routes outside these nodes.
    fn routing_stage(&mut self, name: &str, nodes: &[NodeId], build: RoutingStage<'a>) -> StageId;

    /// Connects an output port of one stage to an input port of another stage.
    fn wire(&mut self, from: (StageId, Port), to: (StageId, Port));

    /// Connects an output port of a stage to the router of a node.
    fn towards_node(&mut self, from: (StageId, Port), node: NodeId);

    /// Adds a gate to a kernel radio under a unique name, and returns the gate's ID. Returns `None`
    /// if the run does not replace the model by kernel radios. The radio transmits packets that
    /// enter the gate's port [`NETWORK`](crate::node::gate::NETWORK) over `link`. Packets that the
    /// radio receives leave through the gate's port 0.
    fn radio(&mut self, _name: &str, _link: RadioLink) -> Option<StageId> {
        None
    }

    /// Adds a routing edge: packets travel from node `from` to node `to` through the input port
    /// `entry`, with the propagation delay `delay`. Several edges of a node may share an entry.
    fn edge(&mut self, from: NodeId, to: NodeId, entry: (StageId, Port), delay: Span);

    /// Returns the copying of multicast packets in the present network. A router then sends each
    /// multicast packet into a stage of the network once, over any of the stage's edges to one of
    /// the receivers, and the network's stages copy it. Without this call, the routers send a copy
    /// over each edge.
    fn copying(&mut self) -> Copying {
        Copying::default()
    }

    /// Adds a full mesh of routing edges: one edge from each of `nodes`, through the node's input
    /// port, to each other node of the list. `delay` returns the delay between the nodes at two
    /// positions of the list. The direct edge must not be longer than a path over several edges of
    /// the mesh. A network may have only one mesh.
    fn mesh(&mut self, nodes: &[(NodeId, (StageId, Port))], delay: &dyn Fn(usize, usize) -> Span);
}

/// A function that builds a stage that routes packets by itself.
pub type RoutingStage<'a> = Box<dyn FnOnce(OutsideRoutes, &mut dyn Supply) -> Box<dyn Stage> + 'a>;

/// The network outside a stage that routes packets by itself. The *nodes of the stage* are those
/// between which the stage routes.
pub struct OutsideRoutes {
    /// Each possible destination of packets, in ascending order, with one delay per node of the
    /// stage. The delay is from that node to the destination outside the stage; `None` if packets
    /// that leave the stage at that node would have to return to the stage.
    pub destinations: Vec<(NodeId, Vec<Option<Span>>)>,
    /// The flows of the scenario, indexed by flow number.
    pub flows: Vec<FlowEnds>,
}

/// Source and destination of a flow.
#[derive(Clone, Debug)]
pub struct FlowEnds {
    /// Name of the flow in results.
    pub name: String,
    /// Node of the flow's source.
    pub from: NodeId,
    /// Node of the flow's destination.
    pub to: NodeId,
}
