//! bentpipe's real clock. The engine and its models are those of the simulation; here they stand between real hosts:
//! network namespaces of this machine, with the kernel's TCP and any program in them.

mod bridge;
mod clock;
mod error;
pub mod frame;
pub mod internet;
mod lateness;
mod live;
mod namespace;
pub mod port;
pub mod process;
mod sys;
pub mod user;
mod variants;

pub use bridge::{Bridge, Ended, Handle};
pub use clock::{Clock, Scheduling};
pub use error::Error;
pub use lateness::Lateness;
pub use live::{Live, LiveHost, Prepared, Setup, INTERFACE};
pub use namespace::Namespace;
pub use variants::{Unknown, Variants};
