//! ATM: connections between pairs of nodes over shared legs, such as LAN islands that a satellite
//! joins.
//!
//! A packet becomes an AAL5 frame ([`aal5`]) of cells of 53 bytes, 48 of them payload, behind the
//! header of its encapsulation ([`bentpipe_link::framing::atm`]). The cells pass a chain of legs,
//! from the adapter of one node over switches to that of the other. Each leg has a buffer in cells,
//! with low priority, early and partial packet discard, a rate, a propagation delay, errors, and
//! optional time-division access ([`leg`]). A switch forwards each cell at once, without waiting
//! for the whole frame. At the first switch a policer enforces the traffic contract ([`contract`],
//! [`gcra`]). The receiver delivers a packet when the last cell of its frame arrives and no cell is
//! missing or corrupted. If the last cell is missing, the next frame is lost with it, since the
//! receiver takes both for one.
//!
//! With `lan`, each node has an Ethernet segment of its own in front of its adapter, which carries
//! whole frames: 38 bytes more than the packet (preamble, header, checksum, gap), and at least 84.
//!
//! Source: ITU-T I.361 (cells), I.363.5 (AAL5), I.371 (traffic control), I.432.1 (HEC); RFC 2684;
//! ATM Forum Traffic Management 4.0 and LAN Emulation over ATM 1.0.
//!
//! Several connections: those of `others` share the legs with the first, and their cells compete
//! for the buffers in order of arrival. Each has access lines (`access`) and Ethernet segments of
//! its own at both ends, even if a node is the end of several, and a contract of its own. Discards
//! of frames depend on the connection's own frame.
//!
//! Deviations: buffers serve cells in order of arrival whatever their service category, so the
//! guarantees of a contract come from the policers and from low priority, not from a scheduler; a
//! line has no slots of its own, so a cell starts as soon as the line is free; set-up, address
//! resolution and operation cells (Q.2931, LE-ARP, I.610) take neither time nor cells; a header
//! with three or more wrong bits is always noticed.
//!
//! ```toml
//! [network.wan]
//! kind = "atm"
//! ends = ["library", "laboratory"]
//! lan = "10 Mbit/s"
//! encapsulation = "lane"
//! legs = [
//!     { rate = "149.76 Mbit/s" },
//!     { rate = "2048 kbit/s", delay = "200 ms", error = { kind = "bit", rate = 1e-7 } },
//!     { rate = "149.76 Mbit/s" },
//! ]
//! contract = { category = "cbr", peak = "1920 kbit/s", shaping = true }
//! ```
//!
//! Two pairs of islands that share an E1, whose switch first drops cells that one pair sends beyond
//! its contract:
//!
//! ```toml
//! [network.wan]
//! kind = "atm"
//! ends = ["library", "laboratory"]
//! lan = "10 Mbit/s"
//! access = { rate = "149.76 Mbit/s" }
//! legs = [{ rate = "2048 kbit/s", delay = "250 ms", buffer = 400, low_priority = 200, early = 350, partial = true }]
//! contract = { category = "vbr", peak = "2 Mbit/s", sustainable = "1 Mbit/s", burst = 200, excess = "tag" }
//! others = [{ ends = ["shop", "warehouse"], contract = { category = "cbr", peak = "512 kbit/s" } }]
//! ```

pub mod aal5;
mod access_network;
pub mod cell;
#[cfg(test)]
mod competing;
pub mod config;
pub mod connection;
pub mod contract;
pub mod gcra;
pub mod lan;
pub mod leg;
pub mod stage;
#[cfg(test)]
mod tests;

pub use config::Config;

use bentpipe_core::{Table, Tables};

impl Tables for Config {
    const REPORTS: &'static [&'static Table] = &[&connection::CONNECTION, &leg::LEG];
}
