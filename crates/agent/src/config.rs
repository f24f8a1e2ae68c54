//! The configuration of an agent, filled from its command line.

use crate::security::Keys;
use bentpipe_dtn::convergence::stream::Framing;
use bentpipe_dtn::convergence::{mtcp, stcp};
use bp7::EndpointID;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Configuration of an agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Identifier of the node, such as `dtn://mars/` or `ipn:3.0`.
    pub node: String,
    /// Folder of the storage.
    pub storage: PathBuf,
    /// Most bytes of stored bundles.
    pub limit: u64,
    /// True if a bundle must be on the medium before it is acknowledged, so that it survives a
    /// power failure.
    #[serde(default)]
    pub sync: bool,
    /// Folder into which payloads for endpoints of the node are written, one file each; `None` only
    /// counts them.
    #[serde(default)]
    pub deliver: Option<PathBuf>,
    /// Addresses on which other agents can connect.
    #[serde(default)]
    pub listen: Vec<Address>,
    /// The agents to which this one can forward bundles, with their addresses.
    #[serde(default)]
    pub peers: Vec<Peer>,
    /// The next peer for each destination, by node identifier; `*` stands for all other
    /// destinations. Destinations in the contact plan are routed by the plan.
    #[serde(default)]
    pub routes: Vec<(String, String)>,
    /// Longest bundle that is accepted, in bytes.
    pub longest: u64,
    /// File into which the counts are written at the end and once a second.
    #[serde(default)]
    pub status: Option<PathBuf>,
    /// The contact plan that gives routes and contacts; without one, peers can always be reached.
    #[serde(default)]
    pub plan: Option<Planned>,
    /// The configuration of LTP.
    #[serde(default)]
    pub ltp: Ltp,
    /// The keys with which payloads for this node are decrypted and verified before they are
    /// delivered.
    #[serde(default)]
    pub keys: Keys,
}

/// A contact plan of an agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The plan in any of the formats of [`bentpipe_dtn::contacts::read`].
    pub text: String,
    /// Skips contacts that do not end after their start; otherwise a plan with such a contact is
    /// refused.
    #[serde(default)]
    pub skip_impossible: bool,
    /// Time from now to second 0 of the plan in seconds, negative if that has passed.
    pub lead: f64,
}

/// The configuration of an agent's LTP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ltp {
    /// Number of the engine; by default the number of an `ipn` node, and otherwise a checksum of
    /// the node's identifier.
    #[serde(default)]
    pub engine: Option<u64>,
    /// One-way light time to peers that are not in the contact plan, in seconds.
    pub light_time: f64,
    /// Time in seconds that an answer may take beyond light times and closed contacts, for
    /// transmission, queues and processing.
    pub margin: f64,
    /// Rate in bit/s of datagrams to peers that are not in the contact plan.
    pub rate: u64,
    /// Most bytes of bundles to a peer that are in memory without an acknowledgment; one bundle is
    /// always allowed. Further ones wait in the storage.
    #[serde(default = "default_in_flight")]
    pub in_flight: u64,
}

fn default_in_flight() -> u64 {
    100_000_000
}

impl Default for Ltp {
    fn default() -> Ltp {
        Ltp { engine: None, light_time: 0.0, margin: 1.0, rate: 100_000_000, in_flight: default_in_flight() }
    }
}

/// An address and its convergence layer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// The convergence layer at the address.
    pub layer: Layer,
    /// IP address and port.
    pub address: SocketAddr,
}

/// A convergence layer of an agent.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// TCP convergence layer version 4 (RFC 9174), without TLS.
    Tcpcl,
    /// Minimal TCP convergence layer (draft-ietf-dtn-mtcpcl), without acknowledgments.
    Mtcp,
    /// Simple TCP convergence layer (draft-burleigh-dtn-stcp), without acknowledgments.
    Stcp,
    /// A UDP datagram per bundle (RFC 7122), without acknowledgments.
    Udp,
    /// LTP (RFC 5326) over UDP, a red block per bundle.
    Ltp,
}

impl Layer {
    /// Returns the format in which the layer puts bundles into a TCP connection one after the
    /// other, if it does.
    pub fn framing(self) -> Option<Framing> {
        match self {
            Layer::Mtcp => Some(mtcp::FRAMING),
            Layer::Stcp => Some(stcp::FRAMING),
            Layer::Tcpcl | Layer::Udp | Layer::Ltp => None,
        }
    }
}

/// An agent to which this one can forward bundles.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Identifier of the peer's node.
    pub node: String,
    /// The address at which the peer listens.
    pub at: Address,
}

/// Returns a node identifier in its canonical form.
///
/// # Errors
/// If it is invalid.
pub fn node(text: &str) -> Result<EndpointID, String> {
    let endpoint = endpoint(text)?;
    match endpoint.is_node_id() {
        true => Ok(endpoint),
        false => Err(format!("\"{text}\" names an endpoint; allowed: a node such as dtn://mars/ or ipn:3.0")),
    }
}

/// Returns an endpoint identifier.
///
/// # Errors
/// If it is invalid.
pub fn endpoint(text: &str) -> Result<EndpointID, String> {
    EndpointID::try_from(text).map_err(|_| {
        format!("\"{text}\" is not an endpoint identifier; allowed: such as dtn://mars/in or ipn:3.1")
    })
}
