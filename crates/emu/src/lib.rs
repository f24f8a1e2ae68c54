//! bentpipe's real clock. The engine and its models are those of the simulation. Here they connect
//! real hosts: network namespaces of this machine, with the kernel's TCP and any programs.

mod bridge;
pub mod calibrate;
pub mod clock;
mod emulate;
mod error;
pub mod flows;
pub mod frame;
pub mod guest;
pub mod host;
mod in_memory;
mod live;
mod observer;
mod path;
mod pool;
mod proxy;
pub mod report;
mod streams;
mod sys;
mod wifi;

pub use bridge::{Bridge, Ended, Handle};
pub use clock::attendance::Attendance;
pub use clock::lateness::Lateness;
pub use clock::{Clock, Scheduling, Timing};
pub use emulate::{emulate, emulate_followed, Emulated, Error as EmulateError};
pub use error::Error;
pub use flows::commands::Planned;
pub use flows::traffic::unapplied::simulated_only;
pub use flows::variants::{Unknown, Variants};
pub use host::live::{LiveHost, INTERFACE};
pub use host::namespace::Namespace;
pub use in_memory::emulate_in_memory;
pub use live::{Elsewhere, Live, Prepared, Setup};
pub use path::Path;
pub use report::fidelity::{Fidelity, Verdict};
