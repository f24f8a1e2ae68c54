//! Reports on the accuracy of an emulation: fidelity, memory, and the abilities of this machine.

pub mod doctor;
pub mod fidelity;
pub mod memory;
pub mod tcp_memory;
