//! ATM: one connection between two nodes, such as LAN islands that a satellite joins.
//!
//! A packet becomes an AAL5 frame ([`aal5`]) of cells of 53 bytes, 48 of them payload, behind the header of its encapsulation
//! ([`crate::link::framing::atm`]). The cells pass a chain of legs: from the adapter of one node over switches to that of the
//! other. Each leg has a buffer in cells, with low priority, early and partial packet discard, a rate, a propagation delay,
//! errors, and time-division access if wanted ([`leg`]). A switch passes cells on one by one, so a frame is not held up as a whole.
//! At the first switch a policer enforces the traffic contract ([`contract`], [`gcra`]). The receiver delivers a packet
//! when the last cell of its frame arrives and no cell of it is missing or spoiled; if the last cell is missing, the next frame is
//! lost with it, since the receiver takes both for one.
//!
//! With `lan`, each node stands on an Ethernet segment of its own in front of its adapter, which passes on whole frames: 38 bytes
//! more than the packet (preamble, header, checksum, gap), at least 84.
//!
//! Source: ITU-T I.361 (cells), I.363.5 (AAL5), I.371 (traffic control), I.432.1 (HEC); RFC 2684; ATM Forum Traffic Management 4.0
//! and LAN Emulation over ATM 1.0.
//!
//! Deviations: no other connection shares the legs; a line has no slots of its own, so that a cell starts as soon as the line is free;
//! set-up, address resolution and operation cells (Q.2931, LE-ARP, I.610) take neither time nor cells; a header with three or more
//! wrong bits is always noticed. Nothing changes during a run.
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

pub mod aal5;
pub mod cell;
pub mod config;
pub mod contract;
pub mod gcra;
pub mod leg;
pub mod stage;
#[cfg(test)]
mod tests;

pub use config::Config;
