//! Overrides from the command line, `KEY.PATH=VALUE`: the topmost layer.
//!
//! The right side is a TOML value, or else text, so `congestion=vegas` needs no quotes, which a
//! shell would remove. Elements of a list are addressed by name, or by position from 0. Missing
//! tables are created; missing elements of lists are not.

use crate::error::{Problem, ScenarioError, SET};
use crate::merge::{entry, may_be_kind, merge, KIND, PRESET};
use crate::nearest;
use crate::parse;
use crate::value::{self, path_text, Node, Origin, Table, Text, Value};
use std::sync::Arc;

/// One override, split and parsed.
#[derive(Debug)]
pub(crate) struct Override {
    path: Vec<String>,
    value: Value,
}

impl Override {
    /// Returns true if the override sets the presets rather than a value.
    pub(crate) fn is_preset(&self) -> bool {
        self.path.first().is_some_and(|key| key == PRESET)
    }

    /// Returns the key path and the value.
    pub(crate) fn into_parts(self) -> (Vec<String>, Value) {
        (self.path, self.value)
    }
}

/// An override as given by the user.
#[derive(Clone, Debug)]
pub struct Given {
    /// Name of the override in messages, such as `--seed`; `--set KEY.PATH` if unset.
    pub name: Option<String>,
    /// The override in the form `KEY.PATH=VALUE`.
    pub text: String,
}

impl From<String> for Given {
    fn from(text: String) -> Given {
        Given { name: None, text }
    }
}

/// Parses all overrides, or returns the problems of all invalid ones.
pub(crate) fn parse(overrides: &[Given]) -> Result<Vec<Override>, ScenarioError> {
    let mut parsed = Vec::new();
    let mut problems = Vec::new();
    for Given { name, text } in overrides {
        let key = || split(text).map_or(String::new(), |(path, _)| format!(" {}", path_text(&path)));
        let name = name.clone().unwrap_or_else(|| format!("{SET}{}", key()));
        match single(&name, text) {
            Ok(one) => parsed.push(one),
            Err(error) => problems.extend(error.problems),
        }
    }
    if problems.is_empty() {
        Ok(parsed)
    } else {
        Err(problems.into())
    }
}

/// Parses the override `text`, which messages call `name`.
pub(crate) fn single(name: &str, text: &str) -> Result<Override, ScenarioError> {
    let problem = |message: &str| {
        let mut problem = Problem::of_file(name, message.to_owned());
        problem.path = format!("{text:?}");
        ScenarioError::from(problem)
    };
    let (path, right) = split(text).map_err(&problem)?;
    if right.is_empty() {
        return Err(problem("there is no value after the equals sign; write \"\" for empty text"));
    }
    let text = Arc::new(Text {
        name: name.to_owned(),
        content: right.to_owned(),
        has_lines: false,
        is_value: false,
    });
    // Text that starts with a bracket or quote of TOML is intended as TOML, so its faults are
    // reported.
    let as_text = !right.starts_with(['[', '{', '"', '\'']);
    let value = if as_text && toml::de::DeValue::parse(right).is_err() {
        Value { origin: Origin::new(&text, 0..right.len()), node: Node::String(right.to_owned()) }
    } else {
        parse::single_value(&text, &path)?
    };
    Ok(Override { path, value })
}

/// Splits `flow.upload.size=12 MB` into its keys and its right side. Keys that contain dots or
/// equals signs must be quoted.
fn split(text: &str) -> Result<(Vec<String>, &str), &'static str> {
    let mut path = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let (key, after) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => rest[1..]
                .split_once(quote)
                .map(|(key, after)| (key, after.trim_start()))
                .ok_or("a quote is not closed")?,
            _ => {
                let end = rest.find(['.', '=']).unwrap_or(rest.len());
                (rest[..end].trim(), &rest[end..])
            }
        };
        if key.is_empty() {
            return Err("a key is missing; an override is KEY.PATH=VALUE");
        }
        path.push(key.to_owned());
        match after.chars().next() {
            Some('.') => rest = &after[1..],
            Some('=') => return Ok((path, after[1..].trim())),
            Some(_) => return Err("a quoted key is followed by a dot or an equals sign"),
            None => return Err("the equals sign is missing; an override is KEY.PATH=VALUE"),
        }
    }
}

/// Returns the keys of a key path.
pub(crate) fn keys(path: &str) -> Option<Vec<String>> {
    split(&format!("{path}=")).ok().map(|(keys, _)| keys)
}

/// Applies an override to the tree.
pub(crate) fn apply(root: &mut Value, over: Override) -> Result<(), ScenarioError> {
    let origin = over.value.origin.clone();
    let Some((last, parents)) = over.path.split_last() else { return Ok(()) };
    let mut target = root;
    for (depth, key) in parents.iter().enumerate() {
        target = step(target, key, &origin).map_err(|fault| fault.at(&origin, &over.path[..=depth]))?;
    }
    // The last step is merged like any layer, so an override of `kind` has the same effect as in a
    // file.
    if let Node::Array(elements) = &mut target.node {
        let index = element(elements, last).map_err(|fault| fault.at(&origin, &over.path))?;
        put(&mut elements[index], over.value);
        return Ok(());
    }
    let node = Node::Table(Table::from([(last.clone(), entry(over.value))]));
    if matches!(target.node, Node::Table(_) | Node::String(_)) {
        // The table keeps its origin, so that a missing key is reported at the table, not at the
        // override.
        let written = target.origin.clone();
        put(target, Value { origin: written, node });
        Ok(())
    } else {
        Err(Fault::not_a_table(target).at(&origin, parents))
    }
}

/// Merges `upper` over `target`.
pub(crate) fn put(target: &mut Value, upper: Value) {
    let lower = std::mem::replace(target, Value { origin: upper.origin.clone(), node: Node::Boolean(false) });
    *target = merge(lower, upper);
}

/// Returns the node under `key`, which is created if `target` is a table without `key`.
fn step<'a>(target: &'a mut Value, key: &str, origin: &Origin) -> Result<&'a mut Value, Fault> {
    if target.is_unset() {
        target.node = Node::Table(Table::new());
    }
    // A variant given by its name is equivalent to a table with only the key `kind`. A table
    // replaces a quantity.
    if let Node::String(text) = &target.node {
        let value = Value { origin: target.origin.clone(), node: Node::String(text.clone()) };
        let kind = may_be_kind(text).then(|| (KIND.to_owned(), entry(value)));
        target.node = Node::Table(kind.into_iter().collect());
    }
    if !matches!(target.node, Node::Table(_) | Node::Array(_)) {
        return Err(Fault::not_a_table(target));
    }
    match &mut target.node {
        Node::Array(elements) => {
            let index = element(elements, key)?;
            Ok(&mut elements[index])
        }
        Node::Table(table) => {
            let made = || entry(Value { origin: origin.clone(), node: Node::Table(Table::new()) });
            Ok(&mut table.entry(key.to_owned()).or_insert_with(made).value)
        }
        _ => unreachable!("only tables and lists have parts"),
    }
}

/// Returns the position of the element addressed by `key`.
fn element(elements: &[Value], key: &str) -> Result<usize, Fault> {
    value::position(elements, key).ok_or_else(|| {
        let allowed = value::addresses(elements);
        Fault {
            message: "there is no such element".to_owned(),
            nearest: nearest::nearest(key, &allowed),
            allowed,
        }
    })
}

/// Returns the position of the element addressed by the last key of `path`.
pub(crate) fn element_at(
    elements: &[Value],
    key: &str,
    origin: &Origin,
    path: &[String],
) -> Result<usize, ScenarioError> {
    element(elements, key).map_err(|fault| fault.at(origin, path))
}

/// The reason why a key path cannot be followed.
struct Fault {
    message: String,
    allowed: Vec<String>,
    nearest: Option<String>,
}

impl Fault {
    fn not_a_table(target: &Value) -> Fault {
        let message = format!("is {}, which has no keys", target.what());
        Fault { message, allowed: Vec::new(), nearest: None }
    }

    fn at(self, origin: &Origin, path: &[String]) -> ScenarioError {
        let problem = Problem::at(origin, path_text(path), self.message);
        Problem { allowed: self.allowed, nearest: self.nearest, ..problem }.into()
    }
}
