//! End-to-end transport protocols.

pub mod flow;
pub mod hosting;
pub mod tcp;
pub mod udp;
