//! The outcome of a run, independent of the folder or page that presents it: the content of
//! `summary.json` ([`Outcome`]) and the columns about each flow ([`FlowColumns`]).

mod flow_columns;
mod report_tables;
mod summary;

pub use flow_columns::{FlowColumn, FlowColumns, FlowValues};
pub use report_tables::{ReportTables, Rows};
pub use summary::Outcome;
