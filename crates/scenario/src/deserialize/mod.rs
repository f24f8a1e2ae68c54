//! Deserialization of the tree to a typed value.
//!
//! The deserializer passes each node to serde together with its key path, so a fault reported by
//! any `Deserialize` implementation gets the location of its node. serde stops at the first fault.
//! To find further faults, the failed node is removed and the tree is deserialized again. This ends
//! when the only remaining fault is that the removed node is missing.

mod variant;

use crate::error::{Problem, SET};
use crate::fault::{Fault, Location};
use crate::merge::KIND;
use crate::nearest::nearest;
use crate::renamed::Renamed;
use crate::value::{address, path_text, Entry, Node, Table, Value};
use bentpipe_core::TEXT_OR_TABLE;
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::marker::PhantomData;

/// Maximum number of unknown keys that are reported.
const PROBLEM_LIMIT: usize = 100;

/// Maximum number of passes to find further faults.
const TRIES: usize = 20;

/// A typed value, with notes about keys that were dropped together with their `kind`.
pub(crate) struct Typed<T> {
    pub(crate) value: T,
    pub(crate) notes: Vec<Problem>,
}

/// Deserializes the tree to a `T`, or returns its problems. If the only problems are unknown keys,
/// it also returns a value, so that the value's own checks can run. It returns no value if a key
/// has a former name, because other values may refer to this key.
pub(crate) fn deserialize<T: DeserializeOwned>(
    root: &Value,
    renamed: &'static [Renamed],
) -> (Option<Typed<T>>, Vec<Problem>) {
    let mut context = Context { renamed, ..Context::default() };
    for _ in 0..TRIES {
        let cursor = Cursor { value: root, trail: None, context: &context, is_config: false };
        match cursor.seed(PhantomData::<T>) {
            Ok(value) => {
                let found = context.found.into_inner();
                let complete = context.out.is_empty() && !found.renamed;
                return (complete.then_some(Typed { value, notes: found.notes }), found.problems);
            }
            Err(fault) => {
                let missing = fault.missing();
                let (node, mut problem) = fault.into_problem();
                if let Some((key, entry)) = missing.and_then(|key| unset(root, node, key)) {
                    let path = if problem.path.is_empty() { key } else { format!("{}.{key}", problem.path) };
                    problem = Problem::at(&entry.value.origin, path, "is required, so it cannot be unset")
                        .with_value(entry.value.written());
                } else if missing.is_some() && problem.file.starts_with(SET) {
                    problem.message += ", in a table that this override creates";
                }
                let found = context.found.get_mut();
                let follows = match missing {
                    Some(key) => found.explained.contains(&(node, key.to_owned())),
                    None => found.incomplete.contains(&node),
                };
                if !follows {
                    found.problems.push(problem);
                }
                if node == identity(root) || !context.out.insert(node) {
                    break;
                }
            }
        }
    }
    (None, context.found.into_inner().problems)
}

/// Returns the entry `key` of the table `node` in `value`, if the entry is `"unset"`.
fn unset<'a>(value: &'a Value, node: usize, key: &str) -> Option<(String, &'a Entry)> {
    match &value.node {
        Node::Table(table) if identity(value) == node => {
            table.get(key).filter(|entry| entry.value.is_unset()).map(|entry| (key.to_owned(), entry))
        }
        Node::Table(table) => table.values().find_map(|entry| unset(&entry.value, node, key)),
        Node::Array(elements) => elements.iter().find_map(|element| unset(element, node, key)),
        _ => None,
    }
}

/// The state shared by all nodes and all passes.
#[derive(Default)]
pub(crate) struct Context {
    /// Former names with their current names.
    renamed: &'static [Renamed],
    /// Nodes that failed and are skipped in later passes.
    out: BTreeSet<usize>,
    found: RefCell<Found>,
}

#[derive(Default)]
struct Found {
    problems: Vec<Problem>,
    notes: Vec<Problem>,
    /// True if a key has a former name.
    renamed: bool,
    /// Keys that have been reported, so that each key is reported once.
    seen: BTreeSet<usize>,
    /// Nodes of which some part is skipped. Further faults may be consequences of this.
    incomplete: BTreeSet<usize>,
    /// Keys whose absence from a node is explained: they were skipped, or an unknown key is
    /// probably a misspelling of them.
    explained: BTreeSet<(usize, String)>,
}

/// Returns a node's address, which identifies it because the tree does not change while it is
/// deserialized.
fn identity(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}

/// A node, the path to the node, and the context.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    pub(crate) value: &'a Value,
    pub(crate) trail: Option<&'a Trail<'a>>,
    pub(crate) context: &'a Context,
    /// True for a value that may be a text or a table in a scenario. Unset keys are omitted from
    /// such a table.
    pub(crate) is_config: bool,
}

/// The last step of the path to a node.
pub(crate) struct Trail<'a> {
    pub(crate) before: Option<&'a Trail<'a>>,
    pub(crate) of: &'a Value,
    pub(crate) step: Step<'a>,
}

#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Element(&'a [Value], usize),
}

impl<'a> Cursor<'a> {
    fn path(&self, last: Option<&str>) -> String {
        path_text(&self.keys(last))
    }

    fn keys(&self, last: Option<&str>) -> Vec<String> {
        let mut keys: Vec<String> = last.map(str::to_owned).into_iter().collect();
        let mut trail = self.trail;
        while let Some(Trail { before, step, .. }) = trail {
            keys.push(match step {
                Step::Key(key) => (*key).to_owned(),
                Step::Element(elements, index) => address(elements, *index),
            });
            trail = *before;
        }
        keys.reverse();
        keys
    }

    /// Returns the current name for `name`, a key or an element of this node, if `name` is a former
    /// name.
    fn today(&self, name: &str) -> Option<&'static str> {
        let of_name = |(former, _): &&Renamed| former.rsplit('.').next() == Some(name);
        let mut renamed = self.context.renamed.iter().filter(of_name).peekable();
        // Former names are rare, so few paths are built.
        renamed.peek()?;
        let keys = self.keys(Some(name));
        let found = renamed.find(|(former, _)| {
            let same = |(step, key): (&str, &String)| step == "*" || step == key;
            former.split('.').count() == keys.len() && former.split('.').zip(&keys).all(same)
        });
        found.map(|(_, today)| *today)
    }

    pub(crate) fn location(&self) -> Location {
        let problem = Problem::at(&self.value.origin, self.path(None), "").with_value(self.value.written());
        Location { node: identity(self.value), problem, is_file: self.value.origin.is_file() }
    }

    /// Passes the node to `seed`. Some types check the value after deserialization (`try_from`,
    /// `deserialize_with`); their faults are also attributed to the node.
    fn seed<'de, S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self).map_err(|fault| fault.at(|| self.location()))
    }

    /// Returns true if this part of the node failed in an earlier pass.
    pub(crate) fn is_out(&self, key: Option<&str>, part: &Value) -> bool {
        let out = self.context.out.contains(&identity(part));
        if out {
            let mut found = self.context.found.borrow_mut();
            found.incomplete.insert(identity(self.value));
            let mut trail = self.trail;
            while let Some(Trail { before, of, .. }) = trail {
                found.incomplete.insert(identity(of));
                trail = *before;
            }
            found.explained.extend(key.map(|key| (identity(self.value), key.to_owned())));
        }
        out
    }

    /// Returns the entries in the order of writing, without unset entries. For a struct, unknown
    /// keys are omitted. For a variant, the key `kind` is omitted.
    pub(crate) fn entries(
        &self,
        table: &'a Table,
        fields: Option<&'static [&'static str]>,
        kinds: Option<&[&str]>,
    ) -> Entries<'a> {
        let kind = table.get(KIND).and_then(|entry| entry.value.text()).unwrap_or_default();
        let others = kinds.unwrap_or_default().iter().copied();
        let relatives: Vec<&str> = others
            .filter(|other| other.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-')))
            .collect();
        self.chosen(table, |key, entry| {
            (kinds.is_none() || key != KIND)
                && !self.is_out(Some(key), &entry.value)
                && fields.is_none_or(|fields| self.knows(key, entry, fields, &relatives))
                && !entry.value.is_unset()
        })
    }

    /// Returns the entries for which `choose` returns true, in the order of writing.
    fn chosen(&self, table: &'a Table, choose: impl Fn(&str, &Entry) -> bool) -> Entries<'a> {
        let entries = table.iter().map(|(key, entry)| (key.as_str(), entry));
        let mut entries: Vec<_> = entries.filter(|(key, entry)| choose(key, entry)).collect();
        entries.sort_by_key(|(_, entry)| entry.key.start());
        Entries { of: *self, entries: entries.into_iter(), next: None }
    }

    /// Returns true if `key` is one of `fields`. Reports any other key, and suggests the variants
    /// whose names start with the same word.
    fn knows(&self, key: &str, entry: &Entry, fields: &'static [&'static str], relatives: &[&str]) -> bool {
        if fields.contains(&key) {
            return true;
        }
        let mut found = self.context.found.borrow_mut();
        if found.problems.len() < PROBLEM_LIMIT && found.seen.insert(identity(&entry.value)) {
            let path = self.path(Some(key));
            if entry.superseded {
                let message = "not used, as it belongs to a kind that was replaced by another";
                found.notes.push(Problem::at(&entry.key, path, message).with_value(entry.value.written()));
            } else if let Some(today) = self.today(key) {
                let message = format!("unknown key; it is called {today} now");
                found.problems.push(Problem::at(&entry.key, path, message));
                found.explained.insert((identity(self.value), today.to_owned()));
                found.renamed = true;
            } else {
                let mut problem = Problem::at(&entry.key, path, "unknown key").with_allowed(key, fields);
                if problem.nearest.is_none() && !relatives.is_empty() {
                    problem.message += &format!(" of this kind; {} has other keys", relatives.join(", "));
                }
                if let Some(meant) = nearest(key, fields) {
                    found.explained.insert((identity(self.value), meant));
                }
                found.problems.push(problem);
            }
        }
        false
    }

    pub(crate) fn any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let result = match &self.value.node {
            Node::String(text) => visitor.visit_str(text),
            Node::Integer(number) => visitor.visit_i64(*number),
            Node::Float(number) => visitor.visit_f64(*number),
            Node::Boolean(truth) => visitor.visit_bool(*truth),
            Node::Array(elements) => self.list(elements, visitor),
            // Values that another scenario will load, such as those of a campaign, may contain
            // `"unset"`.
            Node::Table(table) => visitor.visit_map(self.chosen(table, |key, entry| {
                let is_missing = self.is_config && entry.value.is_unset();
                !is_missing && !self.is_out(Some(key), &entry.value)
            })),
        };
        result.map_err(|fault| fault.at(|| self.location()))
    }

    fn list<'de, V: Visitor<'de>>(self, elements: &'a [Value], visitor: V) -> Result<V::Value, Fault> {
        let mut list = Elements { of: self, elements, next: 0 };
        let value = visitor.visit_seq(&mut list)?;
        // A list of fixed length reads its elements without checking for more.
        if list.next < elements.len() {
            let message = format!("expected a list of {} elements, found {}", list.next, elements.len());
            return Err(de::Error::custom(message));
        }
        Ok(value)
    }
}

impl<'de> Deserializer<'de> for Cursor<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self).map_err(|fault| fault.at(|| self.location()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let cursor = Cursor { is_config: name == TEXT_OR_TABLE, ..self };
        visitor.visit_newtype_struct(cursor).map_err(|fault| fault.at(|| self.location()))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if matches!(self.value.node, Node::Table(_)) {
            let message = format!("expected a list, found a table; write [[{}]]", self.path(None));
            return Err(<Fault as de::Error>::custom(message).at(|| self.location()));
        }
        self.any(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value.node {
            Node::Table(table) => visitor
                .visit_map(self.entries(table, None, None))
                .map_err(|fault| fault.at(|| self.location())),
            _ => self.any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.value.node {
            Node::Table(table) => visitor
                .visit_map(self.entries(table, Some(fields), None))
                .map_err(|fault| fault.at(|| self.location())),
            _ => self.any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        variant::visit(self, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct identifier
    }
}

/// The elements of a list.
struct Elements<'a> {
    of: Cursor<'a>,
    elements: &'a [Value],
    next: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        while let Some(value) = self.elements.get(self.next) {
            let step = Step::Element(self.elements, self.next);
            self.next += 1;
            if !self.of.is_out(None, value) {
                let today = value.text().and_then(|name| self.of.today(name));
                let trail = Trail { before: self.of.trail, of: self.of.value, step };
                let element = Cursor { value, trail: Some(&trail), is_config: false, ..self.of };
                if let Some(today) = today {
                    let fault: Fault = de::Error::custom(format!("unknown name; it is called {today} now"));
                    return Err(fault.at(|| element.location()));
                }
                return element.seed(seed).map(Some);
            }
        }
        Ok(None)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len() - self.next)
    }
}

/// The entries of a table.
pub(crate) struct Entries<'a> {
    of: Cursor<'a>,
    entries: std::vec::IntoIter<(&'a str, &'a Entry)>,
    next: Option<(&'a str, &'a Entry)>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.next = self.entries.next();
        let Some((key, entry)) = self.next else { return Ok(None) };
        let location = || Location {
            node: identity(&entry.value),
            problem: Problem::at(&entry.key, self.of.path(Some(key)), ""),
            is_file: false,
        };
        let deserializer: StrDeserializer<'_, Fault> = key.into_deserializer();
        seed.deserialize(deserializer).map(Some).map_err(|fault| fault.at(location))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let (key, entry) = self.next.take().expect("serde asks for a value after its key");
        let trail = Trail { before: self.of.trail, of: self.of.value, step: Step::Key(key) };
        Cursor { value: &entry.value, trail: Some(&trail), is_config: false, ..self.of }.seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}
