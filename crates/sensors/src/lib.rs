//! Sensor networks: motes that sample, the radio channel that they share, and queries with
//! operators that run on the motes.
//!
//! - [`ieee802154`]: the radio channel at 2450 MHz with unslotted CSMA-CA, acknowledgments and
//!   retransmissions.
//! - [`query`]: stream queries in a subset of SQL.
//! - [`plan`]: the operators of a query, their placement on nodes, and their cost.
//! - [`world`]: the signals that motes sense.
//! - [`field`]: motes and a sink that run a plan.
//!
//! The crate does no I/O and reads no clock: callers pass the time. So it runs in simulations and
//! in a real TCP server.

pub mod field;
pub mod ieee802154;
pub mod measure;
pub mod plan;
pub mod query;
pub mod world;
