//! Removal of a replaced kind's defaults. A typed value that is serialized contains every key,
//! including keys that were never written. If such a value is merged below another kind, these keys
//! would count as settings.

use crate::deserialize::{deserialize, Typed};
use crate::merge::KIND;
use crate::print::to_toml;
use crate::value::{Node, Table, Value};
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Removes default values from `before`, a serialized `T`. In each table to which `set` gives
/// another kind, it removes the keys whose value equals the default.
pub(crate) fn drop_replaced<T: Serialize + DeserializeOwned>(before: &mut Value, set: &Value) {
    let mut replaced = Vec::new();
    find(before, set, &mut Vec::new(), &mut replaced);
    if replaced.is_empty() {
        return;
    }
    let written = |tree: &Value| match deserialize::<T>(tree, &[]) {
        (Some(Typed { value, .. }), problems) if problems.is_empty() => to_toml(&value).ok(),
        _ => None,
    };
    let whole = written(before);
    for path in replaced {
        drop_defaults(before, &path, &|tree| written(tree) == whole);
    }
}

/// A step of a path: a key, or the position of an element in a list.
#[derive(Clone)]
enum Step {
    Key(String),
    Element(usize),
}

/// Appends the paths of the tables in `before` to which `set` gives another kind.
fn find(before: &Value, set: &Value, path: &mut Vec<Step>, replaced: &mut Vec<Vec<Step>>) {
    match (&before.node, &set.node) {
        (Node::Table(before), Node::String(kind)) if is_other(before, kind) => replaced.push(path.clone()),
        (Node::Table(before), Node::Table(set)) => {
            let kind = set.get(KIND).and_then(|entry| entry.value.text());
            if kind.is_some_and(|kind| is_other(before, kind)) {
                return replaced.push(path.clone());
            }
            for (key, entry) in set {
                if let Some(under) = before.get(key) {
                    path.push(Step::Key(key.clone()));
                    find(&under.value, &entry.value, path, replaced);
                    path.pop();
                }
            }
        }
        // Lists of named tables are merged by name.
        (Node::Array(before), Node::Array(set)) => {
            for element in set.iter().filter(|element| element.name().is_some()) {
                let index = before.iter().position(|under| under.name() == element.name());
                if let Some(index) = index {
                    path.push(Step::Element(index));
                    find(&before[index], element, path, replaced);
                    path.pop();
                }
            }
        }
        _ => {}
    }
}

fn is_other(before: &Table, kind: &str) -> bool {
    before.get(KIND).and_then(|entry| entry.value.text()).is_some_and(|before| before != kind)
}

/// Removes the keys of the table at `path`, and of tables within it, whose removal does not change
/// the value of `tree` according to `same`.
fn drop_defaults(tree: &mut Value, path: &[Step], same: &dyn Fn(&Value) -> bool) {
    let keys: Vec<String> =
        table_at(tree, path).map(|table| table.keys().cloned().collect()).unwrap_or_default();
    for key in keys.into_iter().filter(|key| key != KIND) {
        let entry = table_at(tree, path).and_then(|table| table.remove(&key));
        if same(tree) {
            continue;
        }
        let (Some(table), Some(entry)) = (table_at(tree, path), entry) else { continue };
        table.insert(key.clone(), entry);
        drop_defaults(tree, &[path, &[Step::Key(key)]].concat(), same);
    }
}

fn table_at<'a>(tree: &'a mut Value, path: &[Step]) -> Option<&'a mut Table> {
    let value = path.iter().try_fold(tree, |value, step| match (&mut value.node, step) {
        (Node::Table(table), Step::Key(key)) => table.get_mut(key).map(|entry| &mut entry.value),
        (Node::Array(elements), Step::Element(index)) => elements.get_mut(*index),
        _ => None,
    })?;
    match &mut value.node {
        Node::Table(table) => Some(table),
        _ => None,
    }
}
