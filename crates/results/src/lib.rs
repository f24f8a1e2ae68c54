//! The run folder: the results of one run of one scenario, in the same form for every instrument.
//!
//! | file | content |
//! | --- | --- |
//! | `provenance.json` | origin, time, cost and status of the run ([`Provenance`]) |
//! | `scenario.toml` | the resolved scenario |
//! | `summary.json` | all report tables, and the packets created, consumed, dropped and held ([`Outcome`](bentpipe_outcome::Outcome)) |
//! | `flows.parquet` | one row per flow: the report tables about flows, joined |
//! | `tables/NAME.parquet` | the other report tables |
//! | `traces/NAME.parquet` | one row per recorded event: `time`, the entity's name, the table's columns |
//! | `packets.pcapng` | captured packets, if enabled ([`Capture`](bentpipe_stage::Capture)) |
//!
//! All differences between two runs of the same scenario, seed and version (times, machine, command
//! line) are in `provenance.json`. All other files are equal byte for byte.
//!
//! `provenance.json` is written first, with the status `running`. A folder is complete only if the
//! status is `complete`. Every Parquet file has a valid footer after each row group, so that even
//! the files of a killed run can be read up to the last row group. Results survive a crash of the
//! process, but not a crash of the machine: files are not synced to disk.
//!
//! Units and descriptions of the columns are in the metadata of each Parquet file, as JSON under
//! the key `bentpipe`.

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
