//! Changes to a loaded value, with the rules and error messages of overrides.

use crate::defaults::drop_replaced;
use crate::deserialize::{deserialize, Typed};
use crate::error::{self, ScenarioError};
use crate::merge::merge;
use crate::overrides;
use crate::parse;
use crate::print::to_toml;
use crate::resolve::Check;
use crate::value::{path_text, Node, Text, Value};
use bentpipe_core::{Problem, Problems};
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Map;
use std::sync::Arc;

/// Keys and their new values, as nested tables.
pub type Set = Map<String, serde_json::Value>;

/// Returns the tables that set `key`, a key path such as `link.sat.rate`, to `value`. Both are
/// written as in an override.
///
/// # Errors
/// Returns a problem if the path or the value is invalid. Messages call the change `source`.
pub fn assignment(source: &str, key: &str, value: &str) -> Result<Set, ScenarioError> {
    let (path, value) = overrides::single(source, &format!("{key}={value}"))?.into_parts();
    let mut value = value.to_json();
    for key in path.into_iter().rev() {
        value = serde_json::Value::Object(Set::from_iter([(key, value)]));
    }
    match value {
        serde_json::Value::Object(set) => Ok(set),
        _ => unreachable!("a path has at least one key"),
    }
}

/// Returns `value` with the keys of `set` changed. If `set` changes the `kind` of a table, the new
/// kind keeps the keys that it shares with the old one, except for keys that have the old kind's
/// defaults.
///
/// # Errors
/// Returns all problems of the change, by key path from `value`.
pub fn changed<T: Serialize + DeserializeOwned + Check>(value: &T, set: &Set) -> Result<T, Vec<Problem>> {
    // Keys that only the replaced kind knows are ignored. Unknown keys of `set` are errors.
    let merged = tree(value, true).and_then(|mut before| {
        let set = with_lists(&before, tree(set, false)?, &mut Vec::new())?;
        drop_replaced::<T>(&mut before, &set);
        Ok(merge(before, set))
    });
    let (typed, problems) = match merged {
        Ok(merged) => deserialize::<T>(&merged, T::RENAMED),
        Err(error) => (None, error.problems),
    };
    if let (Some(Typed { value, .. }), true) = (typed, problems.is_empty()) {
        let mut problems = Problems::default();
        value.check(&mut problems);
        let problems = problems.into_vec();
        return if problems.is_empty() { Ok(value) } else { Err(problems) };
    }
    Err(problems.into_iter().map(plain).collect())
}

/// Returns `set` with a complete list in place of each table that sets elements of a list in
/// `before`. Such a table addresses the elements by name, or by position from 0.
fn with_lists(before: &Value, set: Value, path: &mut Vec<String>) -> Result<Value, ScenarioError> {
    let Value { origin, node } = set;
    let Node::Table(mut set) = node else { return Ok(Value { origin, node }) };
    let node = match &before.node {
        Node::Array(elements) => {
            let mut elements = elements.clone();
            for (key, entry) in set {
                path.push(key.clone());
                let index = overrides::element_at(&elements, &key, &origin, path)?;
                let value = with_lists(&elements[index], entry.value, path)?;
                overrides::put(&mut elements[index], value);
                path.pop();
            }
            Node::Array(elements)
        }
        Node::Table(before) => {
            for (key, entry) in &mut set {
                let Some(before) = before.get(key) else { continue };
                let none = Value { origin: origin.clone(), node: Node::Boolean(false) };
                path.push(key.clone());
                entry.value = with_lists(&before.value, std::mem::replace(&mut entry.value, none), path)?;
                path.pop();
            }
            Node::Table(set)
        }
        _ => Node::Table(set),
    };
    Ok(Value { origin, node })
}

fn tree(value: &impl Serialize, has_lines: bool) -> Result<Value, ScenarioError> {
    let content = to_toml(value).expect("a value loaded from TOML can be written as TOML");
    parse::document(&Arc::new(Text { name: String::new(), content, has_lines, is_value: false }))
}

/// Returns the problem without file and line, which do not exist for generated text.
fn plain(problem: error::Problem) -> Problem {
    let message = format!("{}{}", problem.message, problem.choices(usize::MAX));
    Problem { path: overrides::keys(&problem.path).unwrap_or(vec![problem.path]), message }
}

/// Returns the error about a change `set` that is called `source` in messages.
pub fn refused(source: &str, set: &Set, problems: Vec<Problem>) -> ScenarioError {
    let located = problems.into_iter().map(|problem| {
        let mut value = None;
        let mut table = Some(set);
        for key in &problem.path {
            value = table.and_then(|table| table.get(key));
            table = value.and_then(serde_json::Value::as_object);
        }
        let written = value.filter(|value| !value.is_object()).map(serde_json::Value::to_string);
        let mut located = error::Problem::of_file(source, problem.message).with_value(written);
        located.path = path_text(&problem.path);
        located
    });
    located.collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Rate;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Link {
        rate: Rate,
        limits: Limits,
        hops: Vec<Limits>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Limits {
        low: u8,
        high: u8,
    }

    impl Check for Link {
        fn check(&self, problems: &mut Problems) {
            if self.limits.low > self.limits.high {
                problems.within("limits", |problems| problems.add("low", "above high; allowed: less"));
            }
        }
    }

    fn result(key: &str, value: &str) -> Result<Link, String> {
        let rate = Rate::from_bits_per_second(1000);
        let link = Link { rate, limits: Limits { low: 1, high: 2 }, hops: vec![Limits { low: 1, high: 2 }] };
        let set = assignment("set", key, value).map_err(|error| error.to_string())?;
        changed(&link, &set).map_err(|problems| refused("set", &set, problems).to_string())
    }

    #[test]
    fn change_of_one_key_keeps_the_others() {
        let link = result("limits.low", "2").unwrap();
        assert_eq!(link.limits, Limits { low: 2, high: 2 });
        assert_eq!(result("rate", "64 kbit/s").unwrap().rate.bits_per_second(), 64_000);
        assert_eq!(result("rate", "\"64 kbit/s\"").unwrap().limits, Limits { low: 1, high: 2 });
    }

    #[test]
    fn elements_of_a_list_are_addressed_by_position() {
        assert_eq!(result("hops.0.high", "7").unwrap().hops, [Limits { low: 1, high: 7 }]);
        assert_eq!(result("hops", "[]").unwrap().hops, []);
    }

    #[test]
    fn error_messages_equal_those_of_the_loader() {
        for (key, value, message) in [
            ("rat", "5", "set: rat = 5: unknown key, did you mean \"rate\"? allowed: rate, limits, hops"),
            ("limits.low", "3", "set: limits.low = 3: above high; allowed: less"),
            (
                "rate",
                "5 m",
                "set: rate = \"5 m\": has the unit \"m\", which is not one of bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s; \
                 allowed: a rate, 1 bit/s to 100 Tbit/s, for example \"2048 kbit/s\"",
            ),
            ("hops.1.high", "7", "set: hops.1: there is no such element; allowed: 0"),
            ("rate", "", "set: \"rate=\": there is no value after the equals sign; write \"\" for empty text"),
        ] {
            assert_eq!(result(key, value).unwrap_err(), message);
        }
    }
}
