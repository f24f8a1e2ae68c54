//! Bundles of a simulated network, their outcomes, and the counters of the network.

use crate::contacts::Node;
use bentpipe_core::Span;

/// A bundle that enters the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The node at which the bundle enters the network.
    pub from: Node,
    /// The node of its destination.
    pub to: Node,
    /// Length of the payload in bytes.
    pub payload: u64,
    /// Time from its creation after which the bundle is dropped.
    pub lifetime: Span,
    /// Priority of the bundle: 0 is bulk, 1 normal, 2 expedited.
    pub priority: usize,
}

/// The reason for which a bundle was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The lifetime of the bundle was over.
    Expired,
    /// A node had no room for it.
    StorageFull,
    /// The bundle was corrupted on a link.
    Errors,
    /// A contact ended, unannounced, during its transmission.
    CutOff,
}

/// The end of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The bundle has arrived at its destination.
    Delivered {
        /// Number of the bundle in the network.
        bundle: u64,
        /// The node of its destination.
        to: Node,
        /// The number of contacts that it has passed.
        hops: u32,
    },
    /// The last copy of the bundle was dropped.
    Dropped {
        /// Number of the bundle in the network.
        bundle: u64,
        /// The node that had its last copy.
        node: Node,
        /// The reason for which the last copy was dropped.
        reason: Reason,
    },
}

/// Totals that a node has sent to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes, headers, retransmissions and reports included.
    pub bytes: u64,
    /// Time for which the node transmitted; a transmission cut off by the end of a contact counts
    /// in full.
    pub time: Span,
}

/// Counts of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bundles that entered the network.
    pub created: u64,
    /// Bundles that were delivered.
    pub delivered: u64,
    /// Payload of the delivered bundles in bytes.
    pub delivered_bytes: u64,
    /// Bundles whose lifetime was over.
    pub expired: u64,
    /// Bundles that were dropped for other reasons.
    pub dropped: u64,
    /// Bytes sent by all links, headers, retransmissions and reports included.
    pub sent_bytes: u64,
    /// Transmissions of bundles and segments.
    pub transmissions: u64,
    /// Largest number of bytes stored at one node.
    pub stored_max: u64,
    /// Searches of the contact graph for routes; bundles that follow a known route need none.
    pub searches: u64,
}
