//! The scenario: the root of the configuration, whose parts are defined next to the models.

mod campaign;
mod change;
mod fidelity;
pub(crate) mod groups;
mod handover;
mod islands;
mod link;
mod record;
mod starts;
mod to;

pub use campaign::Campaign;
pub use change::Change;
pub use fidelity::Fidelity;
pub use handover::Handover;
pub(crate) use islands::Islands;
pub use link::LinkPair;
pub use record::Record;
pub use starts::Starts;
pub use to::To;

pub use bentpipe_networks::NetworkKind;

use bentpipe_core::{Count, Dscp, Span};
use bentpipe_networks::multilink;
use bentpipe_networks::node::edge::Rule;
use bentpipe_networks::node::proxy as proxies;
use bentpipe_networks::node::service as services;
use bentpipe_transport as transport;
use bentpipe_transport::app;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A scenario: a network, the traffic through it, the recorded data, and the duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario, used in results and as the name of the run's folder.
    pub name: String,
    /// Description of the scenario for its readers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Duration of the run, in the time of its clock; longer than 0 s.
    pub duration: Span,
    /// Seed of all random streams. Runs with the same scenario, seed and version are identical.
    /// Default 1.
    #[serde(default = "seed")]
    pub seed: Count<0, 9_007_199_254_740_991>,
    /// Data that the run records in addition to its summary.
    #[serde(default)]
    pub record: Record,
    /// Tolerances of an emulation, beyond which its results are marked as degraded or void.
    #[serde(default)]
    pub fidelity: Fidelity,
    /// Links, each between two nodes and in both directions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<LinkPair>,
    /// Multilinks: several links between the same two nodes, of which one at a time carries the
    /// packets of each direction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub multilink: Vec<multilink::Config>,
    /// Handovers between the links of multilinks, at given times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handover: Vec<Handover>,
    /// Access networks, which connect several nodes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub network: BTreeMap<String, NetworkKind>,
    /// DiffServ edges, by the names of their nodes: ordered rules for the packets that leave the
    /// node for other nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub edge: BTreeMap<String, Vec<Rule>>,
    /// Flows: the traffic between nodes, each an application over a transport.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<Flow>,
    /// Performance-enhancing proxies, each at a node on the path of flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxy: Vec<proxies::Config>,
    /// Services at nodes: programs that take packets of flows and send their own packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<services::Config>,
    /// Changes of links and networks during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<Change>,
    /// Values to vary over many runs. The resolved scenario of a single run does not have this key.
    #[serde(default, skip_serializing)]
    pub campaign: Option<Campaign>,
}

impl Scenario {
    /// Returns the names of all nodes, in alphabetical order.
    pub fn nodes(&self) -> Vec<String> {
        Islands::of(self).into_names()
    }
}

fn seed() -> Count<0, 9_007_199_254_740_991> {
    Count::new(1)
}

/// Traffic between two nodes: an application at both ends, over a transport. A flow with a `count`,
/// or with a pattern as `from` or `to`, represents a group of flows.
///
/// ```toml
/// [[flow]]
/// name = "web"            # web1 to web400
/// from = "st*"            # two at each of 200 terminals
/// to = "gw"
/// count = 400
/// starts = { kind = "poisson", mean = "100 ms" }
/// ```
///
/// A flow to a list of nodes is a multicast flow, with a flow in the results for each receiver:
///
/// ```toml
/// [[flow]]
/// name = "news"           # news1 to news3
/// from = "gw"
/// to = ["st1", "st2", "office"]
/// transport = "udp"
/// app = { kind = "cbr", rate = "1 Mbit/s" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name of the flow, in results. In a group of flows, `{}` in it is replaced by the number of
    /// the flow, from 1; without `{}` the number is appended.
    pub name: String,
    /// Name of the node whose application starts and opens connections, or a pattern for the nodes
    /// of a group: `*` matches any characters, `?` one. Numbers in names are compared by value:
    /// `st2` comes before `st10`.
    pub from: String,
    /// Name of the node whose application answers, or a pattern. A list of names and patterns makes
    /// the flow a multicast flow: the source sends each packet once, to all nodes of the list.
    pub to: To,
    /// Name of the multicast group, to whose members the source sends each packet once, instead of
    /// a flow of its own to each. All flows of a group have the same `from`, `app`, `transport`,
    /// `start` and `dscp`. Default: the name of the flow if `to` is a list, otherwise none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multicast: Option<String>,
    /// Number of flows in a group. They take the nodes of `from`, and those of `to`, in turn. If
    /// unset, there is one flow per node of the pattern (of the longer list, if both ends are
    /// patterns), and a single flow without a pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count<1, 65_000>>,
    /// Group under which results summarise this flow with others. Default: the table's name for the
    /// flows of a group; a single flow belongs to no group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Time at which the application starts. Default 0 s.
    #[serde(default)]
    pub start: Span,
    /// Distribution of the starts of a group after `start`, drawn for each replication. If unset,
    /// all flows start at `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Starts>,
    /// Differentiated services code point (DSCP) of the flow's packets. Default 0 (best effort).
    #[serde(default)]
    pub dscp: Dscp,
    /// The application, which determines the traffic.
    pub app: app::Config,
    /// The transport protocol that carries the application's data.
    pub transport: transport::Config,
    /// Ends of the flow in an emulation: sockets of the kernel or models. Default: the kernel's
    /// sockets, except with TFRC, which kernels do not have, and for multicast flows. A flow over
    /// QUIC has quinn over such sockets, if quinn has its congestion control.
    #[serde(default, skip_serializing_if = "Endpoints::are_default")]
    pub endpoints: Endpoints,
}

impl Flow {
    /// Returns true if the application is a program of this machine, which cannot be simulated.
    pub fn is_command(&self) -> bool {
        matches!(self.app, app::Config::Command(_))
    }

    /// Returns true if models also run at the flow's ends in an emulation: on request, with a
    /// transport or a congestion control that real hosts do not have, and for multicast flows.
    pub fn is_modelled(&self) -> bool {
        self.endpoints == Endpoints::Model || self.transport.socket().is_none() || self.multicast.is_some()
    }
}

/// The ends of a flow in an emulation. In a simulation both ends are models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoints {
    /// Sockets of the running kernel, on real hosts.
    #[default]
    Kernel,
    /// The models of the simulation: simulated traffic next to real hosts.
    Model,
}

impl Endpoints {
    fn are_default(&self) -> bool {
        *self == Endpoints::default()
    }
}
