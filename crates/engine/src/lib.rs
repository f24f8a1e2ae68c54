//! bentpipe's engine: the graph of stages and the one event loop.

mod network;
mod wakes;

pub use network::{Graph, Network, StageId};
pub use wakes::Wakes;
