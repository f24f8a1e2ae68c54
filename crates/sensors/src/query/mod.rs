//! Stream queries: a subset of SQL over the measures of motes.
//!
//! ```sql
//! SELECT node, avg(temperature), max(light)
//! FROM motes
//! WHERE light > 100
//! GROUP BY node, TUMBLE(time, INTERVAL '10' SECOND)
//! ```
//!
//! - **Streams.** `motes` is the stream of all motes' measures, and each mote's name is the stream
//!   of its own. Columns are `node`, `time` (in seconds), and the quantities `light`,
//!   `temperature`, `acceleration`, `magnetism` and `audio`; `*` stands for all.
//! - **Selection and projection.** `WHERE` takes comparisons, `AND`, `OR`, `NOT`, `BETWEEN` and
//!   arithmetic; `SELECT` takes expressions with or without names (`AS`). Intervals are seconds.
//! - **Windows and aggregates.** `GROUP BY TUMBLE(time, size)` has windows one after another, and
//!   `HOP(time, step, size)` overlapping ones that begin at multiples of the step; an additional
//!   `node` groups by mote. Aggregates are `count(*)`, `sum`, `avg`, `min`, `max` and `stddev` (of
//!   the population). `HAVING` selects groups. `window_start` is the time at which a window begins.
//! - **Joins.** `FROM a JOIN b ON ...` joins two streams. Its condition must bound the time between
//!   the two measures, by `a.time = b.time` or `abs(a.time - b.time) <= 0.5`, since a stream has no
//!   end. A mote samples at multiples of the period, so equal times occur.
//!
//! Source: S. Madden et al., "TinyDB: an acquisitional query processing system for sensor
//! networks", ACM TODS 30(1), 2005, for queries over samples; the functions for windows are those
//! of Apache Calcite. `read` has the grammar.

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
    /// The columns of its results.
    pub items: Vec<Item>,
    /// The one or two streams that it reads.
    pub sources: Vec<Source>,
    /// Conditions that must all hold, including those of a join.
    pub conditions: Vec<Expression>,
    /// Largest difference in time between joined measures.
    pub within: Option<Span>,
    /// Grouping of measures, if the query aggregates.
    pub grouping: Option<Grouping>,
    /// The aggregates to which items and `having` refer.
    pub aggregates: Vec<Aggregate>,
    /// The condition for groups.
    pub having: Option<Expression>,
}

/// A column of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Name of the column: the alias, or the text of the expression.
    pub name: String,
    /// Expression of the column.
    pub expression: Expression,
}

/// A stream that a query reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name by which the query refers to it.
    pub alias: String,
    /// Indices of the motes whose measures it contains.
    pub motes: Vec<u16>,
}

/// The grouping of measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// Length of a window.
    pub size: Span,
    /// Time between the starts of windows.
    pub step: Span,
    /// Index of the source by whose mote measures are also grouped.
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
