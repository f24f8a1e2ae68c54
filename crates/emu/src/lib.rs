//! bentpipe's real clock. The engine and its models are those of the simulation; here they stand between real hosts:
//! network namespaces of this machine, with the kernel's TCP and any program in them.

mod attendance;
mod bridge;
pub mod calibrate;
mod clock;
mod commands;
pub mod doctor;
mod emulate;
mod error;
pub mod fidelity;
pub mod frame;
pub mod guest;
mod in_memory;
pub mod internet;
mod lateness;
mod live;
pub mod memory;
mod namespace;
mod netlink;
mod observer;
mod path;
mod pool;
pub mod port;
pub mod process;
mod streams;
mod sys;
pub mod tcp_memory;
pub mod traffic;
pub mod user;
mod variants;
mod wait;
mod wifi;

pub use attendance::Attendance;
pub use bridge::{Bridge, Ended, Handle};
pub use clock::{Clock, Scheduling, Timing};
pub use commands::Planned;
pub use emulate::{emulate, emulate_followed, Emulated, Error as EmulateError};
pub use error::Error;
pub use fidelity::{Fidelity, Verdict};
pub use in_memory::emulate_in_memory;
pub use lateness::Lateness;
pub use live::{Elsewhere, Live, LiveHost, Prepared, Setup, INTERFACE};
pub use namespace::Namespace;
pub use path::Path;
pub use variants::{Unknown, Variants};
