//! Reads contact plans. The format is recognised from the text, not from the name of the file:
//!
//! - **JSON**: an object `{"contacts": [{"id": 1, "src": 1, "dst": 2, "start": 0, "end": 60,
//!   "rate_bps": 64000, "owlt_s": 1.2}]}`, or only its list. `rate_bytes_s` may replace `rate_bps`.
//!   An optional list `"nodes": [...]` declares all nodes that contacts may contain.
//! - **JSON of HDTN**, with the keys `contact`, `source`, `dest`, `startTime`, `endTime`,
//!   `rateBitsPerSec` (or `rate` in Mbit/s) and `owlt`.
//! - **Commands of ION's ionadmin** (ionrc(5)), such as `a contact +0 +60 1 2 8000` (in byte/s) and
//!   `a range +0 +60 1 2 1`.
//! - **Comma-separated values**, with the keys of the JSON object in the first line.
//! - **TOML** with quantities: tables `[[contact]]` with the keys `from`, `to`, `start`, `end`,
//!   `rate` and `delay`.

mod csv;
mod ion;
mod json;
mod table;

use super::{Entry, ParseError, Plan};

/// The entries of a file, and the nodes that the file declares.
pub(crate) struct Content {
    pub entries: Vec<Entry>,
    pub nodes: Option<Vec<String>>,
}

/// The formats in which plans are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// JSON with a list of contacts, in bentpipe's or HDTN's form.
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
        // A TOML table begins with `[[` or `[name`, and a JSON list with `[` and an object.
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
/// Returns all errors, in the order of lines.
pub fn plan(text: &str) -> Result<Plan, Vec<ParseError>> {
    let content = content(text)?;
    Plan::new(&content.entries, content.nodes.as_deref())
}

/// Reads a plan and skips impossible contacts, which do not end after their start. Returns the
/// plan, and an error for each skipped contact. HDTN ignores such contacts, and some of its plans
/// contain them.
///
/// # Errors
/// Returns all other errors, in the order of lines.
pub fn plan_skipping_impossible(text: &str) -> Result<(Plan, Vec<ParseError>), Vec<ParseError>> {
    let Content { mut entries, nodes } = content(text)?;
    // Skipping a contact does not change the numbers of others, and does not remove nodes.
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
    /// Positions of the line feeds, in bytes.
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        Lines { text, ends: text.match_indices('\n').map(|(position, _)| position).collect() }
    }

    /// Returns the line of a byte, counted from 1.
    fn of(&self, byte: usize) -> usize {
        1 + self.ends.partition_point(|end| *end < byte)
    }
}
