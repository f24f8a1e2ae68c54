//! The syntax tree of a statement: its clauses, and expressions with unresolved names.

use super::expression::Operator;
use super::tokens::Name;
use std::fmt::{self, Display};

/// The clauses of a stream query.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub items: Vec<Item>,
    pub streams: Vec<Stream>,
    pub condition: Option<Term>,
    pub groups: Vec<Term>,
    pub having: Option<Term>,
}

/// An item in SELECT.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// All columns, `*`.
    All,
    /// An expression, and its alias if it has one.
    Term(Term, Option<Name>),
}

/// A stream in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    pub name: Name,
    /// Alias of the stream in the query.
    pub alias: Option<Name>,
    /// Join condition, if the stream follows JOIN.
    pub on: Option<Term>,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// An expression in parentheses.
    Nested(Box<Term>),
    /// Names separated by points.
    Name(Vec<Name>),
    /// The digits of a number.
    Number(String),
    /// A string in single quotes.
    Text(Name),
    /// An interval: its digits or a string in single quotes, and its unit in capitals.
    Interval(Name, String),
    /// The negation of a condition.
    Not(Box<Term>),
    /// A term with a sign, + or -.
    Signed(char, Box<Term>),
    /// An operator with two operands.
    Binary(Operator, Box<Term>, Box<Term>),
    /// BETWEEN: an expression, true for NOT BETWEEN, the lower bound, and the upper bound.
    Between(Box<Term>, bool, Box<Term>, Box<Term>),
    /// A function and its arguments; `None` for the argument `*`.
    Call(String, Option<Vec<Term>>),
}

/// Formats elements and joins them with a separator.
pub fn joined<T: Display>(all: &[T], between: &str) -> String {
    let all: Vec<String> = all.iter().map(T::to_string).collect();
    all.join(between)
}

impl Display for Term {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Nested(inner) => write!(out, "({inner})"),
            Term::Name(names) => out.write_str(&joined(names, ".")),
            Term::Number(digits) => out.write_str(digits),
            Term::Text(text) => text.fmt(out),
            Term::Interval(value, unit) => write!(out, "INTERVAL {value} {unit}"),
            Term::Not(inner) => write!(out, "NOT {inner}"),
            // Without the space, two minus signs would begin a comment.
            Term::Signed('-', inner) if matches!(**inner, Term::Signed('-', _)) => write!(out, "- {inner}"),
            Term::Signed(sign, inner) => write!(out, "{sign}{inner}"),
            Term::Binary(operator, left, right) => write!(out, "{left} {} {right}", operator.symbol()),
            Term::Between(term, negated, low, high) => {
                write!(out, "{term} {}BETWEEN {low} AND {high}", if *negated { "NOT " } else { "" })
            }
            Term::Call(name, None) => write!(out, "{name}(*)"),
            Term::Call(name, Some(arguments)) => write!(out, "{name}({})", joined(arguments, ", ")),
        }
    }
}
