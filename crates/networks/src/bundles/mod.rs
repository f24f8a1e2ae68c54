//! A delay-tolerant network as an access network. Each packet that enters it becomes the payload of
//! a bundle, which agents at the nodes store, route and forward over the contacts of a plan, and
//! leaves the network as the original packet.
//!
//! The agents, their storage, routing and convergence layers are those of
//! [`bentpipe_dtn::network`]. The network is one stage with a port per node. A packet's DSCP gives
//! the bundle its priority: 0 is bulk, below 32 normal, from 32 on expedited.
//!
//! **Deviations.** The agents take no time. Data that they exchange for their choices (summary
//! vectors, predictabilities) costs nothing. Bundles are not fragmented, and one packet is one
//! bundle.

mod access_network;
mod config;
mod stage;

pub use config::Config;
pub use stage::{Agents, CUT_OFF, EXPIRED, FLOW, FULL, HOPS, REPORT, UNREACHABLE};

use bentpipe_core::{Table, Tables};

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&REPORT, &HOPS, &FLOW];
}
