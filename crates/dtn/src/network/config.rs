//! The configuration of the nodes of a network.

use super::routing::Routing;
use crate::agent::Discard;
use crate::ltp;
use bentpipe_core::Span;
use std::sync::Arc;

/// The configuration shared by all nodes of a network.
#[derive(Clone, Debug)]
pub struct Config {
    /// Convergence layer that carries bundles over contacts.
    pub convergence: Convergence,
    /// Routing of bundles.
    pub routing: Arc<dyn Routing>,
    /// Maximum size of the bundles that a node stores, in bytes.
    pub storage: u64,
    /// Action of a node that has no room for a new bundle.
    pub discard: Discard,
}

/// A convergence layer that carries bundles over contacts.
#[derive(Clone, Debug, PartialEq)]
pub enum Convergence {
    /// UDP, one datagram per bundle, with 28 bytes of IP and UDP headers.
    Udp,
    /// LTP, one red block per bundle, with one UDP datagram per segment.
    Ltp {
        /// Settings of the LTP engines.
        config: ltp::Config,
        /// Time allowed for an answer in addition to light times and closed contacts.
        margin: Span,
    },
}

/// Size of the IP and UDP headers in bytes.
pub(crate) const DATAGRAM: u64 = 28;

impl Convergence {
    /// Returns the number of header bytes that are sent with a bundle of `size` bytes if nothing is
    /// lost.
    pub fn overhead(&self, size: u64) -> u64 {
        match self {
            Convergence::Udp => DATAGRAM,
            Convergence::Ltp { config, .. } => {
                // With small numbers, the header of a segment has at most 12 bytes, and that of a
                // checkpoint at most 16.
                let segments = size.div_ceil(config.segment.saturating_sub(16).max(1));
                segments * (DATAGRAM + 16)
            }
        }
    }
}
