//! A statement as it is written: its clauses, and expressions whose names are not resolved yet.

use super::expression::Operator;
use super::tokens::Name;
use std::fmt::{self, Display};

/// The clauses that queries of streams have.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub items: Vec<Item>,
    pub streams: Vec<Stream>,
    pub condition: Option<Term>,
    pub groups: Vec<Term>,
    pub having: Option<Term>,
}

/// An item of SELECT.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// All columns, `*`.
    All,
    /// An expression, and its name if it has one.
    Term(Term, Option<Name>),
}

/// A stream of FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    pub name: Name,
    /// Alias of the stream in the query.
    pub alias: Option<Name>,
    /// Condition of its join with the streams before it, if it follows JOIN.
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
    /// A text in single quotes.
    Text(Name),
    /// Digits, or a text in single quotes, and a unit in capitals.
    Interval(Name, String),
    /// The negation of a condition.
    Not(Box<Term>),
    /// A number with a sign, + or -.
    Signed(char, Box<Term>),
    /// Two operands.
    Binary(Operator, Box<Term>, Box<Term>),
    /// An expression, true if it must not lie between the bounds, and the two bounds.
    Between(Box<Term>, bool, Box<Term>, Box<Term>),
    /// A function and its arguments; `None` for `(*)`.
    Call(String, Option<Vec<Term>>),
}

/// Returns texts joined with a separator.
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
            // Without the blank it would be a comment.
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
