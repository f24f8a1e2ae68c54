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
    /// Folder of the stored bundles.
    pub storage: PathBuf,
    /// Maximum size of all stored bundles together, in bytes.
    pub limit: u64,
    /// True if bundles are synchronized to the disk before they are acknowledged, so that they
    /// survive a power failure; false by default.
    #[serde(default)]
    pub sync: bool,
    /// Folder for payloads to endpoints of this node. Each payload is written to its own file. If
    /// `None`, payloads are only counted.
    #[serde(default)]
    pub deliver: Option<PathBuf>,
    /// Addresses on which this agent listens for other agents and applications.
    #[serde(default)]
    pub listen: Vec<Address>,
    /// The agents to which this agent can forward bundles, with their addresses.
    #[serde(default)]
    pub peers: Vec<Peer>,
    /// Routes as pairs of a destination and the peer for it, by node identifier. The destination
    /// `*` stands for all destinations without a route. Destinations in the contact plan are routed
    /// by the plan.
    #[serde(default)]
    pub routes: Vec<(String, String)>,
    /// Maximum size of a bundle received over TCPCL, MTCP, STCP or LTP, in bytes.
    pub longest: u64,
    /// File to which the counts are written once a second and when the agent stops; by default
    /// none.
    #[serde(default)]
    pub status: Option<PathBuf>,
    /// The contact plan. If `None`, bundles can be sent to peers at any time.
    #[serde(default)]
    pub plan: Option<Planned>,
    /// The configuration of LTP.
    #[serde(default)]
    pub ltp: Ltp,
    /// Keys for decrypting and verifying payloads for this node before delivery; by default none.
    #[serde(default)]
    pub keys: Keys,
}

/// The contact plan of an agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The plan in any of the formats of [`bentpipe_dtn::contacts::read`].
    pub text: String,
    /// True to skip contacts that do not end after their start. By default, a plan with such a
    /// contact is refused.
    #[serde(default)]
    pub skip_impossible: bool,
    /// Time from the start of the agent to second 0 of the plan, in seconds; negative if second 0
    /// is in the past.
    pub lead: f64,
}

/// The configuration of an agent's LTP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ltp {
    /// Number of the LTP engine. By default, the number of an `ipn` node, or a checksum of another
    /// node's identifier.
    #[serde(default)]
    pub engine: Option<u64>,
    /// One-way light time to peers that are not in the contact plan, in seconds.
    pub light_time: f64,
    /// Time allowed for an answer in addition to light times and closed contacts, in seconds. It
    /// covers transmission, queues and processing.
    pub margin: f64,
    /// Rate of LTP and UDP datagrams to peers that are not in the contact plan, in bit/s; more than
    /// 0.
    pub rate: u64,
    /// Maximum size of the unacknowledged bundles to a peer, in bytes; 100 MB by default. No bundle
    /// is started while this limit is reached, so the last one may exceed it. Further bundles wait
    /// in the storage.
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
    /// UDP (RFC 7122), one datagram per bundle, without acknowledgments.
    Udp,
    /// LTP (RFC 5326) over UDP, one red block per bundle.
    Ltp,
}

impl Layer {
    /// Returns the format of bundles in a TCP connection, for MTCP and STCP.
    pub fn framing(self) -> Option<Framing> {
        match self {
            Layer::Mtcp => Some(mtcp::FRAMING),
            Layer::Stcp => Some(stcp::FRAMING),
            Layer::Tcpcl | Layer::Udp | Layer::Ltp => None,
        }
    }
}

/// An agent to which this agent can forward bundles.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Identifier of the peer's node.
    pub node: String,
    /// The address at which the peer listens.
    pub at: Address,
}

/// Parses a node identifier.
///
/// # Errors
/// If the text is not an endpoint identifier, or names an endpoint other than a node.
pub fn node(text: &str) -> Result<EndpointID, String> {
    let endpoint = endpoint(text)?;
    match endpoint.is_node_id() {
        true => Ok(endpoint),
        false => Err(format!("\"{text}\" names an endpoint; allowed: a node such as dtn://mars/ or ipn:3.0")),
    }
}

/// Parses an endpoint identifier.
///
/// # Errors
/// If the text is not an endpoint identifier.
pub fn endpoint(text: &str) -> Result<EndpointID, String> {
    EndpointID::try_from(text).map_err(|_| {
        format!("\"{text}\" is not an endpoint identifier; allowed: such as dtn://mars/in or ipn:3.1")
    })
}
