//! Flows of an emulation: traffic over sockets of the kernel, programs, and congestion controls.

pub(crate) mod commands;
pub mod traffic;
pub(crate) mod variants;
