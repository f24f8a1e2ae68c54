//! Expressions over the columns of measures, and the functions that aggregate them.

use crate::measure::{Measure, Quantity, Value};
use std::collections::BTreeSet;
use std::fmt;

/// A column of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The mote that took the sample.
    Node,
    /// Time of the sample, in seconds.
    Time,
    /// A sampled value.
    Quantity(Quantity),
}

impl Field {
    /// Returns all columns, in the order of their appearance in `*`.
    pub fn all() -> impl Iterator<Item = Field> {
        [Field::Node, Field::Time].into_iter().chain(Quantity::ALL.map(Field::Quantity))
    }

    /// Returns the name of the column.
    pub fn name(self) -> &'static str {
        match self {
            Field::Node => "node",
            Field::Time => "time",
            Field::Quantity(quantity) => quantity.name(),
        }
    }
}

/// A column of one of the query's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column {
    /// Index of the stream.
    pub source: usize,
    /// The column of the stream.
    pub field: Field,
}

/// An operator between two numbers, motes, or truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say what they are")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
}

impl Operator {
    /// Returns the operator's symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Equal => "=",
            Operator::NotEqual => "<>",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::And => "AND",
            Operator::Or => "OR",
        }
    }
}

/// The type of an expression's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A mote.
    Mote,
    /// A truth value.
    Truth,
}

impl Kind {
    /// Returns the kind's name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Number => "a number",
            Kind::Mote => "a mote",
            Kind::Truth => "a condition",
        }
    }
}

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// The absolute value.
    Abs,
    /// The square root.
    Sqrt,
    /// The negation.
    Negate,
}

/// An expression with checked kinds.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// A mote, by its index.
    Mote(u16),
    /// A column.
    Column(Column),
    /// An aggregate, by its index in the query.
    Aggregate(usize),
    /// Start of the window.
    WindowStart,
    /// The negation of a condition.
    Not(Box<Expression>),
    /// A function of a number.
    Scalar(Scalar, Box<Expression>),
    /// An operator with two operands.
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// The values to evaluate an expression with.
#[derive(Clone, Copy, Default)]
pub struct Scope<'a> {
    /// A measure of each stream.
    pub measures: &'a [Measure],
    /// The values of the aggregates.
    pub aggregates: &'a [f64],
    /// Start of the window, in seconds.
    pub window_start: f64,
}

impl Expression {
    /// Returns the kind of the expression's value.
    pub fn kind(&self) -> Kind {
        match self {
            Expression::Mote(_) | Expression::Column(Column { field: Field::Node, .. }) => Kind::Mote,
            Expression::Not(_) => Kind::Truth,
            Expression::Binary(operator, ..) => match operator {
                Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide => Kind::Number,
                _ => Kind::Truth,
            },
            _ => Kind::Number,
        }
    }

    /// Returns the value as a number: the index of a mote, 1 or 0 for a condition, and NaN for an
    /// unknown value.
    pub fn number(&self, scope: Scope<'_>) -> f64 {
        match self {
            Expression::Number(number) => *number,
            Expression::Mote(mote) => f64::from(*mote),
            Expression::Column(column) => {
                let Some(measure) = scope.measures.get(column.source) else { return f64::NAN };
                match column.field {
                    Field::Node => f64::from(measure.mote),
                    Field::Time => measure.time.as_secs_f64(),
                    Field::Quantity(quantity) => f64::from(measure.values[quantity as usize]),
                }
            }
            Expression::Aggregate(index) => scope.aggregates.get(*index).copied().unwrap_or(f64::NAN),
            Expression::WindowStart => scope.window_start,
            Expression::Not(inner) => f64::from(u8::from(!inner.holds(scope))),
            Expression::Scalar(function, inner) => {
                let number = inner.number(scope);
                match function {
                    Scalar::Abs => number.abs(),
                    Scalar::Sqrt => number.sqrt(),
                    Scalar::Negate => -number,
                }
            }
            Expression::Binary(operator, left, right) => binary(*operator, left, right, scope),
        }
    }

    /// Returns true if the condition holds. A comparison with an unknown value does not hold.
    pub fn holds(&self, scope: Scope<'_>) -> bool {
        self.number(scope) == 1.0
    }

    /// Returns the value for a row of results.
    pub fn value(&self, scope: Scope<'_>, motes: &[String]) -> Value {
        let number = self.number(scope);
        match self.kind() {
            Kind::Number => Value::Number(number),
            Kind::Truth => Value::Truth(number == 1.0),
            Kind::Mote => motes
                .get(number as usize)
                .filter(|_| !number.is_nan())
                .map_or(Value::Number(f64::NAN), |name| Value::Mote(name.clone())),
        }
    }

    /// Adds the columns in the expression to `into`, except columns within aggregates.
    pub fn columns(&self, into: &mut BTreeSet<Column>) {
        match self {
            Expression::Column(column) => {
                into.insert(*column);
            }
            Expression::Not(inner) | Expression::Scalar(_, inner) => inner.columns(into),
            Expression::Binary(_, left, right) => {
                left.columns(into);
                right.columns(into);
            }
            _ => {}
        }
    }
}

fn binary(operator: Operator, left: &Expression, right: &Expression, scope: Scope<'_>) -> f64 {
    let truth = |holds: bool| f64::from(u8::from(holds));
    match operator {
        Operator::And => return truth(left.holds(scope) && right.holds(scope)),
        Operator::Or => return truth(left.holds(scope) || right.holds(scope)),
        _ => {}
    }
    let (left, right) = (left.number(scope), right.number(scope));
    match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::Equal => truth(left == right),
        Operator::NotEqual => truth(left != right && !left.is_nan() && !right.is_nan()),
        Operator::Less => truth(left < right),
        Operator::LessOrEqual => truth(left <= right),
        Operator::Greater => truth(left > right),
        Operator::GreaterOrEqual => truth(left >= right),
        Operator::And | Operator::Or => unreachable!("handled above"),
    }
}

/// A function over the measures of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The number of measures.
    Count,
    /// The sum.
    Sum,
    /// The mean.
    Avg,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The standard deviation of the population.
    Stddev,
}

impl Function {
    /// All functions.
    pub const ALL: [Function; 6] =
        [Function::Count, Function::Sum, Function::Avg, Function::Min, Function::Max, Function::Stddev];

    /// Returns the name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Function::Count => "count",
            Function::Sum => "sum",
            Function::Avg => "avg",
            Function::Min => "min",
            Function::Max => "max",
            Function::Stddev => "stddev",
        }
    }

    /// Returns the length in bytes of the function's partial state in a message. A count takes 2
    /// bytes, and each value takes 4.
    pub fn bytes(self) -> u32 {
        match self {
            Function::Count => 2,
            Function::Sum | Function::Min | Function::Max => 4,
            Function::Avg => 6,
            Function::Stddev => 10,
        }
    }
}

/// The partial state of an aggregate, which can be merged with other states of the group.
///
/// Its count, mean and sum of squared deviations can be merged without cancellation (T. F. Chan, G.
/// H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
/// variances", 1979).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    count: f64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl State {
    /// Returns the state of a single value.
    pub fn of(value: f64) -> State {
        State { count: 1.0, mean: value, squares: 0.0, min: value, max: value }
    }

    /// Returns the state for the values of both states.
    pub fn merged(self, other: State) -> State {
        let count = self.count + other.count;
        let apart = other.mean - self.mean;
        State {
            count,
            mean: self.mean + apart * other.count / count,
            squares: self.squares + other.squares + apart * apart * self.count * other.count / count,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// Returns the value of a function for this state.
    pub fn value(&self, function: Function) -> f64 {
        match function {
            Function::Count => self.count,
            Function::Sum => self.mean * self.count,
            Function::Avg => self.mean,
            Function::Min => self.min,
            Function::Max => self.max,
            Function::Stddev => (self.squares / self.count).sqrt(),
        }
    }
}

/// Formats an expression, with the names of streams and motes.
pub struct Written<'a> {
    /// The expression.
    pub expression: &'a Expression,
    /// The names of the streams; empty to write columns without the name of their stream.
    pub sources: &'a [String],
    /// The names of the motes.
    pub motes: &'a [String],
    /// The aggregates of the query.
    pub aggregates: &'a [super::Aggregate],
}

impl<'a> Written<'a> {
    fn with(&self, expression: &'a Expression) -> Written<'a> {
        Written { expression, ..*self }
    }

    /// Formats an operand, in parentheses if it is a binary expression.
    fn operand(&self, expression: &'a Expression) -> String {
        let text = self.with(expression).to_string();
        if matches!(expression, Expression::Binary(..)) {
            format!("({text})")
        } else {
            text
        }
    }
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expression {
            Expression::Number(number) => write!(out, "{number}"),
            Expression::Mote(mote) => {
                write!(out, "'{}'", self.motes.get(usize::from(*mote)).map_or("?", |name| name))
            }
            Expression::Column(column) => {
                if let Some(source) = self.sources.get(column.source) {
                    write!(out, "{source}.")?;
                }
                out.write_str(column.field.name())
            }
            Expression::Aggregate(index) => match self.aggregates.get(*index) {
                Some(super::Aggregate { function, argument }) => match argument {
                    Some(argument) => write!(out, "{}({})", function.name(), self.with(argument)),
                    None => write!(out, "{}(*)", function.name()),
                },
                None => out.write_str("?"),
            },
            Expression::WindowStart => out.write_str("window_start"),
            Expression::Not(inner) => write!(out, "NOT ({})", self.with(inner)),
            // Two consecutive minus signs would begin a comment.
            Expression::Scalar(Scalar::Negate, inner) => match self.operand(inner) {
                operand if operand.starts_with('-') => write!(out, "-({operand})"),
                operand => write!(out, "-{operand}"),
            },
            Expression::Scalar(Scalar::Abs, inner) => write!(out, "abs({})", self.with(inner)),
            Expression::Scalar(Scalar::Sqrt, inner) => write!(out, "sqrt({})", self.with(inner)),
            Expression::Binary(operator, left, right) => {
                write!(out, "{} {} {}", self.operand(left), operator.symbol(), self.operand(right))
            }
        }
    }
}
