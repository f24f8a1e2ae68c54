//! A bundle agent for real hosts (BPv7, RFC 9171) over TCPCL version 4, MTCP, STCP, UDP and LTP,
//! with its bundles on disk. Bundles are routed by a table, or by contact graph routing over a
//! contact plan.
//!
//! The wire format of bundles comes from the crate `bp7`. The convergence layers are
//! [`bentpipe_dtn::convergence`], and LTP and routing are [`bentpipe_dtn::ltp`] and
//! [`bentpipe_dtn::routing`]: code shared with the simulator.

pub mod agent;
pub mod client;
pub mod config;
pub mod connection;
pub mod ltp;
pub mod node;
pub mod schedule;
pub mod security;
pub mod store;

pub use agent::Counters;
pub use config::Config;
pub use node::Node;
