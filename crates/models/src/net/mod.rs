//! The network layer: routers, what they grant, and constellations of them.

pub mod constellation;
pub mod gate;
pub mod quick_start;
pub mod router;
