//! A delay-tolerant network as an access network. Each packet that enters the network becomes the
//! payload of one bundle. Bundle agents at the nodes store and route the bundle and forward it over
//! the contacts of a contact plan. At the last node, the agent extracts the packet from the bundle.
//!
//! [`bentpipe_dtn::network`] implements the agents with their storage, routing and convergence
//! layers. The network is one stage with one port per node. The DSCP of a packet determines the
//! priority of its bundle: *bulk* for 0, *normal* for 1 to 31, and *expedited* for 32 to 63.
//!
//! **Deviations.** Agents process bundles in zero time. The routing data that agents exchange, such
//! as summary vectors and delivery predictabilities, uses no capacity of the contacts. Bundles are
//! not fragmented.

mod access_network;
mod config;
mod stage;

pub use config::Config;
pub use stage::{Agents, CUT_OFF, EXPIRED, FLOW, FULL, HOPS, REPORT, UNREACHABLE};

use bentpipe_core::{Table, Tables};

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&REPORT, &HOPS, &FLOW];
}
