//! Stream queries: a subset of SQL over what motes measure.
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
//! - **Windows and aggregates.** `GROUP BY TUMBLE(time, size)` has windows one after another,
//!   `HOP(time, step, size)` overlapping ones that begin at multiples of the step; `node` beside it
//!   groups by mote. Aggregates are `count(*)`, `sum`, `avg`, `min`, `max` and `stddev` (of the
//!   population). `HAVING` selects groups. `window_start` is the time when a window begins.
//! - **Joins.** `FROM a JOIN b ON ...` joins two streams. Its condition must bound the time between
//!   the two measures, by `a.time = b.time` or `abs(a.time - b.time) <= 0.5`, since a stream has no
//!   end. A mote samples at multiples of the period, so that equal times occur.
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
    /// Conditions that must all hold, those of a join included.
    pub conditions: Vec<Expression>,
    /// How far apart in time two measures may be that are joined.
    pub within: Option<Span>,
    /// How measures are grouped, if it aggregates.
    pub grouping: Option<Grouping>,
    /// The aggregates that items and `having` refer to.
    pub aggregates: Vec<Aggregate>,
    /// The condition for groups.
    pub having: Option<Expression>,
}

/// A column of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its name: the alias, or the text of the expression.
    pub name: String,
    /// What it shows.
    pub expression: Expression,
}

/// A stream that a query reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name by which the query refers to it.
    pub alias: String,
    /// Indices of the motes whose measures it has.
    pub motes: Vec<u16>,
}

/// How measures are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// Length of a window.
    pub size: Span,
    /// Time between the beginnings of windows.
    pub step: Span,
    /// The source by whose mote measures are grouped, too.
    pub node: Option<usize>,
}

/// An aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// What it computes.
    pub function: Function,
    /// Of what; None for `count(*)`.
    pub argument: Option<Expression>,
}
