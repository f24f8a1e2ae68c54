//! The tests of the real clock, in one program, because each program compiles the models that it calls once more.

mod commands;
mod emulate;
mod fidelity;
mod kinds;
mod real_hosts;
mod rtp;
mod spoiled;
mod traffic;
mod tunnel;
