//! Plans as comma-separated values, with the keys of the JSON object in the first line. Lines that
//! start with `#` are comments.

use super::Content;
use crate::contacts::{number, Entry, ParseError};
use bentpipe_core::{Span, Time};

const NAMES: [&str; 8] = ["id", "src", "dst", "start", "end", "rate_bps", "rate_bytes_s", "owlt_s"];

pub(super) fn read(text: &str) -> Result<Content, Vec<ParseError>> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (head_line, head) = lines.next().expect("text recognised as CSV has a first line");
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let mut errors = Vec::new();
    let refuse = |message: String| vec![ParseError::at(head_line, message)];
    if head.contains(';') && !head.contains(',') {
        return Err(refuse("values are separated by semicolons; allowed: commas".to_owned()));
    }
    let column = |name: &str| names.iter().position(|known| *known == name);
    for (index, name) in names.iter().enumerate() {
        if !NAMES.contains(name) || names[..index].contains(name) {
            return Err(refuse(format!(
                "unknown or repeated column \"{name}\"; allowed: {}",
                NAMES.join(", ")
            )));
        }
    }
    let rate =
        column("rate_bps").map(|column| (column, 1)).or(column("rate_bytes_s").map(|column| (column, 8)));
    let needed = ["src", "dst", "start", "end", "owlt_s"];
    if let Some(missing) = needed.iter().find(|name| column(name).is_none()) {
        return Err(refuse(format!("missing column \"{missing}\"; allowed: {}", NAMES.join(", "))));
    }
    let Some((rate_column, bits)) =
        rate.filter(|_| column("rate_bps").is_none() || column("rate_bytes_s").is_none())
    else {
        return Err(refuse("allowed: one of the columns rate_bps and rate_bytes_s".to_owned()));
    };
    let mut entries = Vec::new();
    for (line, row) in lines {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            let (found, expected) = (cells.len(), names.len());
            errors.push(ParseError::at(
                line,
                format!("has {found} values; allowed: {expected}, as in the first line"),
            ));
            continue;
        }
        let cell = |name: &str| column(name).map(|column| cells[column]);
        let mut note = |message: String| errors.push(ParseError::at(line, message));
        let mut span = |name: &str| number::nanoseconds(name, cell(name)?).map_err(&mut note).ok();
        let (start, end, delay) = (span("start"), span("end"), span("owlt_s"));
        let rate = number::rate(names[rate_column], cells[rate_column], bits).map_err(&mut note).ok();
        let id = cell("id").map(|text| {
            text.parse::<u64>()
                .map_err(|_| note(format!("id is \"{text}\"; allowed: a whole number from 0")))
                .ok()
        });
        let mut node = |name: &str| {
            let text = cell(name).unwrap_or_default();
            if text.is_empty() {
                note(format!("{name} is empty; allowed: a node's number or name"));
            }
            // Leading zeros are dropped: 01 is the same node as 1.
            text.parse::<u64>().map_or_else(|_| text.to_owned(), |number| number.to_string())
        };
        let (from, to) = (node("src"), node("dst"));
        if let (Some(start), Some(end), Some(delay), Some(rate), false) =
            (start, end, delay, rate, id == Some(None))
        {
            let (start, end) = (Time::from_nanos(start), Time::from_nanos(end));
            entries.push(Entry {
                line,
                id: id.flatten(),
                from,
                to,
                start,
                end,
                rate,
                delay: Span::from_nanos(delay),
            });
        }
    }
    match errors.is_empty() {
        true => Ok(Content { entries, nodes: None }),
        false => Err(errors),
    }
}
