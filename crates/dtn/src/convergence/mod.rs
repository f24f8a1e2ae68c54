//! Convergence layers over TCP, which carry bundles between agents of real hosts. Sans-I/O: bytes
//! from a connection go in, bytes for it and events come out.
//!
//! UDP needs nothing but the datagram, which is the bundle. LTP is in [`crate::ltp`].

pub mod mtcp;
pub mod stcp;
pub mod stream;
pub mod tcpcl;
