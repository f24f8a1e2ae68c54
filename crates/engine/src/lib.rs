//! The engine of bentpipe: the graph of stages and its event loop.

mod builder;
mod change;
mod check;
pub mod facts;
pub mod flows;
mod handovers;
mod host;
mod instantiate;
mod layout;
mod multicast;
mod network;
pub mod picture;
pub mod presets;
mod real_proxy;
mod routes;
pub mod scenario;
pub mod schema;
mod serving;
pub mod tables;

pub use bentpipe_networks::StageId;
pub use builder::Builder;
pub use change::changeable;
pub use check::warnings;
pub use host::Host;
pub use instantiate::{instantiate, instantiate_emulated, instantiate_ends, Emulated};
pub use network::{Graph, Network};
pub use real_proxy::{RealProxy, Side};
pub use serving::splits;
