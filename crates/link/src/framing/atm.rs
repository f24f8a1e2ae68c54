//! ATM with AAL5 (ITU-T I.363.5, RFC 2684). Each packet, with padding and a trailer of 8 bytes,
//! fills a whole number of cells. A cell has 48 bytes of payload and a header of 5 bytes. Packets
//! do not share cells.
//!
//! The encapsulation determines the header before the packet:
//!
//! - VC multiplexing (RFC 2684, section 6): no header.
//! - LLC/SNAP (RFC 2684, section 5.1, routed protocols): 8 bytes (AA-AA-03, 00-00-00, 08-00).
//! - Bridged Ethernet (RFC 2684, section 5.2, without the checksum of Ethernet): 24 bytes. These
//!   are 8 bytes of LLC and SNAP, 2 bytes of padding and an Ethernet header of 14 bytes.
//! - LANE (ATM Forum, LAN Emulation over ATM 1.0, section 4.1.1): 16 bytes. These are a LAN
//!   emulation header of 2 bytes and an Ethernet header of 14 bytes.
//! - PPP (RFC 2364, section 5, LLC encapsulation): 6 bytes.
//!
//! Bridged and emulated Ethernet frames have at least 60 bytes. A TCP acknowledgment of 40 bytes
//! takes one cell with VC multiplexing and two cells with every other encapsulation.
//!
//! If any cell is lost, its packet is lost. The last cell marks the end of a packet. If the last
//! cell is lost, the next packet is lost, too: the receiver reassembles both packets as one, and
//! its length and CRC-32 do not match.
//!
//! ```toml
//! framing = { kind = "atm", encapsulation = "llc-snap" }
//! ```

use super::{check_divides, Added, Framer, Framing};
use bentpipe_core::{Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ATM with AAL5 (ITU-T I.363.5, RFC 2684): each packet, with padding and a trailer of 8 bytes,
/// fills a whole number of cells. A cell has 53 bytes, including 48 bytes of payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Encapsulation of the packet in its AAL5 frame, with the size of its header: `"llc-snap"` (8
    /// bytes, the default), `"vc"` (no header), `"bridged"` (24 bytes, an Ethernet frame without
    /// checksum), `"lane"` (16 bytes, LAN emulation) or `"ppp"` (6 bytes).
    pub encapsulation: Encapsulation,
}

/// The encapsulation of a packet in its AAL5 frame. It tells the receiver the packet's protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    /// An LLC/SNAP header of 8 bytes (RFC 2684, section 5.1).
    #[default]
    LlcSnap,
    /// No header: each protocol has its own virtual channel (RFC 2684, section 6).
    Vc,
    /// An LLC/SNAP header, padding and an Ethernet header, 24 bytes; the Ethernet frame has at
    /// least 60 bytes (RFC 2684, section 5.2).
    Bridged,
    /// A LAN emulation header of 2 bytes and an Ethernet header of 14; the Ethernet frame has at
    /// least 60 bytes (ATM Forum LANE 1.0).
    Lane,
    /// An LLC header and the protocol field of PPP, 6 bytes (RFC 2364).
    Ppp,
}

impl Encapsulation {
    /// Returns the size of the header, and the minimum size of header and packet together, in
    /// bytes.
    const fn sizes(self) -> (u32, u32) {
        match self {
            Encapsulation::LlcSnap => (8, 0),
            Encapsulation::Vc => (0, 0),
            Encapsulation::Bridged => (10 + ETHERNET_HEADER, 10 + ETHERNET_MIN),
            Encapsulation::Lane => (2 + ETHERNET_HEADER, 2 + ETHERNET_MIN),
            Encapsulation::Ppp => (6, 0),
        }
    }

    /// Returns the number of cells that a packet of `size` bytes fills.
    pub const fn cells(self, size: u32) -> u32 {
        let (header, min) = self.sizes();
        let whole = size + header;
        let payload = if whole < min { min } else { whole };
        (payload + TRAILER).div_ceil(PAYLOAD)
    }

    /// Returns the maximum size of a packet in bytes. The length field of the trailer has 16 bits.
    pub const fn longest(self) -> u32 {
        65_535 - self.sizes().0
    }
}

/// Size of the header of an Ethernet frame in bytes (IEEE 802.3).
const ETHERNET_HEADER: u32 = 14;

/// Minimum size of an Ethernet frame without its checksum, in bytes (IEEE 802.3).
const ETHERNET_MIN: u32 = 60;

/// Size of a cell in bytes, with its header.
pub const CELL: u32 = 53;

/// Size of the payload of a cell in bytes.
const PAYLOAD: u32 = 48;

/// Size of the AAL5 trailer in bytes.
const TRAILER: u32 = 8;

impl Sample for Config {
    const SAMPLE: &'static str = r#"encapsulation = "vc""#;
}

impl Framing for Config {
    fn build(&self, _carrier: Option<u32>) -> Option<Box<dyn Framer>> {
        Some(Box::new(Cells { encapsulation: self.encapsulation }))
    }

    fn longest(&self) -> u32 {
        self.encapsulation.longest()
    }

    fn check(&self, carrier: Option<u32>, problems: &mut Problems) {
        check_divides(CELL, "ATM cells", carrier, problems);
    }
}

struct Cells {
    encapsulation: Encapsulation,
}

impl Framer for Cells {
    fn unit(&self) -> u32 {
        CELL
    }

    fn add(&mut self, size: u32, _open: bool) -> Added {
        Added { units: self.encapsulation.cells(size), shares: false }
    }

    fn merges(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::units;
    use super::*;

    /// Compares the numbers of cells with `tests/authorities/atm/overhead.csv`. Its columns are the
    /// packet's size, the encapsulation, the number of cells, and the cells' size in bytes.
    #[test]
    fn numbers_of_cells_match_the_reference_table() {
        let table = include_str!("../../../../tests/authorities/atm/overhead.csv");
        let mut rows = 0;
        for row in table.lines().filter(|row| !row.starts_with('#')).skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let encapsulation = match fields[1] {
                "vc" => Encapsulation::Vc,
                "llc-snap" => Encapsulation::LlcSnap,
                "bridged" => Encapsulation::Bridged,
                "lane" => Encapsulation::Lane,
                "ppp" => Encapsulation::Ppp,
                other => panic!("unknown encapsulation {other}"),
            };
            let [size, cells, bytes] = [0, 2, 3].map(|at| fields[at].parse::<u32>().unwrap());
            assert_eq!(encapsulation.cells(size), cells, "{row}");
            assert_eq!(cells * CELL, bytes, "{row}");
            rows += 1;
        }
        assert_eq!(rows, 65);
    }

    #[test]
    fn worked_examples() {
        // RFC 2684: packet + 8 (LLC/SNAP) + 8 (trailer), in cells of 48.
        let config = |encapsulation| Config { encapsulation };
        for (encapsulation, size, cells) in [
            (Encapsulation::LlcSnap, 40, 2),
            (Encapsulation::Vc, 40, 1),
            (Encapsulation::LlcSnap, 32, 1),
            (Encapsulation::LlcSnap, 33, 2),
            (Encapsulation::LlcSnap, 1500, 32),
            (Encapsulation::Vc, 1500, 32),
            (Encapsulation::Vc, 576, 13),
            // The default MTU of classical IP over ATM (RFC 2225).
            (Encapsulation::LlcSnap, 9180, 192),
        ] {
            assert_eq!(units(&config(encapsulation), None, &[size]), [(cells, false)], "{size}");
        }
        assert_eq!(units(&Config::default(), None, &[40, 40]), [(2, false), (2, false)]);
    }
}
