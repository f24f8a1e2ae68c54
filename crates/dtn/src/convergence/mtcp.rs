//! Minimal TCP convergence layer (draft-ietf-dtn-mtcpcl-01). A connection carries bundles in one
//! direction. Each bundle is a CBOR byte string (RFC 8949, major type 2) of definite length. There
//! are no acknowledgments, so the sender does not know whether its bundles arrived.

use super::stream::Framing;

/// The format of MTCP: CBOR byte strings.
pub const FRAMING: Framing = Framing { header, write };

/// Appends a bundle with its header. Always returns true, since a header can hold any length.
fn write(bundle: &[u8], out: &mut Vec<u8>) -> bool {
    let length = bundle.len() as u64;
    match length {
        0..=23 => out.push(0x40 | length as u8),
        24..=0xff => out.extend([0x58, length as u8]),
        0x100..=0xffff => {
            out.push(0x59);
            out.extend((length as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0x5a);
            out.extend((length as u32).to_be_bytes());
        }
        _ => {
            out.push(0x5b);
            out.extend(length.to_be_bytes());
        }
    }
    out.extend_from_slice(bundle);
    true
}

/// Reads the header of a bundle, which is the head of a CBOR byte string.
///
/// # Errors
/// Returns the first byte if it does not begin a byte string of definite length.
fn header(bytes: &[u8]) -> Result<Option<(usize, u64)>, u8> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    match first {
        0x40..=0x57 => Ok(Some((1, u64::from(first & 0x1f)))),
        0x58..=0x5b => {
            let count = 1 << (first - 0x58);
            let Some(number) = bytes.get(1..1 + count) else { return Ok(None) };
            Ok(Some((1 + count, number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))))
        }
        other => Err(other),
    }
}
