//! ATM: connections between pairs of nodes over shared legs, such as LANs that are connected by
//! satellite.
//!
//! A packet, with the header of its encapsulation ([`bentpipe_link::framing::atm`]), becomes an
//! AAL5 frame ([`aal5`]). The frame is sent in cells of 53 bytes, including 48 bytes of payload.
//! The cells pass a chain of legs, from the adapter of one node over switches to the adapter of the
//! other node. Each leg ([`leg`]) has a rate, a propagation delay, errors, and optional
//! time-division access. Its buffer is measured in cells and supports low priority, early packet
//! discard and partial packet discard. A switch forwards each cell at once, without waiting for the
//! complete frame. At the first switch, a policer enforces the traffic contract ([`contract`],
//! [`gcra`]). The receiver delivers a packet when the last cell of its frame arrives and no cell is
//! missing or corrupted. If the last cell is missing, the next frame is lost, too, because the
//! receiver reassembles both frames as one.
//!
//! With `lan`, each node has its own Ethernet segment before its adapter. The segment carries
//! complete frames, which take 38 bytes more than the packet (preamble, header, checksum, gap) and
//! at least 84 bytes.
//!
//! Source: ITU-T I.361 (cells), I.363.5 (AAL5), I.371 (traffic control), I.432.1 (HEC); RFC 2684;
//! ATM Forum Traffic Management 4.0 and 4.1, and LAN Emulation over ATM 1.0.
//!
//! Several connections: the connections of `others` share the legs with the first connection. Ports
//! send cells of CBR first, then of VBR, ABR and UBR, and cells of one category in order of arrival
//! ([`switch`]). Each category has its own buffer at a port. Each connection has its own contract,
//! and its own access lines (`access`) and Ethernet segments at both ends, even if a node is the
//! end of several connections. Early and partial packet discard handle the frames of each
//! connection separately.
//!
//! Multicast: a node sends the packets of a group over a point-to-multipoint connection. The last
//! switch copies its cells ([`multicast`]).
//!
//! Available bit rate: the source of an ABR connection paces its cells by an allowed cell rate,
//! which resource management (RM) cells adjust ([`abr`]). The ports of the legs mark these cells by
//! an explicit rate, by CI and NI, or data cells by EFCI ([`marking`]).
//!
//! Deviations:
//!
//! - The priority between categories is strict, so a category without a policer can take the whole
//!   line from lower ones, and the minimum rate (MCR) of ABR is not reserved at ports.
//! - A line has no slots, so a cell starts as soon as the line is free.
//! - Call set-up, address resolution and operation cells (Q.2931, LE-ARP, I.610) are not modelled.
//! - A header with three or more wrong bits is always detected.
//! - Cells of ABR are not copied. Several leaves return RM cells, and a switch at which they meet
//!   would have to consolidate them (ATM Forum Traffic Management 4.1, section 5.10).
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
//! Two pairs of LANs that share an E1. The switch of the E1 first drops the cells with which one
//! pair exceeds its contract:
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
//!
//! Two ABR connections, which share an E1 by explicit rates:
//!
//! ```toml
//! [network.wan]
//! kind = "atm"
//! ends = ["library", "laboratory"]
//! access = { rate = "149.76 Mbit/s" }
//! legs = [{ rate = "2048 kbit/s", delay = "300 ms", marking = "explicit-rate" }]
//! contract = { category = "abr", peak = "2 Mbit/s", abr = { initial = "256 kbit/s" } }
//! others = [{ ends = ["shop", "warehouse"], contract = { category = "abr", peak = "2 Mbit/s" } }]
//! ```

pub mod aal5;
pub mod abr;
mod access_network;
pub mod cell;
#[cfg(test)]
mod competing;
pub mod config;
pub mod connection;
pub mod contract;
#[cfg(test)]
mod flow_control;
pub mod gcra;
pub mod lan;
pub mod leaf;
pub mod leg;
pub mod marking;
pub mod multicast;
pub mod stage;
pub mod switch;
#[cfg(test)]
mod tests;
pub mod transit;

pub use config::Config;

use bentpipe_core::{Table, Tables};

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&abr::TRACE];
    const REPORTS: &'static [&'static Table] = &[&connection::CONNECTION, &leg::LEG, &abr::REPORT];
}
