//! What every bentpipe model is built on.
//!
//! Models are sans-I/O and told the time: see [`Stage`]. Nothing here reads a clock, starts a thread or
//! keeps a global; the crate and `bentpipe-models` build for wasm, which CI uses as the proof.

pub mod address;
pub mod checksum;
mod document;
mod dscp;
mod kind;
mod packet;
mod problem;
mod quantity;
mod random;
mod stage;
mod time;
mod trace;
mod whole;

pub use dscp::Dscp;
pub use kind::name_alone;
pub use packet::{
    Body, Ecn, FlowId, Message, NodeId, Packet, QuickStart, SackBlocks, Segment, SegmentFlags,
    SegmentOptions, Snack, Spoiled, Tfrc, TfrcFeedback, Timestamps,
};
pub use problem::{Problem, Problems};
pub use quantity::{Angle, Count, Distance, Fraction, Quantity, QuantityError, Rate, RateOrZero, Real, Size};
pub use random::{Stream, Streams};
pub use stage::{Capture, Change, DropReason, Held, Leaving, Loss, Outbox, Port, Sent, Stage, Totals};
pub use time::{Span, Time};
pub use trace::{Column, Probe, Recorder, Report, Row, Sink, Table};
pub use whole::Whole;
