//! Reads contact plans. The format is recognised by the text, not by the name of the file:
//!
//! - a JSON object `{"contacts": [{"id": 1, "src": 1, "dst": 2, "start": 0, "end": 60, "rate_bps":
//!   64000, "owlt_s": 1.2}]}`; the rate may be `rate_bytes_s` instead. The list may also stand
//!   alone. An additional `"nodes": [...]` declares the only nodes that may occur;
//! - the JSON of HDTN, with `contact`, `source`, `dest`, `startTime`, `endTime`, `rateBitsPerSec`
//!   (or `rate` in Mbit/s), `owlt`;
//! - commands of ION's ionadmin, `a contact +0 +60 1 2 8000` (byte/s) and `a range +0 +60 1 2 1`
//!   (ionrc(5));
//! - comma-separated values with the names of the JSON object in the first line;
//! - our own table, TOML with quantities: `[[contact]]` with `from`, `to`, `start`, `end`, `rate`,
//!   `delay`.

mod csv;
mod ion;
mod json;
mod table;

use super::{Entry, ParseError, Plan};

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
    /// Returns the format of a text.
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
        } else if first.contains([',', ';']) && !first.contains('=') {
            Format::Csv
        } else {
            Format::Table
        }
    }
}

/// Reads a plan in any of the formats.
///
/// # Errors
/// All errors, in the order of lines.
pub fn plan(text: &str) -> Result<Plan, Vec<ParseError>> {
    let content = content(text)?;
    Plan::new(&content.entries, content.nodes.as_deref())
}

/// Reads a plan without its impossible contacts, those that do not end after their start. Returns
/// the plan and the reason for each contact left out. HDTN ignores such contacts, and some of its
/// plans contain them.
///
/// # Errors
/// All other errors, in the order of lines.
pub fn plan_skipping_impossible(text: &str) -> Result<(Plan, Vec<ParseError>), Vec<ParseError>> {
    let Content { mut entries, nodes } = content(text)?;
    // Contacts keep their numbers, and nodes exist even if all their contacts are left out.
    for (entry, number) in entries.iter_mut().zip(1..) {
        entry.id = entry.id.or(Some(number));
    }
    let nodes = nodes
        .unwrap_or_else(|| entries.iter().flat_map(|entry| [entry.from.clone(), entry.to.clone()]).collect());
    let mut skipped = Vec::new();
    entries.retain(|entry| {
        let impossible = entry.problem();
        let keep = impossible.is_none();
        skipped.extend(impossible);
        keep
    });
    if entries.is_empty() {
        return Err(vec![ParseError::at(0, "has no possible contacts; allowed: at least one")]);
    }
    Ok((Plan::new(&entries, Some(&nodes))?, skipped))
}

fn content(text: &str) -> Result<Content, Vec<ParseError>> {
    let content = match Format::of(text) {
        Format::Json => json::read(text)?,
        Format::Ion => ion::read(text)?,
        Format::Csv => csv::read(text)?,
        Format::Table => table::read(text)?,
    };
    if content.entries.is_empty() {
        return Err(vec![ParseError::at(0, "has no contacts; allowed: at least one")]);
    }
    Ok(content)
}

/// Finds the line of a position in a text in logarithmic time.
struct Lines<'a> {
    text: &'a str,
    /// Positions of the line feeds.
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        Lines { text, ends: text.match_indices('\n').map(|(place, _)| place).collect() }
    }

    /// Returns the line of a byte, from 1.
    fn of(&self, byte: usize) -> usize {
        1 + self.ends.partition_point(|end| *end < byte)
    }
}
