//! bentpipe's real clock. The engine and its models are those of the simulation; here they stand between real hosts:
//! network namespaces of this machine, with the kernel's TCP and any program in them.

mod bridge;
mod clock;
pub mod frame;
mod lateness;
mod namespace;
pub mod port;
mod sys;

pub use bridge::{Bridge, Handle};
pub use clock::{Clock, Scheduling};
pub use lateness::Lateness;
pub use namespace::Namespace;
