//! The Transmission Control Protocol (RFC 9293), modelled on Linux.
//!
//! [`endpoint`] is the stage: one end of a flow, an application over a [`connection`]. A connection
//! does no I/O: it takes segments, timers and the application's requests, and returns the segments
//! to send. It combines a [`sender`] (the data that may be sent now: [`scoreboard`] for outstanding
//! data, [`recovery`] for lost data, [`crate::sending::rtt`] for the retransmission time-out,
//! [`bentpipe_congestion`] for the window) and a [`receiver`] (reassembly and acknowledgments).
//!
//! Within a connection, places in the byte stream are 64-bit positions that count from the initial
//! sequence number: the SYN has position 0, the first byte 1, and the FIN follows the last byte.
//! Only [`header`] uses their 32 bits on the wire.

mod bursts;
pub mod config;
pub mod connection;
mod delayed_ack;
pub mod ecn;
pub mod endpoint;
mod events;
mod factory;
pub mod handover;
pub mod handshake;
pub mod header;
mod nagle;
mod order;
mod packet_ends;
mod probe;
mod rack;
mod rate_halving;
pub mod receiver;
pub mod recovery;
pub mod reset;
mod right_sizing;
pub mod scoreboard;
pub mod sender;
mod snack;
mod timer;
mod undo;
mod window;
mod writer;

pub use config::{Config, Side};
pub use endpoint::Endpoint;
pub use factory::Supply;
