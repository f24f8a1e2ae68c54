//! Satellites as routers, with links that come and go.
//!
//! Satellites move as their orbits say ([`crate::orbit`]); which links there are follows from where they are ([`topology`]), to the root
//! of each condition. Packets go from a site to the satellite that serves it, over inter-satellite links, and down to the site behind
//! which their destination lies, on the way that is shortest ([`routes`]). Each link has a queue, a rate and errors of its own, and
//! the delay of its length at the moment at which a packet's last bit leaves ([`carrier`]). Inside a link packets keep their
//! order; when the way changes, later ones may overtake.
//!
//! All of it is one stage: what does not carry packets costs nothing, however many satellites there are.

mod access_network;
pub mod balance;
pub mod carrier;
pub mod choice;
mod config;
pub mod forwarding;
pub mod isl;
mod remarks;
pub mod routes;
mod stage;
pub mod topology;
pub mod view;
mod way;

pub use config::{Config, GroundSite, Gsl, Handover, Routing};
pub use stage::{Constellation, Parts, HANDED_OVER, HANDOVER, NO_PATH, NO_SATELLITE, SITE, VANISHED};
pub use way::{FlowPath, FLOW, PATH};
