//! bentpipe's engine: the graph of stages and the one event loop.

mod builder;
mod network;
mod routes;
mod wakes;

pub use builder::{Builder, Wanted};
pub use network::{Graph, Network, StageId};
pub use wakes::Wakes;
