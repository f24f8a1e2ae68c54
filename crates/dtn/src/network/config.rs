//! What the nodes of a network do.

use super::routing::Routing;
use crate::agent::Discard;
use crate::ltp;
use bentpipe_core::Span;
use std::sync::Arc;

/// What all nodes of a network do.
#[derive(Clone, Debug)]
pub struct Config {
    /// How bundles pass a contact.
    pub convergence: Convergence,
    /// Where bundles go next.
    pub routing: Arc<dyn Routing>,
    /// Bytes that a node stores at most.
    pub storage: u64,
    /// What a node without room does.
    pub discard: Discard,
}

/// How bundles pass a contact.
#[derive(Clone, Debug, PartialEq)]
pub enum Convergence {
    /// A datagram per bundle: 28 bytes of IP and UDP.
    Udp,
    /// A red block of LTP per bundle, segments in datagrams.
    Ltp {
        /// Segment size and limits.
        config: ltp::Config,
        /// What an answer may take beyond light times and closed contacts.
        margin: Span,
    },
}

/// Bytes of IP and UDP headers.
pub(crate) const DATAGRAM: u64 = 28;

impl Convergence {
    /// Returns the bytes that are sent with a bundle of `size` bytes if nothing is lost.
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
