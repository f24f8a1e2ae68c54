//! What an agent is told when it starts.

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
    /// Bytes of bundles that are stored at most.
    pub limit: u64,
    /// Whether a bundle is on the medium before it is acknowledged, so that it survives a failure of power.
    #[serde(default)]
    pub sync: bool,
    /// Folder into which payloads for endpoints of the node are written, one file each; none counts them only.
    #[serde(default)]
    pub deliver: Option<PathBuf>,
    /// Addresses on which other agents are served.
    #[serde(default)]
    pub listen: Vec<Address>,
    /// Other agents.
    #[serde(default)]
    pub peers: Vec<Peer>,
    /// For destinations, as of node identifiers, the node that comes next; `*` is any other.
    #[serde(default)]
    pub routes: Vec<(String, String)>,
    /// Longest bundle that is received, in bytes.
    pub longest: u64,
    /// File into which the counts are written at the end and once a second.
    #[serde(default)]
    pub status: Option<PathBuf>,
}

/// An address and what is spoken there.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// The convergence layer.
    pub layer: Layer,
    /// IP address and port.
    pub address: SocketAddr,
}

/// A convergence layer of an agent.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// TCPCL version 4 (RFC 9174).
    Tcpcl,
    /// MTCP.
    Mtcp,
    /// A datagram per bundle.
    Udp,
}

/// Another agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Identifier of its node.
    pub node: String,
    /// Where it is reached.
    pub at: Address,
}

/// A node identifier in the form in which they are compared.
///
/// # Errors
/// If it is none.
pub fn node(text: &str) -> Result<EndpointID, String> {
    let endpoint = endpoint(text)?;
    match endpoint.is_node_id() {
        true => Ok(endpoint),
        false => Err(format!("\"{text}\" names an endpoint; allowed: a node such as dtn://mars/ or ipn:3.0")),
    }
}

/// An endpoint identifier.
///
/// # Errors
/// If it is none.
pub fn endpoint(text: &str) -> Result<EndpointID, String> {
    EndpointID::try_from(text).map_err(|_| {
        format!("\"{text}\" is not an endpoint identifier; allowed: such as dtn://mars/in or ipn:3.1")
    })
}
