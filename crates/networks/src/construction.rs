//! What a network is built with: the engine's side of
//! [`AccessNetwork::build`](super::AccessNetwork::build).

use bentpipe_core::{NodeId, Span, Streams};
use bentpipe_stage::Supply;
use bentpipe_stage::{Port, Stage};

/// Number of a stage in its network of stages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StageId(pub u32);

/// What a radio of the machine's kernel joins: it stands at one node and exchanges packets with the
/// radio of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RadioLink {
    /// The network's name in the scenario.
    pub network: String,
    /// The node at which the radio stands.
    pub node: NodeId,
    /// Number of the station in its network.
    pub station: usize,
    /// Number of the station with which it exchanges packets.
    pub peer: usize,
}

/// What an access network asks of the engine while it is built.
pub trait Construction<'a>: Supply {
    /// Returns the number of the node of this name.
    fn node(&mut self, name: &str) -> NodeId;

    /// What results call a part that this network [names after its
    /// nodes](super::AccessNetwork::named_after_nodes): the name of the node, or NETWORK.NODE if
    /// several networks have such a part there.
    fn label(&self, part: &'static str, node: &str) -> String;

    /// Returns the random streams, for stages that make further ones as they run.
    fn streams(&self) -> Streams;

    /// Adds a stage under a name that no other stage has.
    fn stage(&mut self, name: &str, stage: Box<dyn Stage>) -> StageId;

    /// Adds a stage that routes between `nodes` by itself: it is built when the routes beyond them
    /// are known.
    fn routing_stage(&mut self, name: &str, nodes: &[NodeId], build: RoutingStage<'a>) -> StageId;

    /// Leads an out port of a stage to an in port of another.
    fn wire(&mut self, from: (StageId, Port), to: (StageId, Port));

    /// Leads an out port of a stage to the router of a node.
    fn towards_node(&mut self, from: (StageId, Port), node: NodeId);

    /// Adds a gate under a name that no other stage has, if a radio of the machine's kernel can
    /// take the place of the models there; otherwise None. Packets that reach the gate's port
    /// [`NETWORK`](crate::node::gate::NETWORK) are sent by the radio over `link`, and what the
    /// radio receives over it leaves by the gate's port 0.
    fn radio(&mut self, _name: &str, _link: RadioLink) -> Option<StageId> {
        None
    }

    /// Tells routing that packets get from one node to another through the in port `entry`, with a
    /// propagation delay of `delay`. Several edges of a node may have the same entry.
    fn edge(&mut self, from: NodeId, to: NodeId, entry: (StageId, Port), delay: Span);

    /// Adds an edge from each of these nodes, through its in port, to each other one, with the
    /// delay between the two of these numbers. The direct edge must not be longer than a path over
    /// several of them. Only one mesh belongs to a part.
    fn mesh(&mut self, nodes: &[(NodeId, (StageId, Port))], delay: &dyn Fn(usize, usize) -> Span);
}

/// Builds a stage that routes by itself.
pub type RoutingStage<'a> = Box<dyn FnOnce(Beyond, &mut dyn Supply) -> Box<dyn Stage> + 'a>;

/// What a stage that routes by itself is told of the network beyond the nodes between which it
/// routes.
pub struct Beyond {
    /// Every node at which packets may end, in ascending order. For each, and for each of the nodes
    /// between which the stage routes: the delay from that node on, if packets that leave the stage
    /// there arrive without coming back to it.
    pub destinations: Vec<(NodeId, Vec<Option<Span>>)>,
    /// The flows of the scenario, by number.
    pub flows: Vec<FlowEnds>,
}

/// Where a flow begins and ends.
#[derive(Clone, Debug)]
pub struct FlowEnds {
    /// Name of the flow in results.
    pub name: String,
    /// The node of its source.
    pub from: NodeId,
    /// The node of its destination.
    pub to: NodeId,
}
