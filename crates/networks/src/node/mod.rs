//! Models at a node: routing, traffic conditioning at the edge of a DiffServ domain, proxies,
//! services, and the gate to real traffic.

pub mod edge;
pub mod gate;
pub mod proxy;
pub mod router;
pub mod service;
