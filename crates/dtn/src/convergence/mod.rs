//! Convergence layers over TCP, which carry bundles between agents on real hosts. They do no I/O:
//! callers pass the received bytes, and get the bytes to send and events.
//!
//! UDP needs no code here, since each datagram is a bundle. LTP is in [`crate::ltp`].

pub mod mtcp;
pub mod stcp;
pub mod stream;
pub mod tcpcl;
