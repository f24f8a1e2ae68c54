//! IAX2 (RFC 5456): signalling of calls and their media over one UDP port, sans-I/O.
//!
//! - [`frame`]: full frames, mini frames and trunk frames, read and written;
//! - [`exchange`]: calls between two exchanges from NEW to HANGUP, with retransmissions, speech and
//!   trunks;
//! - [`events`]: events of an exchange, and datagrams to send.
//!
//! Not implemented: authentication (registrations are accepted without it), transfers, video, text,
//! encryption.

mod arrivals;
pub mod events;
pub mod exchange;
pub mod frame;
mod leg;

#[cfg(test)]
mod tests;

pub use events::{cause, Call, Event, Out, OutgoingDatagram, Trunk};
pub use exchange::Exchange;
