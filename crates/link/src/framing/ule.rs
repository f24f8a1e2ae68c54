//! Unidirectional lightweight encapsulation (RFC 4326): each packet in an SNDU, SNDUs in MPEG
//! transport stream packets. The SNDU has 4 bytes of header (D bit and length, type), 6 of
//! destination address unless omitted (D = 1), and 4 of CRC-32. With packing, the next SNDU begins
//! where the last one ends, provided that both bytes of its length fit there (RFC 4326, section
//! 6.2); otherwise the rest of the transport stream packet is filled with FF.
//!
//! The packing threshold is zero: an encapsulator does not wait for more data before it sends a
//! transport stream packet.
//!
//! ```toml
//! framing = { kind = "ule", address = false }
//! ```

use super::transport_stream::Encapsulation;
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Unidirectional lightweight encapsulation (RFC 4326): packets in SNDUs, SNDUs in MPEG transport
/// stream packets of 188 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// True if an SNDU may start in the transport stream packet in which the previous one ends (RFC
    /// 4326, section 6.2); otherwise the rest of that packet is padded. Default true.
    pub packing: bool,
    /// True if each SNDU has a destination address of 6 bytes (D = 0). Default false.
    pub address: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config { packing: true, address: false }
    }
}

const HEADER: u32 = 4;
const ADDRESS: u32 = 6;
const CRC: u32 = 4;

impl Sample for Config {
    const SAMPLE: &'static str = "address = false";
}

impl Encapsulation for Config {
    const TOGETHER: u32 = 2;

    fn packing(&self) -> bool {
        self.packing
    }

    fn overhead(&self) -> u32 {
        HEADER + CRC + if self.address { ADDRESS } else { 0 }
    }

    fn longest(&self) -> u32 {
        // The 15-bit length field counts the bytes after the type field. All ones mark the end.
        32_766 - (self.overhead() - HEADER)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::units;
    use super::*;

    #[test]
    fn worked_examples() {
        let padded = Config { packing: false, address: false };
        // RFC 4326, appendix A has SNDUs over transport stream packets of 183 bytes with pointer
        // and 184 without.
        assert_eq!(units(&padded, None, &[175]), [(1, false)], "175 + 8 = 183");
        assert_eq!(units(&padded, None, &[176]), [(2, false)]);
        assert_eq!(units(&padded, None, &[175 + 184]), [(2, false)]);
        assert_eq!(units(&Config { address: true, ..padded }, None, &[169, 170]), [(1, false), (2, false)]);
        // Two SNDUs of 64 bytes (a SYN of 56): 129 bytes with the pointer field, room for the
        // beginning of a third.
        assert_eq!(units(&Config::default(), None, &[56, 56, 56]), [(1, false), (0, true), (1, true)]);
    }

    #[test]
    fn the_length_of_an_sndu_is_not_split() {
        // 173 + 8 + 1 = 182: two bytes remain, enough for the length. With 174, one byte remains
        // and is filled.
        assert_eq!(units(&Config::default(), None, &[173, 40]), [(1, false), (1, true)]);
        assert_eq!(units(&Config::default(), None, &[174, 40]), [(1, false), (1, false)]);
        // A packet in which no SNDU begins has no pointer field yet: a second packet with 181 of
        // 184 bytes used has three left, one of them for the pointer. With 182 it has two left,
        // which are not enough.
        let first = 175 + 181;
        assert_eq!(units(&Config::default(), None, &[first, 40]), [(2, false), (1, true)]);
        assert_eq!(units(&Config::default(), None, &[first + 1, 40]), [(2, false), (1, false)]);
    }
}
