//! Bundles of a simulated network, their outcomes, and the counters of the network.

use crate::contacts::Node;
use bentpipe_core::Span;

/// A bundle that enters the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The node at which the bundle enters the network.
    pub from: Node,
    /// The destination of the bundle.
    pub to: Node,
    /// Length of the payload in bytes.
    pub payload: u64,
    /// Time from the creation of the bundle until it is dropped.
    pub lifetime: Span,
    /// Priority of the bundle: 0 for bulk, 1 for normal, 2 for expedited.
    pub priority: usize,
}

/// The reason for dropping a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The lifetime of the bundle was over.
    Expired,
    /// A node had no room for the bundle.
    StorageFull,
    /// The bundle was corrupted on a link.
    Errors,
    /// A contact ended without announcement while it transmitted the bundle.
    CutOff,
}

/// The outcome of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The bundle has arrived at its destination.
    Delivered {
        /// Number of the bundle in the network.
        bundle: u64,
        /// The destination of the bundle.
        to: Node,
        /// The number of contacts that the bundle has crossed.
        hops: u32,
    },
    /// The last copy of the bundle was dropped.
    Dropped {
        /// Number of the bundle in the network.
        bundle: u64,
        /// The node that had the last copy.
        node: Node,
        /// The reason for dropping the last copy.
        reason: Reason,
    },
}

/// Totals of the transmissions from one node to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of bytes sent, including headers, retransmissions and reports.
    pub bytes: u64,
    /// Total time of the transmissions. A transmission that the end of a contact cuts off counts
    /// with its full time.
    pub time: Span,
}

/// Counts of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bundles that entered the network.
    pub created: u64,
    /// Bundles that were delivered.
    pub delivered: u64,
    /// Total size of the delivered payloads in bytes.
    pub delivered_bytes: u64,
    /// Bundles that were dropped because their lifetime was over.
    pub expired: u64,
    /// Bundles that were dropped for other reasons.
    pub dropped: u64,
    /// Number of bytes sent over all contacts, including headers, retransmissions and reports.
    pub sent_bytes: u64,
    /// Number of transmissions of bundles and segments.
    pub transmissions: u64,
    /// Maximum number of bytes stored at one node.
    pub stored_max: u64,
    /// Number of searches of the contact graph for routes. Bundles that follow a cached route need
    /// no search.
    pub searches: u64,
}
