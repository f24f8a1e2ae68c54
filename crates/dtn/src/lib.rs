//! Delay-tolerant networking: contact plans and routes, bundles and the convergence layers that
//! carry them, and the frames of space links.
//!
//! The crate does no I/O and reads no clock: callers pass the time and the received data, and get
//! the data to send. So the same code runs in simulations, in emulations and in the agent for real
//! hosts. It depends on no other part of the simulator than `bentpipe_core`, and compiles in
//! seconds.

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
