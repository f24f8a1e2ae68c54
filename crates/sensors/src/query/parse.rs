//! Parses a query: reads the clauses of the statement, then resolves names and checks expressions.

use super::expression::{Column, Expression, Field, Function, Kind, Operator, Scalar};
use super::read::read;
use super::statement::{self, Statement, Stream, Term};
use super::{Aggregate, Grouping, Item, Query, Source};
use bentpipe_core::Span;

/// Maximum length of a query in bytes.
const MAX_BYTES: usize = 10_000;
/// Minimum and maximum length of a window in seconds: 1 ms, and about a year.
const WINDOWS: (f64, f64) = (1e-3, 3.2e7);
/// Name of the stream of all motes.
pub const ALL: &str = "motes";

/// Parses a query about `motes`.
///
/// # Errors
/// Describes the first problem and the allowed alternatives.
pub fn parse(text: &str, motes: &[String]) -> Result<Query, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("the query has {} bytes; allowed: at most {MAX_BYTES}", text.len()));
    }
    let Statement { items, streams, condition, groups, having } = read(text)?;
    let sources = sources(&streams, motes)?;
    let mut names = Names {
        sources: &sources,
        motes,
        aggregates: Vec::new(),
        in_aggregate: false,
        aggregates_allowed: false,
    };
    let mut conditions = Vec::new();
    for condition in streams.iter().filter_map(|stream| stream.on.as_ref()).chain(&condition) {
        split(names.condition(condition)?, &mut conditions);
    }
    let grouping = names.grouping(&groups)?;
    names.aggregates_allowed = true;
    let items = names.items(&items)?;
    let having = having.map(|having| names.condition(&having)).transpose()?;
    let aggregates = names.aggregates;
    if grouping.is_none() && (!aggregates.is_empty() || having.is_some()) {
        return Err("aggregates without a window; allowed: GROUP BY TUMBLE(time, INTERVAL '10' SECOND) \
                    or HOP(time, step, size)"
            .to_owned());
    }
    if let Some(grouping) = &grouping {
        for expression in items.iter().map(|item| &item.expression).chain(&having) {
            let mut columns = Default::default();
            expression.columns(&mut columns);
            for column in columns {
                if column.field != Field::Node || Some(column.source) != grouping.node {
                    let name = column.field.name();
                    return Err(format!(
                        "{name} stands outside of an aggregate; allowed: window_start, aggregates, and node if it is in GROUP BY"
                    ));
                }
            }
        }
    }
    let within = if sources.len() == 2 { Some(within(&conditions)?) } else { None };
    Ok(Query { items, sources, conditions, within, grouping, aggregates, having })
}

/// Resolves the streams in FROM.
fn sources(streams: &[Stream], motes: &[String]) -> Result<Vec<Source>, String> {
    let mut found = Vec::new();
    for Stream { name, alias, .. } in streams {
        let stream = &name.text;
        let motes = match motes.iter().position(|mote| mote == stream) {
            Some(index) => vec![index as u16],
            None if stream.eq_ignore_ascii_case(ALL) => (0..motes.len() as u16).collect(),
            None => {
                return Err(format!("the stream {stream} is not known; allowed: {ALL}, {}", motes.join(", ")))
            }
        };
        found.push(Source { alias: alias.as_ref().unwrap_or(name).text.clone(), motes });
    }
    match &found[..] {
        [_] => {}
        [a, b] if a.alias.eq_ignore_ascii_case(&b.alias) => {
            return Err(format!(
                "two streams are called {}; allowed: names of their own, as in {} AS b",
                a.alias, a.alias
            ));
        }
        [_, _] => {}
        streams => {
            return Err(format!("{} streams in FROM; allowed: one, or two that are joined", streams.len()))
        }
    }
    Ok(found)
}

/// Splits a condition at AND and adds its parts to `into`.
fn split(condition: Expression, into: &mut Vec<Expression>) {
    match condition {
        Expression::Binary(Operator::And, left, right) => {
            split(*left, into);
            split(*right, into);
        }
        other => into.push(other),
    }
}

/// Returns the maximum time between the measures of a join, according to its conditions.
fn within(conditions: &[Expression]) -> Result<Span, String> {
    let time = |expression: &Expression| match expression {
        Expression::Column(Column { field: Field::Time, source }) => Some(*source),
        _ => None,
    };
    let apart = |left: &Expression, right: &Expression| matches!((time(left), time(right)), (Some(a), Some(b)) if a != b);
    let bound = |condition: &Expression| {
        let Expression::Binary(operator, left, right) = condition else { return None };
        match (operator, &**left, &**right) {
            (Operator::Equal, left, right) if apart(left, right) => Some(0.0),
            (
                Operator::Less | Operator::LessOrEqual,
                Expression::Scalar(Scalar::Abs, inner),
                Expression::Number(max),
            ) => match &**inner {
                Expression::Binary(Operator::Subtract, left, right) if apart(left, right) => Some(*max),
                _ => None,
            },
            _ => None,
        }
    };
    let bounds = conditions.iter().filter_map(bound);
    match bounds.min_by(f64::total_cmp) {
        Some(max) if (0.0..=WINDOWS.1).contains(&max) => Ok(Span::from_secs_f64(max)),
        Some(max) => Err(format!("measures {max} s apart cannot be joined; allowed: 0 s to a year")),
        None => Err("the join has no bound in time; allowed: a condition such as a.time = b.time, or \
                     abs(a.time - b.time) <= 0.5, beside others"
            .to_owned()),
    }
}

/// Resolves the names in a query.
struct Names<'a> {
    sources: &'a [Source],
    motes: &'a [String],
    aggregates: Vec<Aggregate>,
    /// True while the argument of an aggregate is resolved.
    in_aggregate: bool,
    /// True if expressions may contain aggregates.
    aggregates_allowed: bool,
}

impl Names<'_> {
    fn items(&mut self, written: &[statement::Item]) -> Result<Vec<Item>, String> {
        let mut items = Vec::new();
        for item in written {
            match item {
                statement::Item::All => {
                    for source in 0..self.sources.len() {
                        items.extend(Field::all().map(|field| Item {
                            name: match self.sources.len() {
                                1 => field.name().to_owned(),
                                _ => format!("{}.{}", self.sources[source].alias, field.name()),
                            },
                            expression: Expression::Column(Column { source, field }),
                        }));
                    }
                }
                statement::Item::Term(written, alias) => items.push(Item {
                    name: alias.as_ref().map_or_else(|| written.to_string(), |alias| alias.text.clone()),
                    expression: self.expression(written)?,
                }),
            }
        }
        Ok(items)
    }

    fn condition(&mut self, written: &Term) -> Result<Expression, String> {
        let expression = self.expression(written)?;
        self.of_kind(Kind::Truth, &expression, written)?;
        Ok(expression)
    }

    fn of_kind(&self, kind: Kind, expression: &Expression, written: &Term) -> Result<(), String> {
        match expression.kind() {
            actual if actual == kind => Ok(()),
            actual => Err(format!("{written} is {}; allowed: {}", actual.name(), kind.name())),
        }
    }

    /// Resolves GROUP BY: a window, and optionally the mote.
    fn grouping(&mut self, expressions: &[Term]) -> Result<Option<Grouping>, String> {
        let (mut window, mut node) = (None, None);
        for written in expressions {
            if let Term::Call(name, arguments) = written {
                if window.is_some() {
                    return Err("a second window in GROUP BY; allowed: one".to_owned());
                }
                window = Some(self.window(written, name, arguments.as_deref())?);
                continue;
            }
            match self.expression(written)? {
                Expression::Column(Column { field: Field::Node, source }) if node.is_none() => {
                    node = Some(source);
                }
                _ => {
                    return Err(format!(
                        "{written} is not known in GROUP BY; allowed: node, TUMBLE(time, size), HOP(time, step, size)"
                    ))
                }
            }
        }
        match window {
            Some((step, size)) => Ok(Some(Grouping { size, step, node })),
            None if node.is_none() => Ok(None),
            None => Err(
                "GROUP BY has no window; allowed: TUMBLE(time, size) or HOP(time, step, size), with or without node"
                    .to_owned(),
            ),
        }
    }

    /// Returns the step and the size of a window.
    fn window(
        &mut self,
        function: &Term,
        name: &str,
        arguments: Option<&[Term]>,
    ) -> Result<(Span, Span), String> {
        let allowed = "allowed: TUMBLE(time, size), HOP(time, step, size)";
        let mut arguments = arguments.unwrap_or_default().iter();
        let time = arguments.next().map(|first| self.expression(first)).transpose()?;
        if !matches!(time, Some(Expression::Column(Column { field: Field::Time, .. }))) {
            return Err(format!("{function} does not begin with time; {allowed}"));
        }
        let mut spans = Vec::new();
        for argument in arguments {
            let seconds = match self.expression(argument)? {
                Expression::Number(seconds) if (WINDOWS.0..=WINDOWS.1).contains(&seconds) => seconds,
                _ => {
                    return Err(format!("{argument} is not the length of a window; allowed: 1 ms to a year"))
                }
            };
            spans.push(Span::from_secs_f64(seconds));
        }
        match (&*name.to_ascii_uppercase(), &spans[..]) {
            ("TUMBLE", &[size]) => Ok((size, size)),
            ("HOP", &[step, size]) if step <= size && size.as_nanos() / step.as_nanos() <= 1000 => {
                Ok((step, size))
            }
            ("HOP", &[_, _]) => Err(format!(
                "{function}: the size is shorter than the step, or over 1000 times as long; {allowed}"
            )),
            _ => Err(format!("{function} is not a window; {allowed}")),
        }
    }

    fn expression(&mut self, written: &Term) -> Result<Expression, String> {
        match written {
            Term::Nested(inner) => self.expression(inner),
            Term::Name(names) => match &names[..] {
                [name] => self.column(None, &name.text),
                [source, name] => self.column(Some(&source.text), &name.text),
                _ => Err(format!("{written} is not known; allowed: a column, or stream.column")),
            },
            Term::Number(digits) => number(digits),
            Term::Text(name) => self.mote(&name.text),
            Term::Interval(value, unit) => seconds(written, &value.text, unit),
            Term::Not(term) => {
                let inner = self.condition(term)?;
                Ok(Expression::Not(Box::new(inner)))
            }
            Term::Signed(sign, term) => {
                let inner = self.expression(term)?;
                self.of_kind(Kind::Number, &inner, term)?;
                Ok(match (sign, inner) {
                    ('+', inner) => inner,
                    (_, Expression::Number(number)) => Expression::Number(-number),
                    (_, inner) => Expression::Scalar(Scalar::Negate, Box::new(inner)),
                })
            }
            Term::Binary(operator, left, right) => self.binary(*operator, left, right),
            Term::Between(term, negated, low, high) => {
                let low = self.binary(Operator::GreaterOrEqual, term, low)?;
                let high = self.binary(Operator::LessOrEqual, term, high)?;
                let between = Expression::Binary(Operator::And, Box::new(low), Box::new(high));
                Ok(if *negated { Expression::Not(Box::new(between)) } else { between })
            }
            Term::Call(name, arguments) => self.function(written, name, arguments.as_deref()),
        }
    }

    fn binary(&mut self, operator: Operator, left: &Term, right: &Term) -> Result<Expression, String> {
        let (a, b) = (self.expression(left)?, self.expression(right)?);
        let kind = match operator {
            Operator::And | Operator::Or => Kind::Truth,
            Operator::Equal | Operator::NotEqual if a.kind() != Kind::Truth => a.kind(),
            _ => Kind::Number,
        };
        self.of_kind(kind, &a, left)?;
        self.of_kind(kind, &b, right)?;
        Ok(Expression::Binary(operator, Box::new(a), Box::new(b)))
    }

    /// Resolves a function with its arguments; `None` for the argument `*`.
    fn function(
        &mut self,
        written: &Term,
        name: &str,
        arguments: Option<&[Term]>,
    ) -> Result<Expression, String> {
        let name = name.to_ascii_lowercase();
        if let Some(&aggregate) = Function::ALL.iter().find(|aggregate| aggregate.name() == name) {
            return self.aggregate(aggregate, written, arguments);
        }
        let scalar = match name.as_str() {
            "abs" => Scalar::Abs,
            "sqrt" => Scalar::Sqrt,
            _ => {
                return Err(format!(
                    "the function {name} is not known here; allowed: abs, sqrt, count, sum, avg, min, max, stddev"
                ))
            }
        };
        match arguments {
            Some([argument]) => {
                let inner = self.expression(argument)?;
                self.of_kind(Kind::Number, &inner, argument)?;
                Ok(Expression::Scalar(scalar, Box::new(inner)))
            }
            _ => Err(format!("{written}; allowed: one argument")),
        }
    }

    fn aggregate(
        &mut self,
        aggregate: Function,
        written: &Term,
        arguments: Option<&[Term]>,
    ) -> Result<Expression, String> {
        if self.in_aggregate || !self.aggregates_allowed {
            return Err(format!(
                "{written} stands where no aggregate can; allowed: in SELECT and HAVING, and not within another"
            ));
        }
        let argument = match arguments {
            None if aggregate == Function::Count => None,
            Some([written]) => {
                self.in_aggregate = true;
                let argument = self.expression(written);
                self.in_aggregate = false;
                let argument = argument?;
                self.of_kind(Kind::Number, &argument, written)?;
                Some(argument)
            }
            _ => return Err(format!("{written}; allowed: one argument, and count(*)")),
        };
        let found = Aggregate { function: aggregate, argument };
        let index = self.aggregates.iter().position(|known| *known == found).unwrap_or_else(|| {
            self.aggregates.push(found);
            self.aggregates.len() - 1
        });
        Ok(Expression::Aggregate(index))
    }

    fn column(&self, source: Option<&str>, name: &str) -> Result<Expression, String> {
        let same = |known: &str, written: &str| known.eq_ignore_ascii_case(written);
        if source.is_none() && same("window_start", name) {
            return match self.aggregates_allowed && !self.in_aggregate {
                true => Ok(Expression::WindowStart),
                false => {
                    Err("window_start stands outside of windows; allowed: together with aggregates"
                        .to_owned())
                }
            };
        }
        let field = Field::all().find(|field| same(field.name(), name)).ok_or_else(|| {
            let known: Vec<&str> = Field::all().map(Field::name).collect();
            format!("the column {name} is not known; allowed: {}", known.join(", "))
        })?;
        let index = match source {
            Some(source) => {
                self.sources.iter().position(|known| same(&known.alias, source)).ok_or_else(|| {
                    let known: Vec<&str> = self.sources.iter().map(|source| source.alias.as_str()).collect();
                    format!("the stream {source} is not in FROM; allowed: {}", known.join(", "))
                })?
            }
            None if self.sources.len() > 1 => {
                let [a, b] = [0, 1].map(|index| &self.sources[index].alias);
                let name = field.name();
                return Err(format!("{name} is ambiguous; allowed: {a}.{name}, {b}.{name}"));
            }
            None => 0,
        };
        Ok(Expression::Column(Column { source: index, field }))
    }

    fn mote(&self, name: &str) -> Result<Expression, String> {
        let index = self.motes.iter().position(|known| known == name);
        let index =
            index.ok_or_else(|| format!("'{name}' is not a mote; allowed: {}", self.motes.join(", ")))?;
        Ok(Expression::Mote(index as u16))
    }
}

fn number(digits: &str) -> Result<Expression, String> {
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Expression::Number(number)),
        _ => Err(format!("{digits} is not a number; allowed: decimal numbers")),
    }
}

/// Returns an interval as a number of seconds.
fn seconds(interval: &Term, digits: &str, unit: &str) -> Result<Expression, String> {
    let seconds = match unit.trim_end_matches('S') {
        "MILLISECOND" => 1e-3,
        "SECOND" => 1.0,
        "MINUTE" => 60.0,
        "HOUR" => 3600.0,
        _ => 86_400.0,
    };
    match number(digits) {
        Ok(Expression::Number(count)) => Ok(Expression::Number(count * seconds)),
        _ => Err(format!(
            "{interval} is not known; allowed: INTERVAL '10' SECOND, MILLISECOND, MINUTE, HOUR or DAY"
        )),
    }
}
