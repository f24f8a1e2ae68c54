//! The engine's side of [`AccessNetwork::build`](super::AccessNetwork::build).

use bentpipe_core::{NodeId, Span, Streams};
use bentpipe_stage::Supply;
use bentpipe_stage::{Port, Stage};

/// Number of a stage in its network of stages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StageId(pub u32);

/// A link of a radio of the machine's kernel, which is at one node and exchanges packets with the
/// radio of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RadioLink {
    /// The network's name in the scenario.
    pub network: String,
    /// Node at which the radio is.
    pub node: NodeId,
    /// Number of the station in its network.
    pub station: usize,
    /// Number of the station with which it exchanges packets.
    pub peer: usize,
}

/// The services of the engine for an access network while it is built.
pub trait Construction<'a>: Supply {
    /// Returns the number of the node of this name.
    fn node(&mut self, name: &str) -> NodeId;

    /// Returns the name in results of a part that this network [names after its
    /// nodes](super::AccessNetwork::named_after_nodes): the name of the node, or NETWORK.NODE if
    /// several networks have such a part there.
    fn label(&self, part: &'static str, node: &str) -> String;

    /// Returns the random streams, for stages that create further ones as they run.
    fn streams(&self) -> Streams;

    /// Adds a stage under a name that no other stage has.
    fn stage(&mut self, name: &str, stage: Box<dyn Stage>) -> StageId;

    /// Adds a stage that routes between `nodes` by itself. It is built when the routes beyond them
    /// are known.
    fn routing_stage(&mut self, name: &str, nodes: &[NodeId], build: RoutingStage<'a>) -> StageId;

    /// Connects an output port of a stage to an input port of another.
    fn wire(&mut self, from: (StageId, Port), to: (StageId, Port));

    /// Connects an output port of a stage to the router of a node.
    fn towards_node(&mut self, from: (StageId, Port), node: NodeId);

    /// Adds a gate under a name that no other stage has, if a radio of the machine's kernel can
    /// replace the models there; otherwise returns `None`. The radio sends packets that reach the
    /// gate's port [`NETWORK`](crate::node::gate::NETWORK) over `link`, and packets that it
    /// receives leave by the gate's port 0.
    fn radio(&mut self, _name: &str, _link: RadioLink) -> Option<StageId> {
        None
    }

    /// Adds an edge for routing: packets get from one node to another through the input port
    /// `entry`, with a propagation delay of `delay`. Several edges of a node may have the same
    /// entry.
    fn edge(&mut self, from: NodeId, to: NodeId, entry: (StageId, Port), delay: Span);

    /// Adds an edge from each of these nodes, through its input port, to each other one, with the
    /// delay between the two of these numbers. The direct edge must not be longer than a path over
    /// several of them. A part may have only one mesh.
    fn mesh(&mut self, nodes: &[(NodeId, (StageId, Port))], delay: &dyn Fn(usize, usize) -> Span);
}

/// Builds a stage that routes by itself.
pub type RoutingStage<'a> = Box<dyn FnOnce(Beyond, &mut dyn Supply) -> Box<dyn Stage> + 'a>;

/// Facts for a stage that routes by itself about the network beyond the nodes between which it
/// routes.
pub struct Beyond {
    /// Every node at which packets may end, in ascending order. For each, and for each of the nodes
    /// between which the stage routes, the delay from that node on, if packets that leave the stage
    /// there arrive without coming back to it.
    pub destinations: Vec<(NodeId, Vec<Option<Span>>)>,
    /// The flows of the scenario, by number.
    pub flows: Vec<FlowEnds>,
}

/// The ends of a flow.
#[derive(Clone, Debug)]
pub struct FlowEnds {
    /// Name of the flow in results.
    pub name: String,
    /// Node of its source.
    pub from: NodeId,
    /// Node of its destination.
    pub to: NodeId,
}
