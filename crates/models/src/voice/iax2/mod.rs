//! IAX2 (RFC 5456): signalling of calls and their media over one UDP port, sans-I/O.
//!
//! - [`frame`]: full frames, mini frames and trunks of them, read and written;
//! - [`exchange`]: calls between two exchanges: NEW to HANGUP, retransmissions, voice, trunking.
//!
//! Not here: authentication, registration, transfers, video, text, encryption.

pub mod exchange;
pub mod frame;

pub use exchange::{Call, Event, Exchange, Out, Trunk};
