//! The tests of the real clock, in one program, because each program compiles the models that it
//! calls once more. Only those of `traffic.rs` have a program of their own, since they count its
//! open files.

mod commands;
mod emulate;
mod fidelity;
mod kinds;
mod real_hosts;
mod rtp;
mod spoiled;
mod tunnel;
