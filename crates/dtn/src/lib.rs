//! Delay-tolerant networking: contact plans and routes, bundles and the convergence layers that
//! carry them, and the frames of space links.
//!
//! Everything here is pure and sans-I/O: time is an argument, and datagrams and bytes go in and
//! come out as values. So the same code runs in a simulation, in an emulation and in the agent for
//! real hosts. Of the simulator it needs only times and random streams, and it compiles in seconds.

pub mod agent;
pub mod bundle;
pub mod chunk;
pub mod coding;
pub mod contacts;
pub mod convergence;
pub mod frames;
pub mod ltp;
pub mod network;
pub mod ranges;
pub mod routing;
pub mod sdnv;
