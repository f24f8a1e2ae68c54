//! IAX2 (RFC 5456): signalling of calls and their media over one UDP port, sans-I/O.
//!
//! - [`frame`]: a parser and a writer for full frames, mini frames and trunk frames;
//! - [`exchange`]: calls between two exchanges from NEW to HANGUP, with retransmissions, speech and
//!   trunks;
//! - [`events`]: events of an exchange, and datagrams to send.
//!
//! Not implemented: authentication (all registrations are accepted), transfers, video, text and
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
