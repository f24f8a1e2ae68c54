//! Prints a typed scenario as readable TOML: scalars first, then `[a.b]` for large tables, `{ ...
//! }` on one line for small tables, and `[[a]]` for lists of tables.

use crate::value::is_bare;
use serde::Serialize;
use std::fmt::Write;
use toml::{Table, Value};

/// Maximum length of a line, if it can be broken.
const WIDTH: usize = 100;

/// Writes `value` as TOML, with every key of its serialized form.
///
/// # Errors
/// Returns an error if TOML cannot represent the value: a whole number beyond signed 64 bits, a key
/// that is not text, or a top level that is not a table. Scenarios that were loaded from TOML can
/// always be written.
pub fn to_toml<T: Serialize>(value: &T) -> Result<String, toml::ser::Error> {
    let table = Table::try_from(value)?;
    let mut out = String::new();
    body(&mut out, &mut Vec::new(), &table);
    Ok(out)
}

/// Writes the keys of the table at `path`: first those that fit on a line, then those that need
/// headers.
fn body(out: &mut String, path: &mut Vec<String>, table: &Table) {
    let depth = path.len();
    for (name, value) in table.iter().filter(|(name, value)| !needs_header(depth, name, value)) {
        line(out, name, value);
    }
    for (name, value) in table.iter().filter(|(name, value)| needs_header(depth, name, value)) {
        path.push(key(name));
        match value {
            Value::Table(part) => {
                // A table that contains only tables is implied by their headers.
                let implied =
                    !part.is_empty() && part.iter().all(|(name, value)| needs_header(depth + 1, name, value));
                if !implied {
                    header(out, "[", path, "]");
                }
                body(out, path, part);
            }
            Value::Array(elements) => {
                for part in elements.iter().filter_map(Value::as_table) {
                    header(out, "[[", path, "]]");
                    body(out, path, part);
                }
            }
            _ => unreachable!("only tables and lists of tables have headers"),
        }
        path.pop();
    }
}

fn header(out: &mut String, open: &str, path: &[String], close: &str) {
    let gap = if out.is_empty() { "" } else { "\n" };
    writeln!(out, "{gap}{open}{}{close}", path.join(".")).expect("writing to a string does not fail");
}

fn line(out: &mut String, name: &str, value: &Value) {
    let start = out.len();
    write!(out, "{} = {}", key(name), inline(value)).expect("writing to a string does not fail");
    if let (Value::Array(elements), true) = (value, out.len() - start > WIDTH) {
        out.truncate(start);
        write!(out, "{} = [", key(name)).expect("writing to a string does not fail");
        let mut column = WIDTH;
        for element in elements {
            let text = inline(element) + ",";
            if column + 1 + text.len() > WIDTH {
                out.push_str("\n   ");
                column = 3;
            }
            column += 1 + text.len();
            out.push(' ');
            out.push_str(&text);
        }
        out.push_str("\n]");
    }
    out.push('\n');
}

/// Returns true if a value gets its own header. Top-level sections always get one. Deeper tables,
/// such as a flow's application, get one if they do not fit on a line.
fn needs_header(depth: usize, name: &str, value: &Value) -> bool {
    let fits = || depth > 0 && key(name).len() + 3 + inline(value).len() <= WIDTH;
    match value {
        Value::Table(_) => !fits(),
        Value::Array(elements) => !elements.is_empty() && elements.iter().all(Value::is_table) && !fits(),
        _ => false,
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Table(table) if table.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let parts: Vec<_> =
                table.iter().map(|(name, value)| format!("{} = {}", key(name), inline(value))).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn key(name: &str) -> String {
    if is_bare(name) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// Returns any text as a basic string on one line, which is valid in an inline table and as a key.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => {
                write!(out, "\\u{:04X}", control as u32).expect("writing to a string does not fail");
            }
            other => out.push(other),
        }
    }
    out + "\""
}
