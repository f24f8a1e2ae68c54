//! The run folder: the results of one run of one scenario, in the same form for every instrument.
//!
//! | file | what |
//! | --- | --- |
//! | `provenance.json` | who made it, from what, when, at what cost, and whether it is complete ([`Provenance`]) |
//! | `scenario.toml` | the scenario as resolved |
//! | `summary.json` | all report tables, the packets created, consumed, dropped and held ([`Outcome`](bentpipe_outcome::Outcome)) |
//! | `flows.parquet` | one row per flow: the report tables about flows, joined |
//! | `tables/NAME.parquet` | the other report tables |
//! | `traces/NAME.parquet` | one row per recorded event: `time`, the entity's name, the table's columns |
//! | `packets.pcapng` | captured packets, if asked for ([`Capture`](bentpipe_stage::Capture)) |
//!
//! Everything that varies between two runs of one scenario, seed and version (times, machine,
//! command line) is in `provenance.json` only, so that all other files are equal byte for byte.
//!
//! `provenance.json` is written first and says `running`; a folder is complete only when it says
//! `complete`. Every Parquet file ends in a valid footer after each row group, so that even a
//! killed run can be read up to the last one. Writing is safe against the death of the process, not
//! against that of the machine: nothing is synced.
//!
//! Units and meanings of the columns are in each Parquet file, under the key `bentpipe` of its
//! metadata, as JSON.

mod capture;
mod columns;
mod deltas;
mod error;
mod folder;
mod headers;
mod names;
mod pages;
mod pcapng;
mod provenance;
mod reals;
mod table_file;
mod tables;
mod traces;

pub use capture::{CaptureFile, CaptureOptions, PacketCapture};
pub use error::ResultsError;
pub use folder::{Cost, Ending, Existing, RunFolder};
pub use headers::CONTROL_PORT;
pub use provenance::{utc, Host, Provenance, Status};
pub use traces::{TraceSink, Traces, Written};
