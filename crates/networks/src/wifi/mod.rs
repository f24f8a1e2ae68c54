//! Wi-Fi: stations that share a radio channel by IEEE 802.11's distributed coordination function.
//!
//! - **Physical layer** ([`phy`]): 802.11b, a, g and n with their rates and the exact duration of
//!   each frame.
//! - **Access** ([`air`]): a station listens before it sends, and waits for DIFS (EIFS after a
//!   frame that it could not read) and a random number of slots. The key `hears` defines the
//!   stations that hear each other, so hidden stations are possible. With `edca`, each station has
//!   four access categories by DSCP (RFC 8325).
//! - **Exchanges** ([`cell`]): data and acknowledgment, RTS and CTS, aggregates (A-MPDU) with block
//!   acknowledgments, retransmissions up to a limit, and detection of duplicates.
//! - **Rates** ([`adaptation`]): each sender chooses the rate for each receiver.
//! - **Errors** ([`bentpipe_link::channel`]): each direction between two stations has its own error
//!   process. The error process acts on every data frame, and optionally on control frames.
//!   Corrupted frames are retransmitted, so packets are lost only at the retry limit.
//!
//! The overhead per packet is 8 bytes of LLC/SNAP and 28 bytes of MAC header and check sequence (30
//! bytes with QoS: `edca` or 802.11n).
//!
//! Source: IEEE 802.11-2016, clauses 10 (MAC) and 15 to 19 (PHYs); G. Bianchi, "Performance
//! Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC 18(3), 2000; RFC 8325
//! (DSCP to access categories).
//!
//! Deviations and limits:
//!
//! - Two frames that overlap at a receiver are both lost there (no capture). Carrier sense is
//!   immediate.
//! - Errors of the channel affect only the addressed station. Every other station reads every frame
//!   that does not overlap with another frame.
//! - The model has no beacons, association, power saving and encryption. An emulation with the
//!   Wi-Fi of the Linux kernel has them.
//! - The access point uses the same EDCA parameters as the stations.
//! - Block acknowledgment sessions exist from the beginning. A receiver is informed at once when a
//!   frame is given up (no BAR frames).
//! - Frames are not fragmented.
//!
//! ```toml
//! [network.wlan]
//! kind = "wifi"
//! standard = "802.11b"
//! access_point = "ap"
//! stations = ["laptop", { prefix = "phone", count = 4 }]
//! adaptation = { kind = "fixed", rate = "11 Mbit/s" }
//! error = { kind = "gilbert", probability = 0.05, burst = 4.0 }
//! ```

pub mod access_network;
pub mod adaptation;
pub mod air;
pub mod cell;
pub mod config;
pub mod counters;
pub mod flows;
pub mod phy;
pub mod stage;
#[cfg(test)]
mod tests;

pub use config::Config;

use bentpipe_core::{Table, Tables};

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&counters::TRACE];
    const REPORTS: &'static [&'static Table] = &[&counters::REPORT];
}

/// Size of an acknowledgment in bytes.
pub const ACK: u32 = 14;
/// Size of a clear to send in bytes.
pub const CTS: u32 = 14;
/// Size of a request to send in bytes.
pub const RTS: u32 = 20;
/// Size of a block acknowledgment with a compressed bitmap, in bytes.
pub const BLOCK_ACK: u32 = 32;
/// Size of the MAC header and check sequence of a data frame, in bytes.
pub const HEADER: u32 = 28;
/// Size of the QoS control field in bytes.
pub const QOS: u32 = 2;
/// Size of the LLC and SNAP headers before a packet, in bytes.
pub const LLC_SNAP: u32 = 8;
