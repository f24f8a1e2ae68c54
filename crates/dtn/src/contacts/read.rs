//! Reads contact plans. The format is recognised by the text, not by the name of the file:
//!
//! - a JSON object `{"contacts": [{"id": 1, "src": 1, "dst": 2, "start": 0, "end": 60, "rate_bps": 64000, "owlt_s": 1.2}]}`; the rate may
//!   be `rate_bytes_s` instead. The list may also stand alone. `"nodes": [...]` beside it declares the only nodes that may occur;
//! - the JSON of HDTN, with `contact`, `source`, `dest`, `startTime`, `endTime`, `rateBitsPerSec` (or `rate` in Mbit/s), `owlt`;
//! - commands of ION's ionadmin, `a contact +0 +60 1 2 8000` (byte/s) and `a range +0 +60 1 2 1` (ionrc(5));
//! - comma-separated values with the names of the JSON object in the first line;
//! - our own table, TOML with quantities: `[[contact]]` with `from`, `to`, `start`, `end`, `rate`, `delay`.

mod csv;
mod ion;
mod json;
mod table;

use super::{Entry, Plan, Wrong};

/// Entries of a file, and the nodes that it declares.
pub(crate) struct Content {
    pub entries: Vec<Entry>,
    pub nodes: Option<Vec<String>>,
}

/// The formats in which plans are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A JSON object with a list of contacts, ours or that of HDTN.
    Json,
    /// Commands of ION's ionadmin.
    Ion,
    /// Comma-separated values.
    Csv,
    /// TOML tables.
    Table,
}

impl Format {
    /// The format of a text.
    pub fn of(text: &str) -> Format {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let Some(first) = lines.clone().next() else { return Format::Table };
        // A table of TOML begins with `[[` or `[name`; a list of JSON with `[` and an object.
        let is_list =
            first.starts_with('[') && !first.trim_start_matches(['[', ' ']).starts_with(char::is_alphabetic);
        if first.starts_with('{') || is_list {
            Format::Json
        } else if lines.any(ion::is_command) {
            Format::Ion
        } else if first.contains(',') && !first.contains('=') {
            Format::Csv
        } else {
            Format::Table
        }
    }
}

/// Reads a plan in any of the formats.
///
/// # Errors
/// Everything that is wrong, in the order of lines.
pub fn plan(text: &str) -> Result<Plan, Vec<Wrong>> {
    let content = match Format::of(text) {
        Format::Json => json::read(text)?,
        Format::Ion => ion::read(text)?,
        Format::Csv => csv::read(text)?,
        Format::Table => table::read(text)?,
    };
    if content.entries.is_empty() {
        return Err(vec![Wrong::at(0, "has no contacts; allowed: at least one")]);
    }
    Plan::new(&content.entries, content.nodes.as_deref())
}

/// The line of a byte of a text, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
