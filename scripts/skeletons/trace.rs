//! {Title}: the traced event, in a sentence.

use bentpipe_core::{Column, Table};

/// {Title}. A stage writes rows through this table's `Probe`, which the engine creates.
pub static TRACE: Table = Table {
    name: "{kebab}",
    entity: "link",
    about: "when a row is written",
    columns: &[Column::whole("value", "1", "meaning of the value")],
};
