//! The tree of a scenario. Every node records where it was written.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A source text, with its name for messages.
#[derive(PartialEq, Eq)]
pub struct Text {
    /// Name of the file, or `preset NAME`, or `--set KEY.PATH`.
    pub name: String,
    /// The whole text, from which messages quote lines.
    pub content: String,
    /// True if line and column are meaningful to users; false for an override on the command line.
    pub has_lines: bool,
    /// True if the text is a single value, from a file that a scenario names.
    pub is_value: bool,
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({}, {} bytes)", self.name, self.content.len())
    }
}

/// The location at which a node was written: a range of a [`Text`]. Lines are counted only on
/// request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    text: Arc<Text>,
    // 32 bits are enough for the size limit, and keep the tree of a long list small.
    start: u32,
    end: u32,
}

impl Origin {
    /// Creates the origin for the range `span` of `text`, truncated at the end of the text.
    pub(crate) fn new(text: &Arc<Text>, span: std::ops::Range<usize>) -> Origin {
        let length = text.content.len();
        let start = span.start.min(length);
        let end = span.end.clamp(start, length);
        Origin { text: Arc::clone(text), start: start as u32, end: end as u32 }
    }

    /// Returns the name of the file, or `preset NAME`, or `--set KEY.PATH`.
    pub fn file(&self) -> &str {
        &self.text.name
    }

    /// Returns line and column in characters, both from 1, or `None` for an override.
    pub fn position(&self) -> Option<(usize, usize)> {
        if !self.text.has_lines {
            return None;
        }
        let before = &self.text.content.as_bytes()[..self.start as usize];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let in_line = String::from_utf8_lossy(&before[line_start..]);
        // Editors do not count a byte order mark as a character.
        Some((line, 1 + in_line.trim_start_matches('\u{feff}').chars().count()))
    }

    /// Returns the text at this location, on one line and truncated if it is long.
    pub fn written(&self) -> String {
        const LONGEST: usize = 60;
        let content = self.text.content.as_bytes();
        let bytes = &content[self.start as usize..self.end as usize];
        // Characters of UTF-8 have at most four bytes.
        let cut = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST + 4)]).into_owned();
        // Spaces within a single line are part of the written value.
        let line =
            if cut.contains('\n') { cut.split_whitespace().collect::<Vec<_>>().join(" ") } else { cut };
        let mut written = String::new();
        for (index, character) in line.chars().enumerate() {
            if index == LONGEST {
                return written + "...";
            }
            if character.is_control() {
                written.extend(character.escape_default());
            } else {
                written.push(character);
            }
        }
        written
    }

    /// Returns true if the origin is a separate file, in which the problems have their own lines.
    pub(crate) fn is_file(&self) -> bool {
        self.text.is_value
    }

    /// Returns true if the origin is an override on the command line.
    pub(crate) fn is_override(&self) -> bool {
        !self.text.has_lines
    }

    /// Returns the start offset within the text, for sorting.
    pub(crate) fn start(&self) -> u32 {
        self.start
    }
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The location at which the node was written; for a table, its header.
    pub origin: Origin,
    /// Content of the node.
    pub node: Node,
}

/// The content of a node, one of the types of TOML except dates.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A string with its escapes resolved.
    String(String),
    /// A whole number that fits into 64 bits.
    Integer(i64),
    /// A finite number.
    Float(f64),
    /// A Boolean: true or false.
    Boolean(bool),
    /// A list of values, which may differ in type.
    Array(Vec<Value>),
    /// A table: keys and their values.
    Table(Table),
}

/// The keys of a table and their values.
pub type Table = BTreeMap<String, Entry>;

/// An entry of a table: the key's location and the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The location at which the key was written.
    pub key: Origin,
    /// The value of the entry.
    pub value: Value,
    /// True for a key of a `kind` that an upper layer replaced. Such a key is not an error if it is
    /// unknown.
    pub superseded: bool,
}

/// The value that unsets a key of a lower layer.
pub(crate) const UNSET: &str = "unset";

impl Value {
    /// Returns the table, if the value is a table.
    pub fn table(&self) -> Option<&Table> {
        match &self.node {
            Node::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Returns the value as JSON, without locations.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.node {
            Node::String(text) => text.as_str().into(),
            Node::Integer(number) => (*number).into(),
            Node::Float(number) => (*number).into(),
            Node::Boolean(truth) => (*truth).into(),
            Node::Array(elements) => elements.iter().map(Value::to_json).collect(),
            Node::Table(table) => {
                let fields = table.iter().map(|(key, entry)| (key.clone(), entry.value.to_json()));
                fields.collect::<serde_json::Map<_, _>>().into()
            }
        }
    }

    /// Returns the text, if the value is a text.
    pub fn text(&self) -> Option<&str> {
        match &self.node {
            Node::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text under the key `name` of a table. Elements of a list are addressed by this
    /// name.
    pub fn name(&self) -> Option<&str> {
        self.table()?.get("name")?.value.text()
    }

    /// Returns true for the text `"unset"`. The key then counts as not written.
    pub(crate) fn is_unset(&self) -> bool {
        self.text() == Some(UNSET)
    }

    /// Returns the type of the node, for messages.
    pub(crate) fn what(&self) -> &'static str {
        match &self.node {
            Node::String(_) => "text",
            Node::Integer(_) => "a whole number",
            Node::Float(_) => "a number",
            Node::Boolean(_) => "true or false",
            Node::Array(_) => "a list",
            Node::Table(_) => "a table",
        }
    }

    /// Returns the value as written, if that helps users. Returns `None` for a table, whose origin
    /// is its header.
    pub(crate) fn written(&self) -> Option<String> {
        match &self.node {
            Node::Table(_) => None,
            Node::Array(elements) if elements.iter().any(|element| element.table().is_some()) => None,
            // The start of a file's content does not help with a problem on a later line.
            _ if self.origin.is_file() => None,
            _ => Some(self.origin.written()),
        }
    }

    /// Follows a key path as far as possible. Returns the number of keys found and the last node
    /// found. Elements of a list are found by name, or else by position from 0. A dotted key may
    /// have been written as nested tables.
    pub(crate) fn follow(&self, path: &[String]) -> (usize, &Value) {
        let mut value = self;
        for (depth, key) in path.iter().enumerate() {
            let tables = || key.split('.').try_fold(value, |value, key| value.part(key));
            match value.part(key).or_else(tables) {
                Some(part) => value = part,
                None => return (depth, value),
            }
        }
        (path.len(), value)
    }

    fn part(&self, key: &str) -> Option<&Value> {
        match &self.node {
            Node::Table(table) => table.get(key).map(|entry| &entry.value),
            Node::Array(elements) => position(elements, key).map(|index| &elements[index]),
            _ => None,
        }
    }
}

/// Returns the position of the element of a list addressed by `key`, which is a name, or else a
/// position from 0.
pub(crate) fn position(elements: &[Value], key: &str) -> Option<usize> {
    let named = elements.iter().position(|element| element.name() == Some(key));
    named.or_else(|| key.parse().ok().filter(|index| *index < elements.len()))
}

/// Returns the address of an element of a list: its name if that is unique, or else its position.
pub(crate) fn address(elements: &[Value], index: usize) -> String {
    let name = elements.get(index).and_then(Value::name);
    let unique = |name: &&str| elements.iter().filter(|element| element.name() == Some(name)).count() == 1;
    name.filter(unique).map_or_else(|| index.to_string(), str::to_owned)
}

/// Returns the addresses of all elements of a list, in time proportional to their number.
pub(crate) fn addresses(elements: &[Value]) -> Vec<String> {
    let mut counts = BTreeMap::new();
    for name in elements.iter().filter_map(Value::name) {
        *counts.entry(name).or_insert(0u32) += 1;
    }
    let address = |(index, element): (usize, &Value)| match element.name() {
        Some(name) if counts[name] == 1 => name.to_owned(),
        _ => index.to_string(),
    };
    elements.iter().enumerate().map(address).collect()
}

/// Returns a key path as text, with quotes around keys that need them in TOML.
pub(crate) fn path_text<K: AsRef<str>>(path: &[K]) -> String {
    let quoted = path.iter().map(|key| {
        let key = key.as_ref();
        if is_bare(key) {
            key.to_owned()
        } else {
            format!("{key:?}")
        }
    });
    quoted.collect::<Vec<_>>().join(".")
}

/// Returns true if TOML permits `key` without quotes.
pub(crate) fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_addressed_by_name_only_if_it_is_unique() {
        let text = "list = [{ name = \"a\" }, { name = \"b\" }, { name = \"a\" }, 4]";
        let root = crate::parse::from_bytes("test", text.as_bytes()).unwrap();
        let Node::Array(elements) = &root.table().unwrap()["list"].value.node else {
            panic!("the value is not a list")
        };
        assert_eq!(addresses(elements), ["0", "b", "2", "3"]);
        let single: Vec<String> = (0..4).map(|index| address(elements, index)).collect();
        assert_eq!(addresses(elements), single);
    }
}
