//! Services at nodes: programs that are neither the end of one flow nor a router, such as proxies,
//! conference relays, bundle agents or gateways of sensors.
//!
//! A service is one stage next to the router of its node. The router passes packets of the served
//! flows to the service: either transit packets or packets that are addressed to the node
//! ([`ServedPackets`]). Packets that the service forwards or creates take the usual routes of the
//! node. A service therefore works at any node and with links and networks of every kind, without
//! special support by them.
//!
//! A kind of service is a `Config` that implements [`Service`], and one line in the list [`Role`].
//! Performance-enhancing proxies ([`crate::node::proxy`]) are services, too, but have a separate
//! list.

pub mod bridge;
pub mod relay;

use bentpipe_core::{kinds, FlowId, NodeId, Problems};
use bentpipe_stage::Stage;
use bentpipe_transport as transport;
use bentpipe_transport::app::calls;
pub use bentpipe_transport::tcp::Supply;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A service that runs at a node.
///
/// ```toml
/// [[service]]
/// name = "conference"
/// node = "gateway"
/// role = "relay"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Service")]
pub struct Config {
    /// Name of the service in results and messages.
    pub name: String,
    /// Name of the node at which the service runs.
    pub node: String,
    /// Names of the flows that the service serves. If unset, it serves every flow that its role
    /// allows. An empty list means no flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// Role of the service, with its parameters.
    pub role: Role,
}

kinds! {
    /// Role of a service: its treatment of the packets of its flows.
    pub enum Role: Service, tables {
        "bridge" => Bridge(bridge::Config),
        "relay" => Relay(relay::Config),
    }
}

/// The functions of a service's `Config`.
pub trait Service {
    /// Returns the kind of packets that the service receives from its flows.
    fn served_packets(&self) -> ServedPackets;

    /// Returns the reason for which the service cannot serve flows over `transport`, if any. The
    /// reason completes a sentence such as "flow "a" is not over tcp".
    fn incompatibility(&self, _transport: &transport::Config) -> Option<&'static str> {
        None
    }

    /// Returns true if an emulation can provide the service for the packets of real hosts.
    fn has_real_form(&self) -> bool {
        false
    }

    /// Builds the stage of service `name`. Input port 0 receives the packets of `flows`. Packets
    /// that leave through output port 0 take the routes of the node.
    fn build(&self, name: &str, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Box<dyn Stage>;

    /// Adds the problems of the configuration.
    fn check(&self, _problems: &mut Problems) {}

    /// Checks the flows that the service would serve and adds their problems to `problems`.
    fn check_flows(&self, _flows: &[ServedFlow], _problems: &mut Problems) {}
}

/// The packets that a service receives from its flows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ServedPackets {
    /// Transit packets at the node, from both ends of the flow. Flows that begin or end at the node
    /// are not served.
    Passing,
    /// Packets that are addressed to the node. If the flow ends at the node, the service replaces
    /// the endpoint at the flow's destination. A flow that ends at another node is served only if
    /// the scenario names it. Its senders must address its packets to the node of the service.
    Addressed,
}

/// A flow that a service serves.
#[derive(Clone, Debug)]
pub struct ServedFlow {
    /// Number of the service in its scenario, from 1. It distinguishes packets from the service
    /// from other packets of the flow ([`Leg`](bentpipe_stage::packet::Leg)).
    pub number: u16,
    /// ID of the flow.
    pub flow: FlowId,
    /// Name of the flow.
    pub name: String,
    /// Nodes of the flow's source and destination.
    pub ends: [NodeId; 2],
    /// The link or network through which each of `ends` is reached from the node of the service;
    /// empty if the end is at this node.
    pub links: [String; 2],
    /// Names of the traced connections, by number of the connection: one name from source to
    /// destination, and one for the opposite direction.
    pub traced: Vec<[String; 2]>,
    /// DSCP of the flow's packets.
    pub dscp: u8,
    /// The transport protocol of the flow, with its parameters.
    pub transport: transport::Config,
    /// Telephone calls of the flow, if any.
    pub calls: Option<calls::Config>,
}

/// Returns two nodes in a fixed order, the same for both directions between them.
pub fn pair([one, other]: [NodeId; 2]) -> [NodeId; 2] {
    [one.min(other), one.max(other)]
}

impl ServedFlow {
    /// Returns the index in `ends` of the end at `node`: 0 for the source, 1 for the destination.
    #[inline]
    pub fn side(&self, node: NodeId) -> usize {
        usize::from(node != self.ends[0])
    }
}
