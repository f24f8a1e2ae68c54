//! The tests of the real clock, in one program, since each further program would compile the models
//! again. Only `traffic.rs` is a separate program, because its tests count the open files of the
//! process.

mod commands;
mod corrupted;
mod emulate;
mod fidelity;
mod kinds;
mod real_hosts;
mod rtp;
mod tunnel;
