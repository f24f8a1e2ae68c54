//! A bundle agent for real hosts (BPv7, RFC 9171) over TCPCL version 4, MTCP, STCP, UDP and LTP. It
//! stores bundles on disk, and routes them by a table or by contact graph routing over a contact
//! plan.
//!
//! The crate `bp7` encodes and decodes bundles. The agent shares the convergence layers
//! ([`bentpipe_dtn::convergence`]), LTP ([`bentpipe_dtn::ltp`]) and routing
//! ([`bentpipe_dtn::routing`]) with the simulator.

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
