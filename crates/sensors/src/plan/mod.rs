//! The plan of a query: a graph of operators on nodes, and the stream channels between operators on
//! different nodes.
//!
//! With the placement [`Placement::Nodes`], conditions and projections of a stream run on the motes
//! that sample it. Each mote computes partial aggregates, and every node on the path to the sink
//! merges them. A join runs on the node that minimizes the expected number of bytes sent. With
//! [`Placement::Sink`], all operators run at the sink, and motes send complete measures.
//!
//! **Sources.** S. Madden et al., "TAG: a tiny aggregation service for ad-hoc sensor networks",
//! OSDI 2002, for partial aggregates in a tree. Y. Yao and J. Gehrke, "The Cougar approach to
//! in-network query processing in sensor networks", SIGMOD Record 31(3), 2002, for plans with
//! operators on nodes.

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

/// The motes, and the tree that connects them to the sink. The index of the sink is the number of
/// motes.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Names of the motes.
    pub motes: Vec<String>,
    /// The parent of each mote: the next node on its path to the sink.
    pub parents: Vec<usize>,
    /// Time between two samples of a mote.
    pub period: Span,
    /// Time per hop that an aggregate waits after the end of a window for measures and partial
    /// aggregates of other motes.
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

    /// Returns the nodes from `node` to the sink, including both.
    ///
    /// # Panics
    /// If parents form a cycle.
    pub fn ascent(&self, node: usize) -> Vec<usize> {
        let mut nodes = vec![node];
        while let Some(&parent) = nodes.last().and_then(|last| self.parents.get(*last)) {
            assert!(nodes.len() <= self.motes.len(), "the parents form a cycle");
            nodes.push(parent);
        }
        nodes
    }

    /// Returns the nodes on the path from one node to another through the tree, including both.
    pub fn path(&self, from: usize, to: usize) -> Vec<usize> {
        let (mut up, down) = (self.ascent(from), self.ascent(to));
        let common = up.iter().position(|node| down.contains(node)).unwrap_or(up.len() - 1);
        let turn = down.iter().position(|node| *node == up[common]).unwrap_or(down.len() - 1);
        up.truncate(common + 1);
        up.extend(down[..turn].iter().rev());
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

/// An operator, which runs on one node and passes its tuples to its successors.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// Kind of the operator.
    pub kind: Kind,
    /// The node where it runs.
    pub node: usize,
    /// The successors, each with the input that receives the tuples.
    pub outputs: Vec<(usize, usize)>,
    /// Length of a tuple in a message, in bytes.
    pub bytes: u32,
    /// Expected number of tuples per second.
    pub rate: f64,
    /// Maximum number of hops from a sampling mote to the operator's node.
    pub hops: u32,
}

/// The kind of an operator.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Samples all quantities at a mote.
    Sample,
    /// Passes the measures of a stream that satisfy conditions.
    Select {
        /// Index of the stream in the query.
        source: usize,
        /// The conditions, which must all hold.
        conditions: Vec<Expression>,
    },
    /// Removes the columns that later operators do not need.
    Project {
        /// The remaining columns.
        columns: BTreeSet<Column>,
    },
    /// Joins the measures of two streams.
    Join {
        /// Maximum difference between the times of two joined measures.
        within: Span,
        /// The conditions that refer to both streams.
        conditions: Vec<Expression>,
    },
    /// Aggregates measures and partial aggregates for each window and group.
    Aggregate {
        /// True for the last aggregate, which completes the groups.
        last: bool,
    },
    /// Computes the columns of the results.
    Compute,
    /// Delivers results to the client.
    Deliver,
}

/// A query's operators and their placement on nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The query.
    pub query: Query,
    /// Requested placement of the operators.
    pub placement: Placement,
    /// The operators. Each operator precedes its successors.
    pub operators: Vec<Operator>,
}

/// Maximum length of a tuple in bytes, since a tuple must fit into a frame.
pub const MAX_TUPLE: u32 = MAX_FRAME - HEADER - CHECK;

impl Plan {
    /// Returns the stream channels, each from an operator to another node with successors of the
    /// operator.
    pub fn channels(&self) -> Vec<(usize, usize)> {
        let mut channels = BTreeSet::new();
        for (id, operator) in self.operators.iter().enumerate() {
            for &(to, _) in &operator.outputs {
                let node = self.operators[to].node;
                if node != operator.node {
                    channels.insert((id, node));
                }
            }
        }
        channels.into_iter().collect()
    }

    /// Checks that every tuple fits into a frame.
    ///
    /// # Errors
    /// Describes the first tuple that is too long.
    pub fn check(&self) -> Result<(), String> {
        for (id, _) in self.channels() {
            let bytes = self.operators[id].bytes;
            if bytes > MAX_TUPLE {
                return Err(format!(
                    "a row of {bytes} bytes does not fit into a frame of IEEE 802.15.4; allowed: {MAX_TUPLE} bytes"
                ));
            }
        }
        Ok(())
    }
}

/// Returns the length in bytes of measures of `sources` streams with these columns: the mote and
/// the time of each measure, and the values.
fn row_bytes(sources: usize, columns: &BTreeSet<Column>) -> u32 {
    let values = columns.iter().filter(|column| matches!(column.field, Field::Quantity(_))).count();
    sources as u32 * ROW + values as u32 * VALUE
}

/// Returns the length in bytes of a row of results, which always contains the mote and the time of
/// its first measure.
fn result_bytes(query: &Query) -> u32 {
    let free = |expression: &Expression| {
        let column =
            matches!(expression, Expression::Column(Column { source: 0, field: Field::Node | Field::Time }));
        column || *expression == Expression::WindowStart
    };
    let values = query.items.iter().filter(|item| !free(&item.expression)).count();
    ROW + values as u32 * VALUE
}

/// Returns the length in bytes of a partial aggregate: its group and window, and a state for each
/// aggregate.
fn partial_bytes(query: &Query) -> u32 {
    ROW + query.aggregates.iter().map(|aggregate| aggregate.function.bytes()).sum::<u32>()
}

/// Length in bytes of a complete measure.
const WHOLE: u32 = MEASURE;
