//! Satellites as routers, with links that come up and go down.
//!
//! Satellites move on their orbits ([`bentpipe_orbit`]). The existence of links follows from the
//! positions ([`topology`]) and changes at the roots of their conditions. Packets go from a site up
//! to the satellite that serves it, over inter-satellite links, and down to the site through which
//! their destination is reached, on the shortest path ([`routes`]). Each link has its own queue,
//! rate and errors. Its delay is given by its length when a packet's last bit is sent
//! ([`carrier`]). Packets keep their order within a link; when the path changes, later packets may
//! overtake earlier ones.
//!
//! The whole constellation is one stage. Satellites and links without packets cost no events,
//! however many there are.

mod access_network;
pub mod balance;
pub mod carrier;
pub mod choice;
pub(crate) mod config;
mod facts;
mod flights;
pub mod forwarding;
pub mod graph;
mod groups;
pub mod isl;
mod lane;
mod path;
mod ranging;
mod remarks;
pub mod routes;
pub mod serving;
mod stage;
pub mod topology;
pub mod view;

pub use config::{Config, GroundSite, Gsl, Handover, Routing};
pub use path::{FlowPath, FLOW, PATH};
pub use routes::NO_PATH;
pub use serving::{HANDOVER, SITE};
pub use stage::{Constellation, Parts, HANDED_OVER, ISL_DOWN, NO_SATELLITE};

use bentpipe_core::{Table, Tables};

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&HANDOVER, &PATH];
    const REPORTS: &'static [&'static Table] = &[&FLOW, &SITE];
}
