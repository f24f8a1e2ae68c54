//! A host of a running network on this machine.

use crate::host::namespace::Namespace;
use bentpipe_core::NodeId;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Name of a host's interface to the network.
pub const INTERFACE: &str = "sat0";

/// A host of a running network.
#[derive(Debug)]
pub struct LiveHost {
    /// Name of the node that the host represents.
    pub name: String,
    /// Number of the host's node.
    pub node: NodeId,
    /// The host's network namespace.
    pub namespace: Namespace,
    /// IPv4 address of the host.
    pub ipv4: Ipv4Addr,
    /// IPv6 address of the host.
    pub ipv6: Ipv6Addr,
}
