//! {Title}: what is traced, in a sentence.

use bentpipe_core::{Column, Table};

/// {Title}. A stage writes rows through the `Probe` that the engine gives it for this table.
pub static TRACE: Table = Table {
    name: "{kebab}",
    entity: "link",
    about: "when a row is written",
    columns: &[Column::whole("value", "1", "what it says")],
};
