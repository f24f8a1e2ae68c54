//! Merging of layers: the file over its presets. Each preset is an ordinary fragment of a scenario.
//!
//! Tables are merged key by key. Lists whose elements are all tables with a `name` are merged by
//! name, and new names are appended. All other values are replaced. If the upper layer changes a
//! table's `kind`, the lower layer's keys that the new kind knows are kept, and its other keys are
//! dropped. A list in the upper layer then replaces the list in the lower layer.
//!
//! The value `"unset"` removes a key of a lower layer, including all keys within it. The key then
//! counts as not written, so a higher layer may set it again.

use crate::error::{Problem, ScenarioError};
use crate::include::is_file;
use crate::parse;
use crate::value::{Entry, Node, Table, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Texts of presets by name.
pub type Presets = BTreeMap<String, String>;

/// The key that names presets.
pub(crate) const PRESET: &str = "preset";

/// The key that selects a variant.
pub(crate) const KIND: &str = "kind";

/// Merges the presets that `upper` names, and the presets that these name, below `upper`. Later
/// presets take precedence over earlier ones.
pub(crate) fn over_presets(upper: Value, presets: &Presets) -> Result<Value, ScenarioError> {
    layered(upper, presets, &mut Vec::new())
}

fn layered(mut upper: Value, presets: &Presets, open: &mut Vec<String>) -> Result<Value, ScenarioError> {
    let Node::Table(table) = &mut upper.node else { return Ok(upper) };
    let Some(named) = table.remove(PRESET) else { return Ok(upper) };
    let mut below: Option<Value> = None;
    for name in names(&named.value)? {
        let word = name.text().unwrap_or_default();
        let Some(text) = presets.get(word) else {
            let known: Vec<_> = presets.keys().collect();
            return Err(at(name, "there is no such preset").with_allowed(word, &known).into());
        };
        if open.iter().any(|outer| outer == word) {
            let message = format!(
                "the preset includes itself: {}",
                [open.as_slice(), &[word.to_owned()]].concat().join(", ")
            );
            return Err(at(name, &message).into());
        }
        let fragment = parse::from_bytes(&format!("preset {word}"), text.as_bytes())?;
        open.push(word.to_owned());
        let fragment = layered(fragment, presets, open)?;
        open.pop();
        below = Some(match below {
            None => fragment,
            Some(lower) => merge(lower, fragment),
        });
    }
    Ok(match below {
        None => upper,
        Some(lower) => merge(lower, upper),
    })
}

/// Returns the elements of a list of names, or a single name.
fn names(value: &Value) -> Result<Vec<&Value>, ScenarioError> {
    let wrong = |value: &Value| at(value, "expected the name of a preset, or a list of names").into();
    match &value.node {
        Node::String(_) => Ok(vec![value]),
        Node::Array(names) => match names.iter().find(|name| name.text().is_none()) {
            None => Ok(names.iter().collect()),
            Some(other) => Err(wrong(other)),
        },
        _ => Err(wrong(value)),
    }
}

fn at(value: &Value, message: &str) -> Problem {
    Problem::at(&value.origin, PRESET.to_owned(), message).with_value(value.written())
}

/// Merges `upper` over `lower`.
pub(crate) fn merge(lower: Value, upper: Value) -> Value {
    if lower.is_unset() || upper.is_unset() {
        return upper;
    }
    let node = match (lower.node, upper.node) {
        (Node::Table(lower), Node::Table(upper)) => Node::Table(tables(lower, upper)),
        // A variant given by its name is equivalent to a table with only the key `kind`. A table
        // that names a file is a text.
        (Node::String(kind), Node::Table(upper))
            if !upper.contains_key(KIND) && !is_file(&upper) && may_be_kind(&kind) =>
        {
            let value = Value { origin: lower.origin.clone(), node: Node::String(kind) };
            Node::Table(tables(Table::from([(KIND.to_owned(), entry(value))]), upper))
        }
        (Node::Table(mut lower), Node::String(kind)) if lower.contains_key(KIND) => {
            let value = Value { origin: upper.origin.clone(), node: Node::String(kind) };
            change_kind(&mut lower, entry(value));
            Node::Table(lower)
        }
        (Node::Array(lower), Node::Array(upper)) if all_named(&lower) && all_named(&upper) => {
            Node::Array(lists(lower, upper))
        }
        (_, upper) => upper,
    };
    Value { origin: upper.origin, node }
}

/// Returns false if the text starts in a way in which no variant's name does, such as the quantity
/// "250 ms".
pub(crate) fn may_be_kind(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic())
}

/// Returns an entry with the origin of its value as the origin of its key.
pub(crate) fn entry(value: Value) -> Entry {
    Entry { key: value.origin.clone(), value, superseded: false }
}

fn tables(mut lower: Table, mut upper: Table) -> Table {
    if let Some(kind) = upper.remove(KIND) {
        change_kind(&mut lower, kind);
    }
    for (name, over) in upper {
        let merged = match lower.remove(&name) {
            None => over,
            // The elements of a list may have another meaning for another kind.
            Some(under) if under.superseded && matches!(over.value.node, Node::Array(_)) => over,
            Some(under) => Entry { key: over.key, value: merge(under.value, over.value), superseded: false },
        };
        lower.insert(name, merged);
    }
    lower
}

/// Sets the `kind` of a table. If it differs from the previous one, the table's other keys may not
/// belong to it. Overrides form one layer, independent of their order, so the keys of overrides are
/// never dropped silently.
fn change_kind(table: &mut Table, kind: Entry) {
    if let Some(before) = table.get(KIND) {
        if before.value.node != kind.value.node {
            table.values_mut().for_each(|entry| entry.superseded |= !entry.key.is_override());
        }
    }
    table.insert(KIND.to_owned(), kind);
}

fn all_named(elements: &[Value]) -> bool {
    !elements.is_empty() && elements.iter().all(|element| element.name().is_some())
}

fn lists(lower: Vec<Value>, upper: Vec<Value>) -> Vec<Value> {
    let mut merged: Vec<Option<Value>> = lower.into_iter().map(Some).collect();
    let mut by_name = BTreeMap::new();
    for (index, element) in merged.iter().flatten().enumerate() {
        by_name.entry(element.name().unwrap_or_default().to_owned()).or_insert(index);
    }
    // A name that occurs twice in one layer is an error, so both elements are kept.
    let mut taken = BTreeSet::new();
    for element in upper {
        let name = element.name().unwrap_or_default().to_owned();
        let below = by_name.get(&name).filter(|index| taken.insert(**index));
        match below.and_then(|index| merged[*index].take().map(|lower| (*index, lower))) {
            Some((index, lower)) => merged[index] = Some(merge(lower, element)),
            None => merged.push(Some(element)),
        }
    }
    merged.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_of_p(lower: &str, upper: &str) -> Vec<String> {
        let [lower, upper] = [lower, upper].map(|text| parse::from_bytes("a.toml", text.as_bytes()).unwrap());
        let Node::Table(mut merged) = merge(lower, upper).node else {
            panic!("the merged value is not a table")
        };
        let Node::Table(p) = merged.remove("p").unwrap().value.node else { panic!("p is not a table") };
        p.into_keys().collect()
    }

    #[test]
    fn table_completes_a_variant_and_replaces_a_quantity() {
        assert_eq!(keys_of_p("p = 'codel'", "p = { target = '5 ms' }"), ["kind", "target"]);
        assert_eq!(keys_of_p("p = '250 ms'", "p = { gateway = 'gw' }"), ["gateway"]);
    }
}
