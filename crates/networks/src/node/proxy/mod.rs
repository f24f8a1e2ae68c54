//! Performance-enhancing proxies (RFC 3135): treatment of TCP connections that pass through a node.
//!
//! The node's router passes transit packets of the served flows to the proxy. Packets that the
//! proxy sends take the node's usual routes. A proxy therefore works at any node through which both
//! directions of a flow pass, alone or in pairs, and with links and networks of every kind. In
//! results, a flow at a proxy is called `FLOW@PROXY`.

pub mod ack_decimation;
pub mod ack_filter;
pub mod ack_reconstruction;
pub mod acknowledgments;
pub mod dtn;
pub mod frames;
pub mod snoop;
pub mod split;
mod thinning;

use crate::node::service::{ServedFlow, ServedPackets, Service, Supply};
use bentpipe_core::{kinds, Problems};
use bentpipe_stage::Stage;
use bentpipe_transport::names::reverse;
use bentpipe_transport::{self as transport, tcp};
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
#[schemars(rename = "Proxy")]
pub struct Config {
    /// Name of the proxy in results and messages.
    pub name: String,
    /// Name of the node at which the proxy runs.
    pub node: String,
    /// True (the default) if the proxy is active. If false, the scenario runs without this proxy. A
    /// campaign can compare both cases: `vary.proxy.pep.enabled = [false, true]`.
    #[serde(default = "default_enabled", skip_serializing_if = "is_on")]
    pub enabled: bool,
    /// Names of the flows that the proxy serves. They must use TCP and pass the node in both
    /// directions. If unset, the proxy serves all such flows. An empty list means no flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// Action on the packets that pass the node: split connections, carry their data as bundles
    /// (dtn), retransmit locally (snoop), or change acknowledgments.
    pub mechanism: Mechanism,
}

fn default_enabled() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_on(enabled: &bool) -> bool {
    *enabled
}

kinds! {
    /// The mechanism with which a proxy enhances performance.
    pub enum Mechanism: Enhancement, tables {
        "ack-decimation" => AckDecimation(ack_decimation::Config),
        "ack-filter" => AckFilter(ack_filter::Config),
        "ack-reconstruction" => AckReconstruction(ack_reconstruction::Config),
        "dtn" => Dtn(dtn::Config),
        "snoop" => Snoop(snoop::Config),
        "split" => Split(split::Config),
    }
}

/// The factory of a mechanism, implemented by its `Config`.
pub trait Enhancement {
    /// Builds the stage for the served flows. Input port 0 receives arriving packets. Packets that
    /// are forwarded or created leave through output port 0.
    fn build(&self, name: &str, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Box<dyn Stage>;

    /// Returns the links and networks that the configuration names, each with the TCP settings of
    /// the proxy for it.
    fn sides(&self) -> Vec<(&str, &tcp::Side)> {
        Vec::new()
    }

    /// Returns the key and the value of the TCP settings for all other links and networks.
    fn elsewhere(&self) -> Option<(&'static str, &tcp::Side)> {
        None
    }

    /// Returns the link or network to which the mechanism applies, if any.
    fn over(&self) -> Option<&str> {
        None
    }

    /// Returns true if the mechanism ends connections, so that a flow has several legs.
    fn splits(&self) -> bool {
        false
    }

    /// Returns the form in which an emulation provides the mechanism for the packets of real hosts,
    /// if it can.
    fn real_form(&self) -> Option<RealForm<'_>> {
        None
    }

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// The form in which an emulation provides a mechanism for the packets of real hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RealForm<'a> {
    /// Sockets of the kernel end the connections.
    Sockets(&'a split::Config),
    /// The model handles the frames that pass ([`frames`]).
    Frames,
}

impl Service for Mechanism {
    fn served_packets(&self) -> ServedPackets {
        ServedPackets::Passing
    }

    fn incompatibility(&self, transport: &transport::Config) -> Option<&'static str> {
        transport.tcp().is_none().then_some("is not over tcp")
    }

    fn has_real_form(&self) -> bool {
        self.real_form().is_some()
    }

    fn build(&self, name: &str, flows: Vec<ServedFlow>, supply: &mut dyn Supply) -> Box<dyn Stage> {
        (**self).build(name, flows, supply)
    }

    fn check(&self, problems: &mut Problems) {
        (**self).check(problems);
    }
}

/// Returns the name, in results, of a flow at a proxy. `served` is the name of the flow, or of one
/// of its directions or connections.
pub fn at(served: &str, proxy: &str) -> String {
    format!("{served}{AT}{proxy}")
}

/// Separator between the name of a flow and the name of a proxy.
pub const AT: char = '@';

/// Returns the names, in results, of both directions of a flow at a proxy.
pub fn directions_at(flow: &str, proxy: &str) -> [String; 2] {
    [at(flow, proxy), at(&reverse(flow), proxy)]
}
