//! Return link encapsulation (EN 301 545-2, TS 103 179): packets, whole or in fragments, in the
//! bursts of DVB-RCS2.
//!
//! - Whole packet (full PPDU): 2 bytes of header (start, end, length of 11 bits, label type,
//!   protocol type suppressed).
//! - First fragment (start PPDU): 2 + 2 bytes (the latter: trailer, total length of 12 bits, label
//!   type, protocol type suppressed).
//! - Other fragments: 2 bytes.
//! - Last fragment: 2 bytes, and the trailer after it: 1 byte of sequence number, or 4 of CRC-32.
//!
//! The packet itself (the ALPDU) starts with its protocol type: 2 bytes, 1 if compressed, none if
//! suppressed, as terminals do for the most frequent protocol. Bursts are protected as a whole: a
//! lost burst loses every packet that has a part in it.
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
    /// Encoding of each packet's protocol type: `"suppressed"` (the default, 0 bytes),
    /// `"compressed"` (1 byte) or `"full"` (2 bytes).
    pub protocol: Protocol,
    /// Trailer of a fragmented packet, with which the receiver checks it: `"sequence"` (the
    /// default, 1 byte) or `"crc"` (4 bytes).
    pub trailer: Trailer,
}

/// The encoding of a packet's protocol type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// The protocol type is not sent: all packets are of one protocol.
    #[default]
    Suppressed,
    /// The protocol type is sent compressed, in one byte.
    Compressed,
    /// The protocol type is sent in full, in two bytes.
    Full,
}

/// The trailer after the last fragment of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trailer {
    /// A sequence number of one byte, from which the receiver detects a missing fragment.
    #[default]
    Sequence,
    /// A CRC-32 of four bytes over the packet, from which the receiver detects wrong or missing
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
        Shape { whole: 2 + protocol, first: 4 + protocol, next: 2, trailer, max: PPDU - protocol - trailer }
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
        let min = self.shape().min_carrier();
        match carrier {
            None => problems.add(
                "kind",
                "RLE fills the bursts of a return link; allowed on links: none, atm, mpe, ule, gse",
            ),
            Some(bytes) if bytes < min => {
                let message = format!(
                    "a slot of {bytes} bytes has no room for the {} of a fragment's header and a byte of data; allowed: at least \
                     {min}",
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
        // Bursts of 123 bytes: an acknowledgment of 40 takes 42, so two and a part of a third fit
        // into one. 123 - 84 = 39: 4 + 35 of the third, and 2 + 5 + 1 in the next burst.
        assert_eq!(units(&plain, 123, &[40, 40, 40]), [(1, false), (0, true), (1, true)]);
        // 1500 alone: 4 + 119, then 2 + 121 repeatedly: 1381 = 11 x 121 + 50, and 2 + 50 + 1 with
        // the trailer.
        assert_eq!(units(&plain, 123, &[1500]), [(13, false)]);
        // With type and CRC: 6 + 117, then 1383 = 11 x 121 + 52.
        let full = Config { protocol: Protocol::Full, trailer: Trailer::Crc };
        assert_eq!(units(&full, 123, &[1500]), [(13, false)]);
        assert_eq!(units(&plain, 38, &[36]), [(1, false)]);
        assert_eq!(units(&full, 38, &[36]), [(2, false)]);
        assert_eq!(plain.longest(), 4094);
    }
}
