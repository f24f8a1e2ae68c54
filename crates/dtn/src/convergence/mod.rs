//! Convergence layers over TCP, which carry bundles between agents of real hosts. They are
//! sans-I/O: bytes from a connection go in, and bytes for it and events come out.
//!
//! UDP needs only the datagram, which is the bundle. LTP is in [`crate::ltp`].

pub mod mtcp;
pub mod stcp;
pub mod stream;
pub mod tcpcl;
