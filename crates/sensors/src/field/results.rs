//! Results and counts of a field.

use crate::ieee802154::Counters;
use crate::measure::Value;
use bentpipe_core::Time;

/// A row of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The values of the query's columns.
    pub values: Vec<Value>,
    /// Time of the latest measure in the row.
    pub sampled: Time,
    /// Time at which the sink delivered the row.
    pub delivered: Time,
}

/// The counts of a field. Messages are conserved: `messages` is the sum of `arrived`, the three
/// kinds of losses, and the messages in transit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Messages that operators sent to other nodes.
    pub messages: u64,
    /// Messages that reached their destination node.
    pub arrived: u64,
    /// Messages lost because the channel was always busy.
    pub channel_access: u64,
    /// Messages lost because no transmission was acknowledged.
    pub no_acknowledgment: u64,
    /// Messages lost because a node's queue was full.
    pub queue_full: u64,
    /// Measures and partial aggregates that arrived after their window was closed.
    pub late: u64,
    /// Rows that the sink delivered.
    pub rows: u64,
}

/// The counts of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoteResults {
    /// Samples taken by the node.
    pub samples: u64,
    /// Messages that the node's operators sent.
    pub messages: u64,
    /// Messages that the node forwarded for other nodes.
    pub forwarded: u64,
    /// Messages that the node lost because the channel was always busy.
    pub channel_access: u64,
    /// Messages that the node lost because no transmission was acknowledged.
    pub no_acknowledgment: u64,
    /// Messages that the node lost because its queue was full.
    pub queue_full: u64,
    /// Messages in the node's queue.
    pub waiting: u64,
    /// Counts of the node's transceiver.
    pub radio: Counters,
}
