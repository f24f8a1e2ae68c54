//! The network layer: routers, their edges, what they grant, proxies at them, the choice between links, and constellations.

pub mod access;
pub mod atm;
pub mod bundles;
pub mod constellation;
pub mod edge;
pub mod fate;
pub mod gate;
pub mod proxy;
pub mod router;
