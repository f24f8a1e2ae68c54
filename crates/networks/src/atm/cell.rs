//! The header of a cell (ITU-T I.361, I.432.1): 4 bytes and the header error control (HEC). The HEC
//! is a CRC-8 with the generator x^8 + x^2 + x + 1, to which 01010101 is added modulo 2.
//!
//! A receiver in correction mode corrects one wrong bit of a header, and discards the cell if more
//! bits are wrong. In both cases, it changes to detection mode, in which it discards every cell
//! with a wrong header. The next header without error returns the receiver to correction mode.

/// Number of bits of a cell header.
pub const HEADER_BITS: u64 = 40;
/// Number of bits of a cell, including its header.
pub const CELL_BITS: u64 = 424;

/// Returns the HEC of the first four bytes of a header.
pub fn hec(header: [u8; 4]) -> u8 {
    let crc = header.iter().fold(0u8, |register, byte| {
        (0..8).fold(register ^ byte, |register, _| match register >> 7 {
            0 => register << 1,
            _ => register << 1 ^ 0x07,
        })
    });
    crc ^ 0x55
}

/// Returns the header of a cell at a user-network interface: virtual path and channel, payload
/// type, cell loss priority.
pub fn header(vpi: u8, vci: u16, payload_type: u8, low_priority: bool) -> [u8; 4] {
    let word = u32::from(vpi) << 20
        | u32::from(vci) << 4
        | u32::from(payload_type & 7) << 1
        | u32::from(low_priority);
    word.to_be_bytes()
}

/// The mode in which a receiver handles headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The receiver corrects one wrong bit.
    #[default]
    Correction,
    /// The receiver discards every cell with a wrong header.
    Detection,
}

impl Mode {
    /// Handles an arriving header with `wrong_bits` wrong bits. Returns true if the cell is
    /// accepted.
    ///
    /// A real receiver can mistake three or more wrong bits for a single one. Here, such cells are
    /// always discarded.
    pub fn accepts(&mut self, wrong_bits: u32) -> bool {
        let before = *self;
        *self = if wrong_bits == 0 { Mode::Correction } else { Mode::Detection };
        wrong_bits == 0 || (wrong_bits == 1 && before == Mode::Correction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn headers_match_the_standard() {
        let text = include_str!("../../../../tests/authorities/atm/aal5_hec.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        let mut seen = 0;
        for vector in vectors["hec"].as_array().unwrap().iter().filter(|row| row["header"].is_string()) {
            let hex = |key: &str| u32::from_str_radix(vector[key].as_str().unwrap(), 16).unwrap();
            assert_eq!(u32::from(hec(hex("header").to_be_bytes())), hex("hec"), "{vector}");
            seen += 1;
            if let Some(vpi) = vector["vpi"].as_u64() {
                let field = |key: &str| vector[key].as_u64().unwrap();
                let made = header(vpi as u8, field("vci") as u16, field("pti") as u8, field("clp") == 1);
                assert_eq!(u32::from_be_bytes(made), hex("header"), "{vector}");
            }
        }
        assert_eq!(seen, 6);
    }

    #[test]
    fn one_wrong_bit_is_corrected_and_the_next_wrong_header_is_not() {
        let mut mode = Mode::default();
        let accepted = [0, 1, 1, 0, 1, 0, 2, 1, 0].map(|wrong| mode.accepts(wrong));
        assert_eq!(accepted, [true, true, false, true, true, true, false, false, true]);
        // Each single-bit error has a unique syndrome, so it can be corrected.
        let syndromes: std::collections::BTreeSet<u8> =
            (0..32).map(|bit| hec((1u32 << bit).to_be_bytes()) ^ hec([0; 4])).collect();
        assert_eq!(syndromes.len(), 32);
    }
}
