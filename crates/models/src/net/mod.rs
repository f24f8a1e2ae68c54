//! The network layer: routers, and what they grant.

pub mod gate;
pub mod quick_start;
pub mod router;
