//! Wi-Fi: stations that share a radio channel by IEEE 802.11's distributed coordination function.
//!
//! - **Physical layer** ([`phy`]): 802.11b, a, g and n with their rates and exact durations of
//!   frames.
//! - **Access** ([`air`]): stations listen before they send, wait for DIFS (EIFS after a frame that
//!   they could not read) and a random number of slots. The stations that hear each other can be
//!   given, so hidden stations are possible. With `edca`, four categories by DSCP (RFC 8325).
//! - **Exchanges** ([`cell`]): data and acknowledgment, RTS and CTS, aggregates (A-MPDU) with block
//!   acknowledgments, retransmissions up to a limit, duplicates.
//! - **Rates** ([`adaptation`]): each sender chooses them per receiver.
//! - **Errors** ([`bentpipe_link::channel`]): each pair of stations has an error process of its own
//!   in each direction, which decides about every data frame on the air, and optionally about
//!   control frames. Corrupted frames are repeated, so packets are lost only at the retry limit.
//!
//! Packets get 8 bytes of LLC/SNAP and 28 bytes of MAC header and check sequence (30 with QoS:
//! `edca` or 802.11n).
//!
//! Source: IEEE 802.11-2016, clauses 10 (MAC) and 15 to 19 (PHYs); G. Bianchi, "Performance
//! Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC 18(3), 2000; RFC 8325
//! (DSCP to access categories).
//!
//! Deviations and limits:
//!
//! - two frames that overlap at a receiver are both lost there (no capture), and carrier sense is
//!   immediate;
//! - a station that is not addressed reads every frame that does not overlap with another, whatever
//!   the channel;
//! - beacons, association, power save and encryption take no time; the emulation with the kernel's
//!   own Wi-Fi has them;
//! - the access point uses the same EDCA parameters as the stations;
//! - block acknowledgment sessions exist from the beginning, and a receiver learns at once when a
//!   frame is given up (no BAR frames);
//! - frames are not fragmented.
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
/// Bytes of a block acknowledgment with a compressed bitmap.
pub const BLOCK_ACK: u32 = 32;
/// Bytes of MAC header and check sequence of a data frame.
pub const HEADER: u32 = 28;
/// Bytes of the QoS control field.
pub const QOS: u32 = 2;
/// Bytes of the LLC and SNAP headers in front of a packet.
pub const LLC_SNAP: u32 = 8;
