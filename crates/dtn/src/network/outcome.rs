//! What enters a network of bundle nodes, what becomes of it, and what is counted.

use crate::contacts::Node;
use bentpipe_core::Span;

/// A bundle that enters the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Where it enters.
    pub from: Node,
    /// Where it leaves.
    pub to: Node,
    /// Bytes of payload.
    pub payload: u64,
    /// When it is worth nothing any more, counted from now.
    pub lifetime: Span,
    /// Its priority: 0 bulk, 1 normal, 2 expedited.
    pub priority: usize,
}

/// Why a bundle was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Its lifetime was over.
    Expired,
    /// A node had no room for it.
    StorageFull,
    /// Errors of a link spoiled it.
    Errors,
    /// A contact ended, unannounced, during its transmission.
    CutOff,
}

/// How a bundle ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has arrived.
    Delivered {
        /// Its number.
        bundle: u64,
        /// Where it has arrived.
        to: Node,
        /// Contacts that it passed.
        hops: u32,
    },
    /// Its last copy was dropped.
    Dropped {
        /// Its number.
        bundle: u64,
        /// Where its last copy was.
        node: Node,
        /// Why.
        reason: Reason,
    },
}

/// Counts of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bundles that entered.
    pub created: u64,
    /// Bundles that arrived.
    pub delivered: u64,
    /// Their payload in bytes.
    pub delivered_bytes: u64,
    /// Bundles whose lifetime was over.
    pub expired: u64,
    /// Bundles that were dropped for other reasons.
    pub dropped: u64,
    /// Bytes that links sent, headers, retransmissions and reports included.
    pub sent_bytes: u64,
    /// Transmissions of bundles and segments.
    pub transmissions: u64,
    /// The most bytes that a node stored.
    pub stored_max: u64,
    /// Searches for routes.
    pub searches: u64,
}
