//! Results and counts of a field.

use crate::ieee802154::Counters;
use crate::measure::Value;
use bentpipe_core::Time;

/// A row of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The values of the query's columns.
    pub values: Vec<Value>,
    /// Time of the latest measure in it.
    pub sampled: Time,
    /// Time at which the sink delivered it.
    pub delivered: Time,
}

/// The counts of a field. Messages are conserved: `messages` = `arrived` + the three kinds of loss
/// + those on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Messages with tuples that operators sent to other nodes.
    pub messages: u64,
    /// Messages that reached their node.
    pub arrived: u64,
    /// Messages lost because the channel was always busy.
    pub channel_access: u64,
    /// Messages lost because no transmission was acknowledged.
    pub no_acknowledgment: u64,
    /// Messages lost because a node's queue was full.
    pub queue_full: u64,
    /// Measures and partial aggregates that came after their window had been closed.
    pub late: u64,
    /// Rows that the sink delivered.
    pub rows: u64,
}

/// The counts of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoteResults {
    /// Samples taken by the node.
    pub samples: u64,
    /// Messages of its operators.
    pub messages: u64,
    /// Messages that it forwarded for others.
    pub forwarded: u64,
    /// Messages that it lost because the channel was always busy.
    pub channel_access: u64,
    /// Messages that it lost because no transmission was acknowledged.
    pub no_acknowledgment: u64,
    /// Messages that it lost because its queue was full.
    pub queue_full: u64,
    /// Messages in its queue.
    pub waiting: u64,
    /// Counts of its transceiver.
    pub radio: Counters,
}
