//! Performance-enhancing proxies (RFC 3135): what a node does to the TCP connections that pass it.
//!
//! A proxy stands at a node. The node's router hands it what belongs to its flows and only passes through; what the proxy
//! sends takes the node's usual ways. So it works at any place where both directions of a flow pass, alone or in pairs,
//! over links and networks of every kind. In results what a proxy did for a flow is called `FLOW@PROXY`.

pub mod ack_decimation;
pub mod ack_filter;
pub mod ack_reconstruction;
pub mod acknowledgments;
pub mod snoop;
pub mod split;
mod thinning;

use crate::transport::tcp;
use crate::transport::tcp::endpoint::MakeCongestion;
use crate::Stage;
use bentpipe_core::{kinds, FlowId, NodeId, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A performance-enhancing proxy at a node (RFC 3135).
///
/// ```toml
/// [[proxy]]
/// name = "pep"
/// node = "gateway"
/// mechanism = { kind = "split", buffer = "1 MB", sides.satellite = { congestion = "hybla" } }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Its name, in results.
    pub name: String,
    /// The node where it stands.
    pub node: String,
    /// The flows that it serves: over TCP, and passing the node in both directions. All such when not given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// What it does.
    pub mechanism: Mechanism,
}

kinds! {
    /// What a proxy does.
    pub enum Mechanism: Enhancement {
        "ack-decimation" => AckDecimation(ack_decimation::Config),
        "ack-filter" => AckFilter(ack_filter::Config),
        "ack-reconstruction" => AckReconstruction(ack_reconstruction::Config),
        "snoop" => Snoop(snoop::Config),
        "split" => Split(split::Config),
    }
}

/// What a mechanism's `Config` can do.
pub trait Enhancement {
    /// The stage for the flows that pass: in port 0 for what comes, out port 0 for what goes on or is sent.
    fn build(&self, name: &str, flows: Vec<Passing>, supply: &mut dyn Supply) -> Box<dyn Stage>;

    /// The links and networks of the node that it names, and the TCP that it has there.
    fn sides(&self) -> Vec<(&str, &tcp::Config)> {
        Vec::new()
    }

    /// The TCP that it has elsewhere, and the key that says so.
    fn elsewhere(&self) -> Option<(&'static str, &tcp::Config)> {
        None
    }

    /// The link or network of the node for which it is there, if it is for one.
    fn over(&self) -> Option<&str> {
        None
    }

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// A flow whose packets pass a proxy.
#[derive(Clone, Debug)]
pub struct Passing {
    /// The flow.
    pub flow: FlowId,
    /// Its name.
    pub name: String,
    /// The nodes of its source and of its destination.
    pub ends: [NodeId; 2],
    /// The link or network through which each of them is reached.
    pub ways: [String; 2],
    /// Names of the traced connections, by number: from source to destination, and back.
    pub traced: Vec<[String; 2]>,
}

impl Passing {
    /// Which end, 0 for the source, a packet from `node` comes from.
    #[inline]
    pub fn side(&self, node: NodeId) -> usize {
        usize::from(node != self.ends[0])
    }

    /// The names in results of what the proxy does for each direction of the flow.
    pub fn entities(&self, proxy: &str) -> [String; 2] {
        [format!("{}@{proxy}", self.name), format!("{}.reverse@{proxy}", self.name)]
    }
}

/// What mechanisms ask of the engine while they are built.
pub trait Supply: crate::Supply {
    /// Makes congestion controls as `config` wants them.
    fn congestion(&mut self, config: &tcp::Config) -> MakeCongestion;
}
