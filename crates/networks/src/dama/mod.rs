//! A DVB-RCS star network (EN 301 790): terminals share a return link on demand.
//!
//! A packet of a terminal waits in its queue ([`terminal`]), is divided over the slots that the
//! terminal has in the superframe ([`slots`], [`frame`]) and reaches the gateway. A terminal has
//! its constant slots (CRA) from logon on; it requests what it needs beyond them ([`scheme`]) with
//! messages that travel like packets ([`message`]). The network control centre ([`ncc`]) divides
//! the slots ([`allocator`]), lays them out in the frame ([`plan`]) and sends the burst time plan
//! over the forward link ([`forward`]). [`timing`] determines how long that takes.
//!
//! The defaults are those of the study by M. Luglio, C. Roseti, F. Zampognaro, "Performance
//! evaluation of TCP-based applications over DVB-RCS DAMA schemes", Int. J. Satell. Commun.
//! Network. 2009; equation numbers refer to it.
//!
//! Limits: the whole network uses one scheme; a logoff message that is lost leaves the terminal
//! logged on at the control centre until it logs on again.

pub mod allocator;
mod board;
mod check;
pub mod config;
pub mod estimator;
mod facts;
pub mod forward;
pub mod frame;
mod members;
pub mod message;
pub mod ncc;
pub mod network;
pub mod plan;
pub mod requests;
pub mod scheme;
pub mod slots;
pub mod star;
pub mod terminal;
pub mod terminals;
pub mod timing;
pub mod traffic;
pub mod waits;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use network::{build, Star};

use bentpipe_core::{Table, Tables};

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&terminal::TRACE, &waits::TRACE, &ncc::TRACE];
    const REPORTS: &'static [&'static Table] = &[&terminal::REPORT, &ncc::REPORT];
}
