//! Plans in TOML, with quantities as in scenarios.
//!
//! ```toml
//! [[contact]]
//! from = "orbiter"
//! to = "earth"
//! start = "2 h"
//! end = "6 h"
//! rate = "64 kbit/s"
//! delay = "12.5 min"
//! ```

use super::{Content, Lines};
use crate::contacts::number::BitRate;
use crate::contacts::{Entry, ParseError};
use bentpipe_core::{Rate, Span, Time};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    nodes: Option<Vec<String>>,
    #[serde(default)]
    contact: Vec<toml::Spanned<Row>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: Option<u64>,
    from: String,
    to: String,
    start: Span,
    end: Span,
    rate: Rate,
    delay: Span,
}

pub(super) fn read(text: &str) -> Result<Content, Vec<ParseError>> {
    let lines = Lines::new(text);
    let file: File = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| lines.of(span.start));
        let said = error.message().replace('\n', "; ");
        vec![ParseError::at(
            line,
            format!("{said}; allowed: tables [[contact]] with from, to, start, end, rate, delay"),
        )]
    })?;
    let entries = file.contact.into_iter().map(|row| {
        let line = lines.of(row.span().start);
        let row = row.into_inner();
        Entry {
            line,
            id: row.id,
            from: row.from,
            to: row.to,
            start: Time::ZERO + row.start,
            end: Time::ZERO + row.end,
            rate: BitRate::of(row.rate),
            delay: row.delay,
        }
    });
    Ok(Content { entries: entries.collect(), nodes: file.nodes })
}
