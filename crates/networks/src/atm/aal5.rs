//! The common part of AAL5 (ITU-T I.363.5). A frame consists of the payload, padding to a whole
//! number of cells, and a trailer of 8 bytes. The trailer contains the user-to-user byte, the
//! common-part indicator, the length and a CRC-32.
//!
//! The CRC has the generator x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 +
//! x^5 + x^4 + x^2 + x + 1, with the most significant bit first. The register starts with ones, and
//! the result is complemented.

const GENERATOR: u32 = 0x04c1_1db7;

/// Value of the CRC register after a complete frame without errors, before the complement.
pub const RESIDUE: u32 = 0xc704_dd7b;

/// Returns the register of the CRC-32 after `bytes`, before the complement.
pub fn register(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |register, byte| {
        (0..8).fold(register ^ u32::from(*byte) << 24, |register, _| match register >> 31 {
            0 => register << 1,
            _ => register << 1 ^ GENERATOR,
        })
    })
}

/// Returns the frame (CPCS-PDU) of a payload of at most 65 535 bytes. Its length is a multiple of
/// 48 bytes, the payload of a cell.
pub fn frame(payload: &[u8]) -> Vec<u8> {
    let cells = (payload.len() + 8).div_ceil(48);
    let mut frame = payload.to_vec();
    frame.resize(48 * cells - 6, 0);
    frame.extend((payload.len() as u16).to_be_bytes());
    let crc = !register(&frame);
    frame.extend(crc.to_be_bytes());
    frame
}

/// Returns the payload of a frame, or `None` if its CRC or its length does not match, for example
/// because a cell was lost.
pub fn payload(frame: &[u8]) -> Option<&[u8]> {
    let trailer = frame.len().checked_sub(8)?;
    let length = usize::from(u16::from_be_bytes([frame[trailer + 2], frame[trailer + 3]]));
    let fits = frame.len().is_multiple_of(48) && (length + 8).div_ceil(48) * 48 == frame.len();
    (fits && register(frame) == RESIDUE).then(|| &frame[..length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn bytes(hex: &Value) -> Vec<u8> {
        let text = hex.as_str().unwrap();
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn frames_match_the_standard() {
        let text = include_str!("../../../../tests/authorities/atm/aal5_hec.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        let frames = vectors["aal5"].as_array().unwrap();
        assert_eq!(frames.len(), 8);
        for vector in frames {
            let content = bytes(&vector["payload"]);
            let whole = frame(&content);
            assert_eq!(whole, bytes(&vector["cpcs_pdu"]), "{vector}");
            assert_eq!(whole.len() as u64, 48 * vector["cells"].as_u64().unwrap());
            assert_eq!(whole[whole.len() - 4..], bytes(&vector["crc"]));
            assert_eq!(payload(&whole), Some(&content[..]));
        }
    }

    proptest! {
        #[test]
        fn lost_cells_merged_frames_and_bit_errors_are_detected(
            content in prop::collection::vec(any::<u8>(), 0..400), other in prop::collection::vec(any::<u8>(), 0..200), at: prop::sample::Index,
        ) {
            let whole = frame(&content);
            let mut wrong = whole.clone();
            let bit = at.index(8 * whole.len());
            wrong[bit / 8] ^= 0x80 >> (bit % 8);
            prop_assert_eq!(payload(&wrong), None);
            let lost = 48 * at.index(whole.len() / 48);
            let without = [&whole[..lost], &whole[lost + 48..]].concat();
            prop_assert_eq!(payload(&without), None);
            let merged = [&whole[..whole.len() - 48], &frame(&other)].concat();
            prop_assert!(whole.len() == 48 || payload(&merged).is_none());
        }
    }
}
