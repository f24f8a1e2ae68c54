//! SIP (RFC 3261): signalling of calls, sans-I/O. The same code signals the simulated calls of a
//! trunk (`bentpipe-transport`, module `telephony`) and answers real telephones.
//!
//! - [`message`]: a parser and a writer for requests and responses;
//! - [`transaction`]: retransmissions and time-outs (section 17);
//! - [`sdp`]: addresses, ports and codecs of media (RFC 4566, offers and answers as in RFC 3264);
//! - [`agent`]: a user agent with its dialogs: calls, their ends, registrations;
//! - [`registrar`]: the addresses of registered users.
//!
//! Not implemented: authentication, TLS, forking, redirection (a 3xx ends a call like a failure),
//! session timers, and reliable provisional responses. An agent is not a proxy: a private branch
//! exchange answers one call and places another.

pub mod agent;
pub mod message;
pub mod registrar;
pub mod sdp;
pub mod transaction;

#[cfg(test)]
mod tests;

pub use agent::{Agent, Call, Event, Identity, Out};
pub use message::Message;
pub use transaction::Timers;
