//! Stream queries: a subset of SQL over the measures of motes.
//!
//! ```sql
//! SELECT node, avg(temperature), max(light)
//! FROM motes
//! WHERE light > 100
//! GROUP BY node, TUMBLE(time, INTERVAL '10' SECOND)
//! ```
//!
//! - **Streams.** The stream `motes` contains the measures of all motes. A stream named after a
//!   mote contains the measures of that mote. Columns are `node`, `time` (in seconds), and the
//!   quantities `light`, `temperature`, `acceleration`, `magnetism` and `audio`. `*` stands for all
//!   columns.
//! - **Selection and projection.** `WHERE` takes comparisons, `AND`, `OR`, `NOT`, `BETWEEN` and
//!   arithmetic; `SELECT` takes expressions with or without names (`AS`). Intervals are in seconds.
//! - **Windows and aggregates.** `GROUP BY TUMBLE(time, size)` creates consecutive windows, and
//!   `HOP(time, step, size)` creates overlapping windows that start at multiples of the step. An
//!   additional `node` groups by mote. Aggregates are `count`, `sum`, `avg`, `min`, `max` and
//!   `stddev` (of the population). `HAVING` selects groups. `window_start` is the start of a window
//!   in seconds.
//! - **Joins.** `FROM a JOIN b ON ...` joins two streams. Since streams are unlimited, the
//!   condition must limit the time between the two measures, such as `a.time = b.time` or
//!   `abs(a.time - b.time) <= 0.5`. All motes sample at the same times, so equal times occur.
//!
//! **Source.** S. Madden et al., "TinyDB: an acquisitional query processing system for sensor
//! networks", ACM TODS 30(1), 2005, for queries over samples. The window functions are those of
//! Apache Calcite. The module `read` contains the grammar.

pub mod expression;
mod parse;
mod read;
mod statement;
#[cfg(test)]
mod tests;
mod tokens;

pub use expression::{Column, Expression, Field, Function};
pub use parse::{parse, ALL};

use bentpipe_core::Span;

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The columns of the results.
    pub items: Vec<Item>,
    /// The one or two streams of the query.
    pub sources: Vec<Source>,
    /// Conditions that must all hold, including those of a join.
    pub conditions: Vec<Expression>,
    /// Maximum time between joined measures; `None` for a query without a join.
    pub within: Option<Span>,
    /// Grouping of measures, if the query aggregates.
    pub grouping: Option<Grouping>,
    /// The aggregates that `items` and `having` use.
    pub aggregates: Vec<Aggregate>,
    /// The condition on groups.
    pub having: Option<Expression>,
}

/// A column of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Name of the column: its alias, or otherwise the text of its expression.
    pub name: String,
    /// Expression of the column.
    pub expression: Expression,
}

/// A stream that a query reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The stream's name in the query.
    pub alias: String,
    /// Indices of the motes in the stream.
    pub motes: Vec<u16>,
}

/// The grouping of measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// Length of a window.
    pub size: Span,
    /// Time between the starts of consecutive windows.
    pub step: Span,
    /// Index of the stream that provides the mote, if measures are also grouped by mote.
    pub node: Option<usize>,
}

/// An aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Function of the aggregate.
    pub function: Function,
    /// Argument of the function; `None` for `count(*)`.
    pub argument: Option<Expression>,
}
