//! Uses BPF to extend and observe TCP in the running Linux kernel.
//!
//! - [`register`] loads one of bentpipe's congestion controls into the kernel, from the C file that
//!   also drives simulated connections. It stays until the returned value is dropped or the process
//!   ends, even by a crash.
//! - [`Log`] reports the events of the kernel's connections; [`Rows`] turns them into the rows that
//!   the simulation writes to its trace `tcp`.
//! - [`available`] checks whether the kernel allows this process to do both, and returns a remedy
//!   if not.
//!
//! This needs root, or the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN in the initial user
//! namespace, and Linux 6.4 or later with type information (BTF), which distributions enable.

#[cfg(test)]
extern crate self as bentpipe_bpf;

mod available;
#[cfg(feature = "bpf")]
mod bpf;
#[cfg(not(feature = "bpf"))]
#[path = "without.rs"]
mod bpf;
mod congestion;
mod event;
mod log;
mod objects;
mod rows;

pub use available::{available, Unavailable};
pub use congestion::{list, register, register_object, Error, Registered, Skipped, Start};
pub use event::{Event, Kind};
pub use log::{Log, LogError, Namespace};
pub use rows::{Row, Rows};

/// Returns true if this kernel skips BPF programs, without counting them, while process 1 is
/// running. Such kernels have a member `init_owned` in their type `bpf_prog_aux`.
pub fn skips_programs() -> bool {
    bpf::skips_programs()
}
