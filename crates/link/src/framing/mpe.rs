//! Multi-protocol encapsulation (EN 301 192, section 7): each packet in a datagram section,
//! sections in MPEG transport stream packets. The section has 12 bytes of header, MAC address
//! included, and 4 of CRC; LLC/SNAP adds 8. With section packing, the next section begins where the
//! last one ends; otherwise the rest of the transport stream packet is stuffed.
//!
//! ```toml
//! framing = { kind = "mpe", packing = true }
//! ```

use super::transport_stream::Encapsulation;
use bentpipe_core::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Multi-protocol encapsulation (EN 301 192, section 7): packets in datagram sections, sections in
/// MPEG transport stream packets of 188 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// True if a section may start in the transport stream packet in which the previous one ends;
    /// otherwise the rest of that packet is stuffed. Default true.
    pub packing: bool,
    /// True if an LLC/SNAP header of 8 bytes identifies the protocol of each packet. Default false.
    pub llc_snap: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config { packing: true, llc_snap: false }
    }
}

const HEADER: u32 = 12;
const CRC: u32 = 4;
const LLC_SNAP: u32 = 8;
/// Maximum length of a section in bytes.
const SECTION: u32 = 4096;

impl Sample for Config {
    const SAMPLE: &'static str = "llc_snap = true";
}

impl Encapsulation for Config {
    const TOGETHER: u32 = 1;

    fn packing(&self) -> bool {
        self.packing
    }

    fn overhead(&self) -> u32 {
        HEADER + CRC + if self.llc_snap { LLC_SNAP } else { 0 }
    }

    fn longest(&self) -> u32 {
        SECTION - self.overhead()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::units;
    use super::*;

    #[test]
    fn worked_examples() {
        let padded = Config { packing: false, llc_snap: false };
        // Section and pointer field over 184 bytes: 40 + 16 + 1; 1500 + 16 + 1 = 1517 = 8.24 x 184.
        assert_eq!(units(&padded, None, &[40, 1500]), [(1, false), (9, false)]);
        // 167 + 16 + 1 = 184 fills a packet, 168 does not.
        assert_eq!(units(&padded, None, &[167]), [(1, false)]);
        assert_eq!(units(&padded, None, &[168]), [(2, false)]);
        assert_eq!(units(&Config { llc_snap: true, ..padded }, None, &[160]), [(2, false)]);
        // Packed: three sections of 56 bytes and the pointer field are 169, so the fourth begins in
        // the first packet.
        assert_eq!(
            units(&Config::default(), None, &[40; 5]),
            [(1, false), (0, true), (0, true), (1, true), (0, true)]
        );
        assert_eq!(Config::default().longest(), 4080);
    }

    #[test]
    fn each_packet_with_the_start_of_a_section_has_a_pointer_field() {
        // 1500 + 16 = 1516: 183 in the first packet, 1333 = 7 x 184 + 45 in eight more. The next
        // section finds 184 - 45 - 1 bytes of room, and its other 1516 - 138 = 1378 take 7.49
        // packets.
        assert_eq!(units(&Config::default(), None, &[1500, 1500]), [(9, false), (8, true)]);
    }
}
