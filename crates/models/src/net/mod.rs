//! The network layer: routers.

pub mod gate;
pub mod router;
