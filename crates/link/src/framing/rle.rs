//! Return link encapsulation (EN 301 545-2, TS 103 179): packets, whole or in fragments, in the
//! bursts of DVB-RCS2.
//!
//! | | header bytes |
//! | --- | --- |
//! | whole packet (full PPDU) | 2 (start, end, length of 11 bits, label type, protocol type suppressed) |
//! | first fragment (start PPDU) | 2 + 2 (trailer, total length of 12 bits, label type, protocol type suppressed) |
//! | others (continuation, end PPDU) | 2 |
//! | last | and the trailer behind it: 1 byte of sequence number, or 4 of CRC-32 |
//!
//! The packet itself (the ALPDU) starts with its protocol type: 2 bytes, 1 if compressed, none if
//! suppressed, as terminals do for the one protocol that makes up most of their traffic. Bursts are
//! protected as a whole: a lost burst loses every packet that has a part in it.
//!
//! Limits: no labels, neither of packets nor of bursts; the trailer is not divided between bursts.
//!
//! ```toml
//! framing = { kind = "rle", protocol = "suppressed", trailer = "sequence" }
//! ```

use super::fragments::{Fragments, Shape};
use super::{Framer, Framing};
use bentpipe_core::{Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Return link encapsulation (EN 301 545-2, TS 103 179): packets, whole or in fragments, in the
/// bursts of DVB-RCS2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How the protocol type of each packet is sent; suppressed by default.
    pub protocol: Protocol,
    /// What follows the last fragment of a fragmented packet, for the receiver to check it; a
    /// sequence number by default.
    pub trailer: Trailer,
}

/// How the protocol type of a packet is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Not sent: all packets are of one protocol. No bytes.
    #[default]
    Suppressed,
    /// The protocol type is sent compressed, in one byte.
    Compressed,
    /// The protocol type is sent in full, in two bytes.
    Full,
}

/// What follows the last fragment of a fragmented packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trailer {
    /// A sequence number of one byte, by which the receiver detects a missing fragment.
    #[default]
    Sequence,
    /// A CRC-32 of four bytes over the packet, by which the receiver detects wrong or missing
    /// fragments.
    Crc,
}

/// Largest value of a PPDU's 11-bit length field and of an ALPDU's 12-bit total length.
const PPDU: u32 = 2047;
const ALPDU: u32 = 4095;

impl Config {
    fn protocol_bytes(&self) -> u32 {
        match self.protocol {
            Protocol::Suppressed => 0,
            Protocol::Compressed => 1,
            Protocol::Full => 2,
        }
    }

    fn shape(&self) -> Shape {
        let trailer = match self.trailer {
            Trailer::Sequence => 1,
            Trailer::Crc => 4,
        };
        let protocol = self.protocol_bytes();
        Shape { whole: 2 + protocol, first: 4 + protocol, next: 2, trailer, most: PPDU - protocol - trailer }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"trailer = "crc""#;
}

impl Framing for Config {
    fn build(&self, carrier: Option<u32>) -> Option<Box<dyn Framer>> {
        Some(Box::new(Fragments::new(self.shape(), carrier.expect("check has passed"))))
    }

    fn longest(&self) -> u32 {
        ALPDU - self.protocol_bytes() - self.shape().trailer
    }

    fn check(&self, carrier: Option<u32>, problems: &mut Problems) {
        let least = self.shape().least_carrier();
        match carrier {
            None => problems.add(
                "kind",
                "RLE fills the bursts of a return link; allowed on links: none, atm, mpe, ule, gse",
            ),
            Some(bytes) if bytes < least => {
                let message = format!(
                    "a slot of {bytes} bytes has no room for the {} of a fragment's header and a byte of data; allowed: at least \
                     {least}",
                    self.shape().first
                );
                problems.add("", message);
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::units;
    use super::*;

    #[test]
    fn worked_examples() {
        let units = |config: &Config, burst, sizes: &[u32]| units(config, Some(burst), sizes);
        let plain = Config::default();
        // Bursts of 123 bytes: an acknowledgment of 40 takes 42, so that two and a part of a third
        // lie in one. 123 - 84 = 39: 4 + 35 of it, and 2 + 5 + 1 in the next.
        assert_eq!(units(&plain, 123, &[40, 40, 40]), [(1, false), (0, true), (1, true)]);
        // 1500 alone: 4 + 119, 2 + 121 as long as it lasts: 1381 = 11 x 121 + 50, with the trailer
        // 2 + 50 + 1.
        assert_eq!(units(&plain, 123, &[1500]), [(13, false)]);
        // With type and CRC: 6 + 117, then 1383 = 11 x 121 + 52.
        let full = Config { protocol: Protocol::Full, trailer: Trailer::Crc };
        assert_eq!(units(&full, 123, &[1500]), [(13, false)]);
        assert_eq!(units(&plain, 38, &[36]), [(1, false)]);
        assert_eq!(units(&full, 38, &[36]), [(2, false)]);
        assert_eq!(plain.longest(), 4094);
    }
}
