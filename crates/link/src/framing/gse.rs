//! Generic stream encapsulation (TS 102 606-1): packets, whole or in fragments, in baseband frames
//! of DVB-S2.
//!
//! | | header bytes |
//! | --- | --- |
//! | whole packet | 2 (start, end, label type, length) + 2 (protocol type) + label |
//! | first fragment | 2 + 1 (fragment identifier) + 2 (total length) + 2 + label |
//! | others | 2 + 1 |
//! | last | and 4 of CRC-32 after it |
//!
//! The label has 6, 3 or 0 bytes. A packet or fragment has at most 4095 bytes after its first two.
//! The frame is the data field of the baseband frame and is protected as a whole: a lost frame
//! loses every packet that has a part in it. A frame that is not full when it must be sent is
//! padded. On a return link the burst replaces the frame. With adaptive coding and modulation,
//! frames have the sizes of their MODCODs ([`crate::acm::frames`]).
//!
//! Limit: only data fields are counted, not the 10 bytes of the baseband header and not the coding.
//! The link's rate is that of the data fields.
//!
//! ```toml
//! framing = { kind = "gse", frame = 4016 }
//! ```

use super::fragments::{Fragments, Shape};
use super::{Framer, Framing};
use bentpipe_core::{Count, Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Generic stream encapsulation (ETSI TS 102 606-1): packets, whole or in fragments, in the
/// baseband frames of DVB-S2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Size of a baseband frame's data field in bytes, on links; 8 to 8192. The default, 4016, is
    /// that of QPSK 1/2 with long frames: 32 208 bits minus 80. With adaptive coding and
    /// modulation, the size of the MODCOD's long frame applies instead; on a return link, that of
    /// the burst.
    pub frame: Count<8, 8192>,
    /// Size of the label in bytes, 0 to 6: 0 (the default), 3 or 6.
    pub label: Count<0, 6>,
}

impl Default for Config {
    fn default() -> Config {
        Config { frame: Count::new(4016), label: Count::new(0) }
    }
}

const CRC: u32 = 4;
/// Largest value of the 12-bit length field.
const LENGTH: u32 = 4095;

impl Config {
    fn shape(&self) -> Shape {
        let label = self.label.value() as u32;
        // The length field counts the bytes after it, which include up to 5 bytes of header and the
        // label.
        Shape { whole: 4 + label, first: 7 + label, next: 3, trailer: CRC, max: LENGTH - 5 - label }
    }

    fn carrier(&self, carrier: Option<u32>) -> u32 {
        carrier.unwrap_or(self.frame.value() as u32)
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "label = 6";
}

impl Framing for Config {
    fn build(&self, carrier: Option<u32>) -> Option<Box<dyn Framer>> {
        Some(Box::new(Fragments::new(self.shape(), self.carrier(carrier))))
    }

    fn longest(&self) -> u32 {
        // The 16-bit total length counts the protocol type, the label and the packet.
        65_535 - 2 - self.label.value() as u32
    }

    fn check(&self, carrier: Option<u32>, problems: &mut Problems) {
        if ![0, 3, 6].contains(&self.label.value()) {
            problems.add("label", format!("{} bytes; allowed: 0, 3 or 6", self.label.value()));
        } else if self.carrier(carrier) < self.shape().min_carrier() {
            let message = format!(
                "{} bytes have no room for the {} of a fragment's header and a byte of data; allowed: at least {}",
                self.carrier(carrier),
                self.shape().first,
                self.shape().min_carrier()
            );
            problems.add(if carrier.is_some() { "" } else { "frame" }, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::units;
    use super::*;

    fn config(frame: u64, label: u64) -> Config {
        Config { frame: Count::new(frame), label: Count::new(label) }
    }

    #[test]
    fn worked_examples() {
        // Whole: 1500 + 4, and with a label of 6 bytes 1500 + 10.
        assert_eq!(units(&config(1504, 0), None, &[1500]), [(1, false)]);
        assert_eq!(units(&config(1509, 6), None, &[1500]), [(2, false)]);
        assert_eq!(units(&config(1510, 6), None, &[1500]), [(1, false)]);
        // Two in a frame of 3008, and the third in the next.
        assert_eq!(units(&config(3008, 0), None, &[1500; 3]), [(1, false), (0, true), (1, false)]);
        // In fragments over frames of 500: 7 + 493, 3 + 497, and 3 + 493 + 4 = 500 for the
        // remaining 483 and the CRC.
        assert_eq!(units(&config(500, 0), None, &[1483]), [(3, false)]);
        // With one byte more, the last fragment needs a frame of its own.
        assert_eq!(units(&config(500, 0), None, &[1484]), [(4, false)]);
        // 40 + 4 leave 56 of 100: 7 + 49 of the next packet, whose 51 others, 3 + 51 + 4, are in
        // the next frame.
        assert_eq!(units(&config(100, 0), None, &[40, 100, 38]), [(1, false), (1, true), (0, true)]);
        // 38 + 4 bytes use all of the remaining 100 - 58 = 42 bytes.
        assert_eq!(
            units(&config(100, 0), None, &[40, 100, 38, 20]),
            [(1, false), (1, true), (0, true), (1, false)]
        );
    }

    #[test]
    fn a_rest_too_short_for_a_fragment_is_padding() {
        // 89 + 4 = 93 leave 7: the header of a first fragment and no byte.
        assert_eq!(units(&config(100, 0), None, &[89, 96]), [(1, false), (1, false)]);
        assert_eq!(units(&config(100, 0), None, &[88, 96]), [(1, false), (2, true)]);
    }
}
