//! Times, quantities, random streams, event queues and traces: the foundation of all bentpipe
//! models.
//!
//! Models are sans-I/O and get the time as an argument (`bentpipe_stage::Stage`). Nothing here
//! reads a clock, starts a thread or keeps global state; `scripts/wasm` proves in CI that the crate
//! and the models build for wasm.

pub mod address;
mod calendar;
mod document;
mod dscp;
mod kind;
pub mod math;
mod naming;
mod number;
mod problem;
mod quantity;
mod random;
mod text_or_table;
mod time;
mod trace;
mod wakes;
mod whole;

pub use address::{FlowId, NodeId};
pub use calendar::{Calendar, Due};
pub use dscp::Dscp;
pub use kind::{inline_table, name_alone, Sample};
pub use naming::{has_number, is_pattern, matches_pattern, natural_order, numbered, with_number};
pub use number::{Count, Fraction, Real};
pub use problem::{Problem, Problems};
pub use quantity::{
    units, Angle, ChannelRate, Distance, Frequency, Quantity, QuantityError, Rate, RateOrZero, Size, Speed,
    Units, UnitsByBase,
};
pub use random::{GaussMarkov, Stream, Streams};
pub use text_or_table::TEXT_OR_TABLE;
pub use time::{Span, Time};
pub use trace::{Column, Glimpse, Probe, Recorder, Report, Row, Seen, Sink, Table, Tables};
pub use wakes::Wakes;
pub use whole::Whole;
