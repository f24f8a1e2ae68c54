//! Parses TOML to the tree, and rejects TOML that is not allowed in a scenario.

use crate::error::{Problem, ScenarioError};
use crate::json;
use crate::read::{too_large, SIZE_LIMIT};
use crate::value::{path_text, Entry, Node, Origin, Table, Text, Value};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use toml::Spanned;
use toml_parser::lexer::TokenKind;

/// Maximum nesting of tables and lists. Real scenarios have about six levels. The limit bounds the
/// recursion over the tree.
const DEPTH_LIMIT: usize = 32;

/// Maximum number of faulty values collected from a file.
const FAULT_LIMIT: usize = 100;

/// Parses a scenario's text from bytes, such as those of a fuzzer or a network. It never panics.
///
/// # Errors
/// Returns problems of the encoding, the syntax or a value.
pub fn parse_bytes(bytes: &[u8]) -> Result<Value, ScenarioError> {
    from_bytes("bytes", bytes)
}

/// Parses the text `bytes`, which messages call `name`.
pub(crate) fn from_bytes(name: &str, bytes: &[u8]) -> Result<Value, ScenarioError> {
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(Problem::of_file(name, too_large(&format!("{:.1} MB", bytes.len() as f64 / 1e6))).into());
    }
    let has_lines = true;
    let content = match std::str::from_utf8(bytes) {
        Ok(content) => content.to_owned(),
        Err(error) => return Err(not_utf8(name, bytes, error.valid_up_to()).into()),
    };
    if content.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(Problem::of_file(name, "is empty, not a scenario".to_owned()).into());
    }
    let text = Arc::new(Text { name: name.to_owned(), content, has_lines, is_value: false });
    if json::is_json(&text.content) {
        let value = single_value(&json::as_toml(&text)?, &[])?;
        return Ok(Value { origin: Origin::new(&text, 0..0), ..value });
    }
    if let Ok(serde_json::Value::Array(_)) = serde_json::from_str(text.content.trim_start_matches('\u{feff}'))
    {
        return Err(
            Problem::of_file(name, "is a list in JSON, not a scenario; allowed: a table".to_owned()).into()
        );
    }
    document(&text)
}

fn not_utf8(name: &str, bytes: &[u8], offset: usize) -> Problem {
    let content = String::from_utf8_lossy(&bytes[..offset]).into_owned();
    let text = Arc::new(Text { name: name.to_owned(), content, has_lines: true, is_value: false });
    let hint = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => ", it looks like UTF-16",
        _ => "",
    };
    let message = format!("not UTF-8: byte 0x{:02x} at byte offset {offset}{hint}", bytes[offset]);
    Problem::at(&Origin::new(&text, offset..offset), String::new(), message)
}

/// Parses the complete text of a scenario.
pub(crate) fn document(text: &Arc<Text>) -> Result<Value, ScenarioError> {
    refuse_deep_nesting(text, true)?;
    let table = DeTable::parse(&text.content).map_err(|error| syntax(text, &error))?;
    let mut reader = Reader { text, path: Vec::new(), problems: Vec::new() };
    let node = reader.table(table.get_ref());
    reader.finish(Value { origin: Origin::new(text, 0..0), node })
}

/// Parses a single value, the right side of an override at `path`.
pub(crate) fn single_value(text: &Arc<Text>, path: &[String]) -> Result<Value, ScenarioError> {
    refuse_deep_nesting(text, false)?;
    let value = DeValue::parse(&text.content).map_err(|error| syntax(text, &error))?;
    let mut reader = Reader { text, path: path.to_vec(), problems: Vec::new() };
    let value = reader.value(&value);
    reader.finish(value)
}

fn syntax(text: &Arc<Text>, error: &toml::de::Error) -> ScenarioError {
    let span = error.span().unwrap_or(0..0);
    let found = text.content.get(span.clone()).unwrap_or_default();
    let message = match error.message() {
        "duplicate key" => format!("the key \"{found}\" is given twice"),
        // The parser's message for a value that starts with a letter.
        "string values must be quoted, expected literal string" if found.is_empty() => {
            "a value is missing".to_owned()
        }
        "string values must be quoted, expected literal string" => {
            format!("{found} is neither a number nor true or false; text must be quoted")
        }
        "invalid basic string, expected `\"`" | "invalid literal string, expected `'`" => {
            "a quote is not closed on this line".to_owned()
        }
        other => format!("not valid TOML: {}", other.trim_end_matches(", expected nothing")),
    };
    Problem::at(&Origin::new(text, span), String::new(), message).into()
}

/// Rejects a text with too many levels before the parser builds its tree, which is dropped
/// recursively. The parser's own limit counts brackets and dotted keys separately, so 80 levels of
/// brackets with 80 levels of dotted keys each would pass it and overflow the stack.
fn refuse_deep_nesting(text: &Arc<Text>, lines: bool) -> Result<(), ScenarioError> {
    struct Open {
        bracket: TokenKind,
        offset: usize,
        dots: usize,
    }
    let mut open: Vec<Open> = Vec::new();
    let (mut depth, mut dots) = (0, 0);
    for token in toml_parser::Source::new(&text.content).lex() {
        let kind = token.kind();
        match kind {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                depth += 1;
                open.push(Open { bracket: kind, offset: token.span().start(), dots: 0 });
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                let bracket = match kind {
                    TokenKind::RightSquareBracket => TokenKind::LeftSquareBracket,
                    _ => TokenKind::LeftCurlyBracket,
                };
                if open.last().is_some_and(|last| last.bracket == bracket) {
                    depth -= 1 + open.pop().map_or(0, |closed| closed.dots);
                }
            }
            TokenKind::Dot => {
                depth += 1;
                *open.last_mut().map_or(&mut dots, |last| &mut last.dots) += 1;
            }
            TokenKind::Comma => {
                if let Some(last) = open.last_mut() {
                    depth -= std::mem::take(&mut last.dots);
                }
            }
            TokenKind::Newline if lines && open.is_empty() => depth -= std::mem::take(&mut dots),
            _ => {}
        }
        if depth > DEPTH_LIMIT {
            let start = open.first().map_or(token.span().start(), |first| first.offset);
            let message = match open.first() {
                None => format!("the key has more than {DEPTH_LIMIT} parts"),
                Some(_) => {
                    format!("more than {DEPTH_LIMIT} levels of nesting, or this bracket is never closed")
                }
            };
            return Err(Problem::at(&Origin::new(text, start..start), String::new(), message).into());
        }
    }
    Ok(())
}

/// Walks the parser's tree and tracks the key path.
struct Reader<'a> {
    text: &'a Arc<Text>,
    path: Vec<String>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>) -> Node {
        let entries = table.iter().map(|(key, value)| {
            let origin = Origin::new(self.text, key.span());
            let name = key.get_ref().clone().into_owned();
            self.path.push(name.clone());
            let value = self.value(value);
            self.path.pop();
            (name, Entry { key: origin, value, superseded: false })
        });
        Node::Table(entries.collect::<Table>())
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) -> Value {
        let origin = Origin::new(self.text, value.span());
        let node = match value.get_ref() {
            DeValue::String(text) => Node::String(text.clone().into_owned()),
            DeValue::Boolean(value) => Node::Boolean(*value),
            DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
                Ok(value) => Node::Integer(value),
                Err(_) => self.refuse(
                    &origin,
                    "is out of range; allowed: whole numbers from -9223372036854775808 to 9223372036854775807",
                ),
            },
            DeValue::Float(digits) => match digits.as_str().parse::<f64>() {
                Ok(value) if value.is_finite() => Node::Float(value),
                _ => self.refuse(&origin, "is not a finite number; allowed: numbers up to 1.797e308"),
            },
            DeValue::Datetime(_) => self.refuse(
                &origin,
                "is a date or time of day, which no scenario uses; allowed: a span such as \"400 s\", or text in quotes",
            ),
            DeValue::Array(elements) => {
                let elements = elements.iter().enumerate().map(|(index, element)| {
                    let name = element.get_ref().as_table().and_then(|table| table.get("name"));
                    let name = name.and_then(|name| name.get_ref().as_str());
                    self.path.push(name.map_or_else(|| index.to_string(), str::to_owned));
                    let element = self.value(element);
                    self.path.pop();
                    element
                });
                Node::Array(elements.collect())
            }
            DeValue::Table(table) => self.table(table),
        };
        Value { origin, node }
    }

    /// Records that the value at the current path is rejected. Returns a placeholder, so that
    /// further problems can be found.
    fn refuse(&mut self, origin: &Origin, message: &str) -> Node {
        if self.problems.len() < FAULT_LIMIT {
            let problem = Problem::at(origin, path_text(&self.path), message);
            self.problems.push(problem.with_value(Some(origin.written())));
        }
        Node::Boolean(false)
    }

    fn finish(self, value: Value) -> Result<Value, ScenarioError> {
        if self.problems.is_empty() {
            Ok(value)
        } else {
            Err(self.problems.into())
        }
    }
}
