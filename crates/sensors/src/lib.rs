//! Sensor networks: motes that sample, the radio channel that they share, and queries whose
//! operators are placed on them.
//!
//! - [`ieee802154`]: frames on the air at 2450 MHz with unslotted CSMA-CA, acknowledgments and
//!   retries;
//! - [`query`]: the text of a stream query, a subset of SQL;
//! - [`plan`]: its operators, the nodes on which they are placed, and their cost;
//! - [`world`]: the signals that the motes sense;
//! - [`field`]: the motes and their sink, which run a plan.
//!
//! Everything is pure and gets the time from its caller, so it runs in simulations as well as
//! behind a real TCP server.

pub mod field;
pub mod ieee802154;
pub mod measure;
pub mod plan;
pub mod query;
pub mod world;
