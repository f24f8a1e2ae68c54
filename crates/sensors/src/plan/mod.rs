//! The plan of a query: a graph of operators, each placed on a node, and the stream channels that
//! connect those on different nodes.
//!
//! If operators are placed on the nodes, conditions and projections of one stream are where it is
//! sampled; an aggregate is partial at each mote and merged at every node on the path to the sink;
//! a join is at the node that makes the plan cheapest, by the expected bytes on the air. The plan
//! that ships everything has all operators at the sink, to which each measure travels whole.
//!
//! Sources: S. Madden et al., "TAG: a tiny aggregation service for ad-hoc sensor networks", OSDI
//! 2002, for partial aggregates in a tree; Y. Yao and J. Gehrke, "The Cougar approach to in-network
//! query processing in sensor networks", SIGMOD Record 31(3), 2002, for plans whose operators are
//! placed.

pub mod cost;
mod explain;
mod place;
#[cfg(test)]
mod tests;

pub use cost::{Cost, Power};
pub use explain::explained;
pub use place::place;

use crate::ieee802154::timing::{CHECK, HEADER, MAX_FRAME};
use crate::measure::{MEASURE, ROW, VALUE};
use crate::query::{Column, Expression, Field, Query};
use bentpipe_core::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The motes and the tree by which they reach the sink, whose index is the number of motes.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Names of the motes.
    pub motes: Vec<String>,
    /// The node to which each mote sends data for the sink.
    pub parents: Vec<usize>,
    /// Time between two samples of a mote.
    pub period: Span,
    /// Time for which a window waits, for each hop below its node, for partial aggregates and
    /// measures.
    pub wait: Span,
}

impl Network {
    /// Returns the index of the sink.
    pub fn sink(&self) -> usize {
        self.motes.len()
    }

    /// Returns the name of a node.
    pub fn name(&self, node: usize) -> &str {
        self.motes.get(node).map_or("sink", String::as_str)
    }

    /// Returns the nodes from `node` to the sink, both included.
    ///
    /// # Panics
    /// If parents form a cycle.
    pub fn ascent(&self, node: usize) -> Vec<usize> {
        let mut nodes = vec![node];
        while let Some(&parent) = nodes.last().and_then(|last| self.parents.get(*last)) {
            assert!(nodes.len() <= self.motes.len(), "the parents form a circle");
            nodes.push(parent);
        }
        nodes
    }

    /// Returns the nodes from one to another through the tree, both included.
    pub fn path(&self, from: usize, to: usize) -> Vec<usize> {
        let (mut up, down) = (self.ascent(from), self.ascent(to));
        let meet = up.iter().position(|node| down.contains(node)).unwrap_or(up.len() - 1);
        let place = down.iter().position(|node| *node == up[meet]).unwrap_or(down.len() - 1);
        up.truncate(meet + 1);
        up.extend(down[..place].iter().rev());
        up
    }
}

/// A placement of a query's operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Placed")]
pub enum Placement {
    /// On the nodes, such that the fewest bytes travel.
    #[default]
    Nodes,
    /// At the sink, to which every measure is shipped.
    Sink,
}

/// An operator. It runs on one node, and passes its tuples to its successors.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// Kind of the operator.
    pub kind: Kind,
    /// The node where it runs.
    pub node: usize,
    /// The operators that get its tuples, each with the input where they arrive.
    pub outputs: Vec<(usize, usize)>,
    /// Bytes of a tuple in a message.
    pub bytes: u32,
    /// Expected number of tuples a second.
    pub rate: f64,
    /// Largest number of hops between nodes before it.
    pub hops: u32,
}

/// The kind of an operator.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Samples a mote.
    Sample,
    /// Passes data that fulfils conditions on a stream of the query.
    Select {
        /// The stream.
        source: usize,
        /// The conditions.
        conditions: Vec<Expression>,
    },
    /// Keeps the columns that others need.
    Project {
        /// The columns.
        columns: BTreeSet<Column>,
    },
    /// Joins the measures of two streams.
    Join {
        /// Largest difference of the times of two measures.
        within: Span,
        /// The conditions on both streams.
        conditions: Vec<Expression>,
    },
    /// Aggregates measures and partial aggregates of each window and group.
    Aggregate {
        /// True if it is the last one, after which groups are complete.
        last: bool,
    },
    /// Computes the columns of the results.
    Compute,
    /// Delivers results to the client.
    Deliver,
}

/// The operators of a query on nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The query.
    pub query: Query,
    /// Requested placement of the operators.
    pub placement: Placement,
    /// The operators; each stands before its successors.
    pub operators: Vec<Operator>,
}

/// Bytes of the largest tuple, which has to fit into a frame.
pub const MAX_TUPLE: u32 = MAX_FRAME - HEADER - CHECK;

impl Plan {
    /// Returns the stream channels: from an operator to a node with some of its successors.
    pub fn channels(&self) -> Vec<(usize, usize)> {
        let mut channels = BTreeSet::new();
        for (place, operator) in self.operators.iter().enumerate() {
            for &(to, _) in &operator.outputs {
                let node = self.operators[to].node;
                if node != operator.node {
                    channels.insert((place, node));
                }
            }
        }
        channels.into_iter().collect()
    }

    /// Checks that every tuple fits into a frame. The error describes the first that does not.
    pub fn check(&self) -> Result<(), String> {
        for (place, _) in self.channels() {
            let bytes = self.operators[place].bytes;
            if bytes > MAX_TUPLE {
                return Err(format!(
                    "a row of {bytes} bytes does not fit into a frame of IEEE 802.15.4; allowed: {MAX_TUPLE} bytes"
                ));
            }
        }
        Ok(())
    }
}

/// Returns the bytes of measures of `sources` streams with these columns: mote and time of each,
/// and the values.
fn row_bytes(sources: usize, columns: &BTreeSet<Column>) -> u32 {
    let values = columns.iter().filter(|column| matches!(column.field, Field::Quantity(_))).count();
    sources as u32 * ROW + values as u32 * VALUE
}

/// Returns the bytes of a row of results, which always contains the mote and the time of its first
/// measure.
fn result_bytes(query: &Query) -> u32 {
    let free = |expression: &Expression| {
        let column =
            matches!(expression, Expression::Column(Column { source: 0, field: Field::Node | Field::Time }));
        column || *expression == Expression::WindowStart
    };
    let values = query.items.iter().filter(|item| !free(&item.expression)).count();
    ROW + values as u32 * VALUE
}

/// Returns the bytes of a partial aggregate: group and window, and a state for each aggregate.
fn partial_bytes(query: &Query) -> u32 {
    ROW + query.aggregates.iter().map(|aggregate| aggregate.function.bytes()).sum::<u32>()
}

/// Bytes of a measure that is shipped whole.
const WHOLE: u32 = MEASURE;
