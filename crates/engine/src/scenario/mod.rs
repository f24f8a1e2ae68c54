//! What a scenario file says: the root of the configuration whose parts stand beside the models.

mod campaign;
mod change;
mod check;
mod fidelity;
mod handover;
mod link;
mod proxy;
mod record;
mod service;

pub use campaign::Campaign;
pub use change::Change;
pub use fidelity::Fidelity;
pub use handover::Handover;
pub use link::LinkPair;
pub use record::Record;

pub use bentpipe_models::network::NetworkKind;

use bentpipe_core::{Count, Dscp, Span};
use bentpipe_models::app::{self, End};
use bentpipe_models::net::edge::Rule;
use bentpipe_models::net::{access, proxy as proxies};
use bentpipe_models::service as services;
use bentpipe_models::transport::{self, names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A network, what flows through it, what to record, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is called, in results and as the name of the run's folder.
    pub name: String,
    /// What it is about, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Simulated time.
    pub duration: Span,
    /// Seed of all random streams.
    #[serde(default = "seed")]
    pub seed: Count<0, 9_007_199_254_740_991>,
    /// What to record.
    #[serde(default)]
    pub record: Record,
    /// How exact an emulation must be.
    #[serde(default)]
    pub fidelity: Fidelity,
    /// Links between two nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<LinkPair>,
    /// Links between the same two nodes of which one at a time carries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<access::Config>,
    /// When they follow each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handover: Vec<Handover>,
    /// Access networks, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub network: BTreeMap<String, NetworkKind>,
    /// DiffServ edges, by the names of their nodes: rules for the packets that leave the node for others, in order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub edge: BTreeMap<String, Vec<Rule>>,
    /// What flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<Flow>,
    /// Performance-enhancing proxies at nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxy: Vec<proxies::Config>,
    /// Services at nodes: programs that take packets of flows and send packets of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<services::Config>,
    /// What changes while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<Change>,
    /// What a campaign varies. A resolved scenario, which is what is run, does not have it.
    #[serde(default, skip_serializing)]
    pub campaign: Option<Campaign>,
}

impl Scenario {
    /// Names of all nodes, in alphabetical order.
    pub fn nodes(&self) -> Vec<String> {
        check::Islands::of(self).into_names()
    }
}

fn seed() -> Count<0, 9_007_199_254_740_991> {
    Count::new(1)
}

/// Data from one node to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name, in results.
    pub name: String,
    /// Node whose application starts.
    pub from: String,
    /// Node whose application answers.
    pub to: String,
    /// When it starts.
    #[serde(default)]
    pub start: Span,
    /// Differentiated services code point of its packets.
    #[serde(default)]
    pub dscp: Dscp,
    /// What talks.
    pub app: app::Config,
    /// What carries it.
    pub transport: transport::Config,
    /// What stands at its ends where the scenario is emulated.
    #[serde(default, skip_serializing_if = "Endpoints::are_default")]
    pub endpoints: Endpoints,
}

impl Flow {
    /// Whether a program of the machine's talks, which cannot be simulated.
    pub fn is_command(&self) -> bool {
        matches!(self.app, app::Config::Command(_))
    }

    /// Whether TCP carries it.
    pub fn is_tcp(&self) -> bool {
        matches!(self.transport, transport::Config::Tcp(_))
    }

    /// Whether models stand at its ends also where the scenario is emulated: if it says so, and over TFRC, which kernels do not
    /// have.
    pub fn is_modelled(&self) -> bool {
        self.endpoints == Endpoints::Model || matches!(self.transport, transport::Config::Tfrc(_))
    }

    /// Under which names the sender and the receiver of one of its connections are traced at an end: the flow's for its
    /// direction, NAME.reverse for the other, and with .1, .2, ... those of further connections.
    pub fn traced_as(&self, end: End, connection: u16) -> (String, String) {
        let name = names::connection(&self.name, connection);
        let reverse = names::reverse(&name);
        match end {
            End::Source => (name, reverse),
            End::Destination => (reverse, name),
        }
    }
}

/// What stands at the ends of a flow where the scenario is emulated. In a simulation all are models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoints {
    /// Sockets of the running kernel, on real hosts.
    #[default]
    Kernel,
    /// The models of the simulation: a simulated crowd beside real hosts.
    Model,
}

impl Endpoints {
    fn are_default(&self) -> bool {
        *self == Endpoints::default()
    }
}
