//! The uses of BPF with the TCP of the running Linux kernel.
//!
//! - [`register`] gives the kernel one of bentpipe's congestion controls, the same C file that
//!   drives simulated connections, until the returned value is dropped or the process ends, however
//!   it ends.
//! - [`Log`] reports the events of the kernel's connections; [`Rows`] turns them into the rows that
//!   the simulation writes to its trace `tcp`.
//! - [`available`] checks whether the kernel lets this process do so, and returns the remedy if
//!   not.
//!
//! This needs root, or the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN in the machine's own
//! user namespace, and Linux 6.4 with its type information (BTF), which distributions have.

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

/// Returns true if this kernel skips BPF programs, uncounted, while its process 1 is the current
/// one. Such kernels have a member `init_owned` in their type `bpf_prog_aux`.
pub fn skips_programs() -> bool {
    bpf::skips_programs()
}
