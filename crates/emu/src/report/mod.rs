//! How far an emulation can be trusted: fidelity, memory, and what this machine can do.

pub mod doctor;
pub mod fidelity;
pub mod memory;
pub mod tcp_memory;
