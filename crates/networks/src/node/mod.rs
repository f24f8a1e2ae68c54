//! Models of node functions: routing, traffic conditioning at the edge of a DiffServ domain,
//! proxies, services, and the gate to a real host.

pub mod edge;
pub mod gate;
pub mod proxy;
pub mod router;
pub mod service;
