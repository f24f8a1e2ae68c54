//! From text to a query: the clauses of the statement, then their expressions.

use super::clauses::{rest, select, source, Clauses};
use super::expression::{Column, Expression, Field, Function, Kind, Operator, Scalar};
use super::{Aggregate, Grouping, Item, Query, Source};
use bentpipe_core::Span;
use sqlparser::ast;

/// Bytes of the longest query.
const LONGEST: usize = 10_000;
/// Seconds of the shortest window and of the longest, a year.
const WINDOWS: (f64, f64) = (1e-3, 3.2e7);

/// Reads a query about `motes`. An error says what is wrong and what is allowed.
pub fn parse(text: &str, motes: &[String]) -> Result<Query, String> {
    if text.len() > LONGEST {
        return Err(format!("the query has {} bytes; allowed: at most {LONGEST}", text.len()));
    }
    let Clauses { projection, from, selection, group_by, having } = select(text)?;
    let (sources, mut on) = sources(from, motes)?;
    let mut names = Names { sources: &sources, motes, aggregates: Vec::new(), inside: false, allowed: false };
    on.extend(selection);
    let mut conditions = Vec::new();
    for condition in &on {
        split(names.condition(condition)?, &mut conditions);
    }
    let grouping = names.grouping(&group_by)?;
    names.allowed = true;
    let items = names.items(&projection)?;
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

/// The streams of FROM, and the conditions of a join.
fn sources(
    from: Vec<ast::TableWithJoins>,
    motes: &[String],
) -> Result<(Vec<Source>, Vec<ast::Expr>), String> {
    let (mut found, mut on) = (Vec::new(), Vec::new());
    for table in from {
        found.push(source(table.relation, motes)?);
        for join in table.joins {
            found.push(source(join.relation, motes)?);
            match join.join_operator {
                ast::JoinOperator::Join(ast::JoinConstraint::On(condition))
                | ast::JoinOperator::Inner(ast::JoinConstraint::On(condition)) => on.push(condition),
                _ => {
                    return Err("a join of this form is not known; allowed: a JOIN b ON condition".to_owned())
                }
            }
        }
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
    Ok((found, on))
}

/// Divides a condition at its ANDs.
fn split(condition: Expression, into: &mut Vec<Expression>) {
    match condition {
        Expression::Binary(Operator::And, left, right) => {
            split(*left, into);
            split(*right, into);
        }
        other => into.push(other),
    }
}

/// How far apart in time the measures of a join may be, by its conditions.
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
                Expression::Number(most),
            ) => match &**inner {
                Expression::Binary(Operator::Subtract, left, right) if apart(left, right) => Some(*most),
                _ => None,
            },
            _ => None,
        }
    };
    let bounds = conditions.iter().filter_map(bound);
    match bounds.min_by(f64::total_cmp) {
        Some(most) if (0.0..=WINDOWS.1).contains(&most) => Ok(Span::from_secs_f64(most)),
        Some(most) => Err(format!("measures {most} s apart cannot be joined; allowed: 0 s to a year")),
        None => Err("the join has no bound in time; allowed: a condition such as a.time = b.time, or \
                     abs(a.time - b.time) <= 0.5, beside others"
            .to_owned()),
    }
}

/// What the names of a query stand for.
struct Names<'a> {
    sources: &'a [Source],
    motes: &'a [String],
    aggregates: Vec<Aggregate>,
    /// Whether an aggregate's argument is being read.
    inside: bool,
    /// Whether aggregates may stand here.
    allowed: bool,
}

impl Names<'_> {
    fn items(&mut self, projection: &[ast::SelectItem]) -> Result<Vec<Item>, String> {
        let mut items = Vec::new();
        for item in projection {
            let (written, name) = match item {
                ast::SelectItem::UnnamedExpr(written) => (written, written.to_string()),
                ast::SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value.clone()),
                ast::SelectItem::Wildcard(_) if item.to_string() == "*" => {
                    for source in 0..self.sources.len() {
                        items.extend(Field::all().map(|field| Item {
                            name: match self.sources.len() {
                                1 => field.name().to_owned(),
                                _ => format!("{}.{}", self.sources[source].alias, field.name()),
                            },
                            expression: Expression::Column(Column { source, field }),
                        }));
                    }
                    continue;
                }
                other => return Err(format!("{other} is not known in SELECT; allowed: expressions, or *")),
            };
            items.push(Item { name, expression: self.expression(written)? });
        }
        Ok(items)
    }

    fn condition(&mut self, written: &ast::Expr) -> Result<Expression, String> {
        let expression = self.expression(written)?;
        self.of_kind(Kind::Truth, &expression, written)?;
        Ok(expression)
    }

    fn of_kind(&self, kind: Kind, expression: &Expression, written: &ast::Expr) -> Result<(), String> {
        match expression.kind() {
            actual if actual == kind => Ok(()),
            actual => Err(format!("{written} is {}; allowed: {}", actual.name(), kind.name())),
        }
    }

    /// GROUP BY: a window, and the mote if wanted.
    fn grouping(&mut self, expressions: &[ast::Expr]) -> Result<Option<Grouping>, String> {
        let (mut window, mut node) = (None, None);
        for written in expressions {
            if let ast::Expr::Function(function) = written {
                let name = function.name.to_string().to_ascii_uppercase();
                if window.is_some() {
                    return Err("a second window in GROUP BY; allowed: one".to_owned());
                }
                window = Some(self.window(&name, function)?);
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
                "GROUP BY has no window; allowed: TUMBLE(time, size) or HOP(time, step, size) beside node"
                    .to_owned(),
            ),
        }
    }

    /// The step and the size of a window.
    fn window(&mut self, name: &str, function: &ast::Function) -> Result<(Span, Span), String> {
        let allowed = "allowed: TUMBLE(time, size), HOP(time, step, size)";
        let arguments = arguments(function)?;
        let mut arguments = arguments.iter();
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
        match (name, &spans[..]) {
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

    fn expression(&mut self, written: &ast::Expr) -> Result<Expression, String> {
        match written {
            ast::Expr::Nested(inner) => self.expression(inner),
            ast::Expr::Identifier(name) => self.column(None, &name.value),
            ast::Expr::CompoundIdentifier(names) => match &names[..] {
                [source, name] => self.column(Some(&source.value), &name.value),
                _ => Err(format!("{written} is not known; allowed: a column, or stream.column")),
            },
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(digits, false) => number(digits),
                ast::Value::SingleQuotedString(name) => self.mote(name),
                other => Err(format!("{other} is not known; allowed: numbers, and names of motes in quotes")),
            },
            ast::Expr::Interval(interval) => seconds(interval),
            ast::Expr::UnaryOp { op, expr } => {
                let inner = self.expression(expr)?;
                match op {
                    ast::UnaryOperator::Not => {
                        self.of_kind(Kind::Truth, &inner, expr)?;
                        Ok(Expression::Not(Box::new(inner)))
                    }
                    ast::UnaryOperator::Plus | ast::UnaryOperator::Minus => {
                        self.of_kind(Kind::Number, &inner, expr)?;
                        Ok(match (op, inner) {
                            (ast::UnaryOperator::Plus, inner) => inner,
                            (_, Expression::Number(number)) => Expression::Number(-number),
                            (_, inner) => Expression::Scalar(Scalar::Negate, Box::new(inner)),
                        })
                    }
                    _ => Err(unknown(written)),
                }
            }
            ast::Expr::BinaryOp { left, op, right } => {
                let operator = operator(op).ok_or_else(|| unknown(written))?;
                self.binary(operator, left, right)
            }
            ast::Expr::Between { expr, negated, low, high } => {
                let low = self.binary(Operator::GreaterOrEqual, expr, low)?;
                let high = self.binary(Operator::LessOrEqual, expr, high)?;
                let between = Expression::Binary(Operator::And, Box::new(low), Box::new(high));
                Ok(if *negated { Expression::Not(Box::new(between)) } else { between })
            }
            ast::Expr::Function(function) => self.function(function),
            _ => Err(unknown(written)),
        }
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Expression, String> {
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

    fn function(&mut self, function: &ast::Function) -> Result<Expression, String> {
        let name = function.name.to_string().to_ascii_lowercase();
        if let Some(&aggregate) = Function::ALL.iter().find(|aggregate| aggregate.name() == name) {
            return self.aggregate(aggregate, function);
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
        match &arguments(function)?[..] {
            [argument] => {
                let inner = self.expression(argument)?;
                self.of_kind(Kind::Number, &inner, argument)?;
                Ok(Expression::Scalar(scalar, Box::new(inner)))
            }
            _ => Err(format!("{function}; allowed: one argument")),
        }
    }

    fn aggregate(&mut self, aggregate: Function, function: &ast::Function) -> Result<Expression, String> {
        if self.inside || !self.allowed {
            return Err(format!(
                "{function} stands where no aggregate can; allowed: in SELECT and HAVING, and not within another"
            ));
        }
        let argument = if function.to_string().eq_ignore_ascii_case("count(*)") {
            None
        } else {
            match &arguments(function)?[..] {
                [written] => {
                    self.inside = true;
                    let argument = self.expression(written);
                    self.inside = false;
                    let argument = argument?;
                    self.of_kind(Kind::Number, &argument, written)?;
                    Some(argument)
                }
                _ => return Err(format!("{function}; allowed: one argument, and count(*)")),
            }
        };
        let found = Aggregate { function: aggregate, argument };
        let place = self.aggregates.iter().position(|known| *known == found).unwrap_or_else(|| {
            self.aggregates.push(found);
            self.aggregates.len() - 1
        });
        Ok(Expression::Aggregate(place))
    }

    fn column(&self, source: Option<&str>, name: &str) -> Result<Expression, String> {
        let same = |known: &str, written: &str| known.eq_ignore_ascii_case(written);
        if source.is_none() && same("window_start", name) {
            return match self.allowed && !self.inside {
                true => Ok(Expression::WindowStart),
                false => Err("window_start stands where no window is; allowed: beside aggregates".to_owned()),
            };
        }
        let field = Field::all().find(|field| same(field.name(), name)).ok_or_else(|| {
            let known: Vec<&str> = Field::all().map(Field::name).collect();
            format!("the column {name} is not known; allowed: {}", known.join(", "))
        })?;
        let place = match source {
            Some(source) => {
                self.sources.iter().position(|known| same(&known.alias, source)).ok_or_else(|| {
                    let known: Vec<&str> = self.sources.iter().map(|source| source.alias.as_str()).collect();
                    format!("the stream {source} is not in FROM; allowed: {}", known.join(", "))
                })?
            }
            None if self.sources.len() > 1 => {
                let [a, b] = [0, 1].map(|place| &self.sources[place].alias);
                let name = field.name();
                return Err(format!("{name} is ambiguous; allowed: {a}.{name}, {b}.{name}"));
            }
            None => 0,
        };
        Ok(Expression::Column(Column { source: place, field }))
    }

    fn mote(&self, name: &str) -> Result<Expression, String> {
        let place = self.motes.iter().position(|known| known == name);
        let place =
            place.ok_or_else(|| format!("'{name}' is not a mote; allowed: {}", self.motes.join(", ")))?;
        Ok(Expression::Mote(place as u16))
    }
}

fn unknown(written: &ast::Expr) -> String {
    format!(
        "{written} is not known; allowed: columns, numbers, arithmetic, comparisons, AND, OR, NOT, BETWEEN, functions"
    )
}

fn operator(written: &ast::BinaryOperator) -> Option<Operator> {
    Some(match written {
        ast::BinaryOperator::Plus => Operator::Add,
        ast::BinaryOperator::Minus => Operator::Subtract,
        ast::BinaryOperator::Multiply => Operator::Multiply,
        ast::BinaryOperator::Divide => Operator::Divide,
        ast::BinaryOperator::Eq => Operator::Equal,
        ast::BinaryOperator::NotEq => Operator::NotEqual,
        ast::BinaryOperator::Lt => Operator::Less,
        ast::BinaryOperator::LtEq => Operator::LessOrEqual,
        ast::BinaryOperator::Gt => Operator::Greater,
        ast::BinaryOperator::GtEq => Operator::GreaterOrEqual,
        ast::BinaryOperator::And => Operator::And,
        ast::BinaryOperator::Or => Operator::Or,
        _ => return None,
    })
}

fn number(digits: &str) -> Result<Expression, String> {
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Expression::Number(number)),
        _ => Err(format!("{digits} is not a number; allowed: decimal numbers")),
    }
}

/// An interval in seconds.
fn seconds(interval: &ast::Interval) -> Result<Expression, String> {
    let wrong = || {
        format!("{interval} is not known; allowed: INTERVAL '10' SECOND, MILLISECOND, MINUTE, HOUR or DAY")
    };
    let text = match &*interval.value {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, false) | ast::Value::SingleQuotedString(digits) => digits,
            _ => return Err(wrong()),
        },
        _ => return Err(wrong()),
    };
    let unit = match &interval.leading_field {
        Some(ast::DateTimeField::Millisecond | ast::DateTimeField::Milliseconds) => 1e-3,
        Some(ast::DateTimeField::Second | ast::DateTimeField::Seconds) => 1.0,
        Some(ast::DateTimeField::Minute | ast::DateTimeField::Minutes) => 60.0,
        Some(ast::DateTimeField::Hour | ast::DateTimeField::Hours) => 3600.0,
        Some(ast::DateTimeField::Day | ast::DateTimeField::Days) => 86_400.0,
        _ => return Err(wrong()),
    };
    let plain = interval.leading_precision.is_none()
        && interval.last_field.is_none()
        && interval.fractional_seconds_precision.is_none();
    match number(text) {
        Ok(Expression::Number(count)) if plain => Ok(Expression::Number(count * unit)),
        _ => Err(wrong()),
    }
}

/// The arguments of a function that has nothing else.
fn arguments(function: &ast::Function) -> Result<Vec<ast::Expr>, String> {
    let list = match &function.args {
        ast::FunctionArguments::List(list) => &list.args[..],
        ast::FunctionArguments::None => &[],
        ast::FunctionArguments::Subquery(_) => return Err(rest(function)),
    };
    let mut found = Vec::new();
    for argument in list {
        match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) => found.push(argument.clone()),
            _ => return Err(rest(function)),
        }
    }
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    if function.to_string() != format!("{}({})", function.name, texts.join(", ")) {
        return Err(rest(function));
    }
    Ok(found)
}
