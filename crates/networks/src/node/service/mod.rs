//! Services at nodes: programs that are neither the end of one flow nor a router, such as proxies,
//! conference relays, bundle agents or gateways of sensors.
//!
//! A service is one stage next to the router of its node. The router gives it packets of the flows
//! that it serves: those that pass the node, or those that are addressed to the node
//! ([`ServedPackets`]). Packets that the service forwards or creates take the routes of the node as
//! if no service were there. So a service works at any node, over links and networks of every kind,
//! which do not know of it.
//!
//! A kind of service is a `Config` that implements [`Service`], and one line in the list [`Role`].
//! Performance-enhancing proxies ([`crate::node::proxy`]) are services, too, with a list of their
//! own.

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
    /// Treatment of the packets of a service's flows.
    pub enum Role: Service, tables {
        "bridge" => Bridge(bridge::Config),
        "relay" => Relay(relay::Config),
    }
}

/// The functions of a service's `Config`.
pub trait Service {
    /// Returns the kind of packets of its flows that the service takes.
    fn served_packets(&self) -> ServedPackets;

    /// Returns the reason for which the service cannot serve flows over `transport`, as in "flow
    /// "a" is not over tcp", if there is one.
    fn incompatibility(&self, _transport: &transport::Config) -> Option<&'static str> {
        None
    }

    /// Returns the stage of service `name`. Input port 0 takes the packets of `flows`; packets that
    /// leave by output port 0 take the routes of the node.
    fn build(&self, name: &str, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Box<dyn Stage>;

    /// Adds the problems of the configuration.
    fn check(&self, _problems: &mut Problems) {}

    /// Adds the problems of the flows that the service would serve.
    fn check_flows(&self, _flows: &[ServedFlow], _problems: &mut Problems) {}
}

/// The packets of its flows that a service takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ServedPackets {
    /// Packets that pass its node, from both ends of the flow. Flows that begin or end at the node
    /// are not served.
    Passing,
    /// Packets that are addressed to its node. If the flow ends there, the service replaces its
    /// destination, which then has no endpoint of its own. A flow that ends elsewhere is served if
    /// the scenario names it; its senders must address its packets to the node.
    Addressed,
}

/// A flow that a service serves.
#[derive(Clone, Debug)]
pub struct ServedFlow {
    /// Number of the service in its scenario, from 1, which distinguishes the packets that it
    /// creates from others ([`Leg`](bentpipe_stage::packet::Leg)).
    pub number: u16,
    /// Number of the flow.
    pub flow: FlowId,
    /// Name of the flow.
    pub name: String,
    /// Nodes of its source and of its destination.
    pub ends: [NodeId; 2],
    /// The link or network by which each of them is reached from the node of the service; empty for
    /// the node itself.
    pub links: [String; 2],
    /// Names of the traced connections, by number: from source to destination, and back.
    pub traced: Vec<[String; 2]>,
    /// DSCP of the flow's packets.
    pub dscp: u8,
    /// The transport protocol of the flow, with its parameters.
    pub transport: transport::Config,
    /// Telephone calls that it carries, if any.
    pub calls: Option<calls::Config>,
}

impl ServedFlow {
    /// Returns the end, 0 for the source, from which a packet from `node` comes.
    #[inline]
    pub fn side(&self, node: NodeId) -> usize {
        usize::from(node != self.ends[0])
    }
}
