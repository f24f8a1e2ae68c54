//! A DVB-RCS star network (EN 301 790): terminals share a return link on demand.
//!
//! A packet of a terminal waits in its queue ([`terminal`]), is cut over the slots that the terminal has in
//! the superframe ([`slots`], [`frame`]) and reaches the gateway. A terminal has its constant slots (CRA)
//! from logon on; what more it needs it asks for ([`category`]) with messages that travel as packets do
//! ([`message`]). The network control centre ([`ncc`]) divides the slots ([`allocator`]), lays them out in
//! the frame ([`plan`]) and sends the burst time plan over the forward link ([`forward`]). How long that
//! takes is [`timing`].
//!
//! The study after which the defaults are chosen is M. Luglio, C. Roseti, F. Zampognaro, "Performance
//! evaluation of TCP-based applications over DVB-RCS DAMA schemes", Int. J. Satell. Commun. Network. 2009;
//! equation numbers are its.
//!
//! Limits: the whole network asks by one scheme; a logoff that is lost leaves the terminal logged on at the control centre
//! until it logs on again.

pub mod allocator;
pub mod category;
mod check;
pub mod config;
pub mod estimator;
mod facts;
pub mod forward;
pub mod frame;
pub mod message;
pub mod ncc;
pub mod network;
pub mod plan;
pub mod requests;
pub mod slots;
pub mod star;
pub mod terminal;
pub mod timing;
pub mod traffic;
pub mod waits;
pub mod waveform;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use network::{build, Star};
