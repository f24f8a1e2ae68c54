//! A real host of an emulated network.

use bentpipe_core::NodeId;
use bentpipe_networks::StageId;

/// A real host of an emulated network.
#[derive(Clone, Debug)]
pub struct Host {
    /// Name of the node that the host represents.
    pub name: String,
    /// Number of the node that the host represents.
    pub node: NodeId,
    /// The gate of the host; its number is the index in the list of hosts.
    pub gate: StageId,
    /// The stages by which packets reach and leave the node, if they serve only this host. Empty if
    /// the node has several neighbours, or endpoints in the model.
    pub stages: Vec<StageId>,
}
