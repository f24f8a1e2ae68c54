//! Satellites as routers, with links that come up and go down.
//!
//! Satellites move on their orbits ([`bentpipe_orbit`]); which links exist follows from their
//! positions ([`topology`]), to the root of each condition. Packets go from a site to the satellite
//! that serves it, over inter-satellite links, and down to the site behind which their destination
//! lies, on the shortest path ([`routes`]). Each link has a queue, a rate and errors of its own,
//! and the delay of its length at the moment when a packet's last bit leaves ([`carrier`]). Packets
//! keep their order within a link; when the path changes, later ones may overtake.
//!
//! All of it is one stage: whatever carries no packets costs nothing, however many satellites there
//! are.

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
