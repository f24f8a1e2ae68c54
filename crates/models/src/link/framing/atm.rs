//! ATM with AAL5 (ITU-T I.363.5, RFC 2684): packet, padding and a trailer of 8 bytes fill whole cells of 48 bytes, which are
//! sent with 5 bytes of header each. Cells are not shared between packets.
//!
//! With LLC/SNAP (RFC 2684, section 5: routed protocols) 8 bytes come before the packet: AA-AA-03, 00-00-00, 08-00. With VC
//! multiplexing (section 6) nothing does. So a TCP acknowledgment of 40 bytes takes two cells with LLC/SNAP and one without.
//!
//! The loss of a cell loses its packet. The loss of a packet's last cell, which marks the packet's end, also
//! loses the next packet: the receiver takes both for one, whose length and CRC-32 do not match.
//!
//! ```toml
//! framing = { kind = "atm", encapsulation = "llc-snap" }
//! ```

use super::{check_divides, Added, Framer, Framing};
use bentpipe_core::{Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ATM with AAL5 (ITU-T I.363.5, RFC 2684): each packet, with padding and a trailer of 8 bytes, fills whole
/// cells of 53 bytes, 48 of them payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How the receiver recognises the packet's protocol; adds 8 bytes to each packet with the default,
    /// `"llc-snap"`, and none with `"vc"`.
    pub encapsulation: Encapsulation,
}

/// How the receiver of an AAL5 frame recognises the packet's protocol (RFC 2684).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    /// By an LLC/SNAP header of 8 bytes before each packet (section 5).
    #[default]
    LlcSnap,
    /// By a virtual channel for each protocol, without a header (section 6).
    Vc,
}

/// Size of a cell in bytes, and of its payload.
pub const CELL: u32 = 53;
const PAYLOAD: u32 = 48;
const TRAILER: u32 = 8;
const LLC_SNAP: u32 = 8;

impl Config {
    fn header(&self) -> u32 {
        match self.encapsulation {
            Encapsulation::LlcSnap => LLC_SNAP,
            Encapsulation::Vc => 0,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"encapsulation = "vc""#;
}

impl Framing for Config {
    fn build(&self, _carrier: Option<u32>) -> Option<Box<dyn Framer>> {
        Some(Box::new(Cells { overhead: self.header() + TRAILER }))
    }

    fn longest(&self) -> u32 {
        // The trailer's length field has 16 bits.
        65_535 - self.header()
    }

    fn check(&self, carrier: Option<u32>, problems: &mut Problems) {
        check_divides(CELL, "ATM cells", carrier, problems);
    }
}

struct Cells {
    overhead: u32,
}

impl Framer for Cells {
    fn unit(&self) -> u32 {
        CELL
    }

    fn add(&mut self, size: u32, _open: bool) -> Added {
        Added { units: (size + self.overhead).div_ceil(PAYLOAD), shares: false }
    }

    fn merges(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::units;
    use super::*;

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
