//! The configuration of the nodes of a network.

use super::routing::Routing;
use crate::agent::Discard;
use crate::ltp;
use bentpipe_core::Span;
use std::sync::Arc;

/// The configuration shared by all nodes of a network.
#[derive(Clone, Debug)]
pub struct Config {
    /// Convergence layer that carries bundles over a contact.
    pub convergence: Convergence,
    /// Routing of the bundles.
    pub routing: Arc<dyn Routing>,
    /// Most bytes that a node stores.
    pub storage: u64,
    /// Action of a node without room.
    pub discard: Discard,
}

/// The convergence layer that carries bundles over a contact.
#[derive(Clone, Debug, PartialEq)]
pub enum Convergence {
    /// A datagram per bundle: 28 bytes of IP and UDP.
    Udp,
    /// A red block of LTP per bundle, segments in datagrams.
    Ltp {
        /// Segment size and limits.
        config: ltp::Config,
        /// Time that an answer may take beyond light times and closed contacts.
        margin: Span,
    },
}

/// Bytes of IP and UDP headers.
pub(crate) const DATAGRAM: u64 = 28;

impl Convergence {
    /// Returns the bytes that are sent besides a bundle of `size` bytes if nothing is lost.
    pub fn overhead(&self, size: u64) -> u64 {
        match self {
            Convergence::Udp => DATAGRAM,
            Convergence::Ltp { config, .. } => {
                // Twelve bytes of a segment's header at most with small numbers, sixteen of a
                // checkpoint's.
                let segments = size.div_ceil(config.segment.saturating_sub(16).max(1));
                segments * (DATAGRAM + 16)
            }
        }
    }
}
