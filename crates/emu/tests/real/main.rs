//! The tests of the real clock in one program, because each program would compile the models that
//! it calls again. Only `traffic.rs` is a program of its own, because its tests count the open
//! files of the process.

mod commands;
mod emulate;
mod fidelity;
mod kinds;
mod real_hosts;
mod rtp;
mod spoiled;
mod tunnel;
