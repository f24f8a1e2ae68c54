//! The encoded length of bundles (BPv7, RFC 9171), for simulations, where payloads have no content.
//!
//! A bundle is a CBOR array of indefinite length, with a primary block and canonical blocks. Nodes
//! have `ipn` endpoints. The primary block and the payload block each have a CRC-32, as in the
//! bundles that agents send by default.

use bentpipe_core::{Span, Time};

/// The fields that determine the length of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the source node.
    pub source: u64,
    /// Number of the destination node.
    pub destination: u64,
    /// Creation time of the bundle.
    pub created: Time,
    /// Sequence number among the bundles of the same creation time.
    pub sequence: u64,
    /// Lifetime of the bundle.
    pub lifetime: Span,
}

/// Milliseconds from the epoch of bundles (2000) to 2024. Simulations start in 2024, so that
/// encoded times have a realistic length.
const SINCE_2000: u64 = 757_382_400_000;

impl Header {
    /// Returns the length in bytes of a bundle with a payload of `payload` bytes.
    pub fn length(&self, payload: u64) -> u64 {
        let milliseconds = SINCE_2000 + self.created.as_nanos() / 1_000_000;
        let lifetime = self.lifetime.as_nanos() / 1_000_000;
        let endpoint = |node: u64| 2 + 1 + integer(node) + 1;
        // Array head, version, flags and CRC type, three endpoints, timestamp, lifetime and CRC.
        // The report-to endpoint is the source.
        let primary = 1 + 1 + 1 + 1 + endpoint(self.destination) + 2 * endpoint(self.source);
        let primary = primary + 1 + integer(milliseconds) + integer(self.sequence) + integer(lifetime) + 5;
        // Array head, type, number, flags, CRC type, payload as a byte string, and CRC.
        let canonical = 1 + 1 + 1 + 1 + 1 + integer(payload) + payload + 5;
        // The start and the end of the bundle's array.
        2 + primary + canonical
    }
}

/// Returns the encoded length of an integer, or of the head of a string, in CBOR (RFC 8949, section
/// 3).
pub const fn integer(value: u64) -> u64 {
    match value {
        0..=23 => 1,
        24..=0xff => 2,
        0x100..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn lengths_match_encoded_blocks() {
        let samples: Vec<Value> =
            serde_json::from_str(include_str!("../../../tests/authorities/dtn/bp7-rs_encoding_samples.json"))
                .unwrap();
        let length = |heading: &str| {
            let sample = samples
                .iter()
                .find(|sample| sample["heading"].as_str().unwrap().ends_with(heading))
                .expect(heading);
            sample["hex string"].as_str().unwrap().len() as u64 / 2
        };
        // An endpoint ipn:23.42 is an array of the scheme and an array of two numbers.
        assert_eq!(length("ipn scheme"), 2 + 1 + integer(23) + integer(42));
        // A payload block of three bytes without a CRC.
        assert_eq!(length("Payload Block"), 1 + 1 + 1 + 1 + 1 + integer(3) + 3);
        // CRC-32 adds a byte string of four bytes to a primary block.
        assert_eq!(length("Primary Block / CRC 32") - length("Primary Block / No CRC"), 5);
        let header = Header {
            source: 1,
            destination: 2,
            created: Time::ZERO,
            sequence: 0,
            lifetime: Span::from_secs(3600),
        };
        // The bundle's array takes 2 bytes. The primary block has 4 bytes of head, version, flags
        // and CRC type, three endpoints of 5, 11 of timestamp, 5 of lifetime and 5 of CRC. The
        // payload block has 5 bytes of head, type, number, flags and CRC type, 1 of string head, 10
        // of payload and 5 of CRC.
        assert_eq!(header.length(10), 2 + (4 + 15 + 11 + 5 + 5) + (5 + 1 + 10 + 5));
    }
}
