//! End-to-end transport protocols.

pub mod flow;
pub mod tcp;
