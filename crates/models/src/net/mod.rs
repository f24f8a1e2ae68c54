//! The network layer: routers.

pub mod router;
