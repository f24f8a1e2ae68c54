//! A DVB-RCS star network (EN 301 790): terminals share a return link by demand assignment.
//!
//! A terminal's packet waits in the terminal's queue ([`terminal`]), is fragmented over the
//! terminal's slots in the superframe ([`slots`], [`frame`]) and reaches the gateway. A terminal
//! has its constant slots (CRA) from logon on. It requests further slots ([`scheme`]) with messages
//! that are sent as packets ([`message`]). The network control centre ([`ncc`]) divides the slots
//! ([`allocator`]), lays them out in the frame ([`plan`]) and sends the burst time plan over the
//! forward link ([`forward`]). [`timing`] derives the duration of this exchange.
//!
//! The defaults are those of the study by M. Luglio, C. Roseti, F. Zampognaro, "Performance
//! evaluation of TCP-based applications over DVB-RCS DAMA schemes", Int. J. Satell. Commun.
//! Network. 2009; equation numbers refer to it.
//!
//! Terminals of one network may have different schemes; one control centre and one allocator serve
//! all of them.
//!
//! Limits: if a logoff message is lost, the control centre keeps
//! the terminal logged on until the terminal logs on again.

pub mod allocator;
mod board;
mod buffered;
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
