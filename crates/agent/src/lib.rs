//! A bundle agent for real hosts (BPv7, RFC 9171) over TCPCL version 4, MTCP and UDP, with its bundles on disk.
//!
//! The wire format of bundles is that of the crate `bp7`; the convergence layers are those of [`bentpipe_dtn::convergence`].

pub mod agent;
pub mod client;
pub mod config;
pub mod connection;
pub mod node;
pub mod store;

pub use agent::Counters;
pub use config::Config;
pub use node::Node;
