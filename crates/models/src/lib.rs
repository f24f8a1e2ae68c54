//! bentpipe's models, in folders in the order in which a packet meets them. Pure: no clock, no thread, no I/O.

pub mod app;
pub mod channel;
pub mod link;
pub mod mac;
pub mod net;
pub mod orbit;
pub mod queue;
mod supply;
pub mod transport;

pub use supply::Supply;
