//! Minimal TCP convergence layer (draft-ietf-dtn-mtcpcl-01). Each bundle is a byte string of CBOR
//! (RFC 8949, major type 2) with a definite length, one after the other, in one direction. There
//! are no acknowledgments: the sender does not learn whether its bundles arrived.

use super::stream::Framing;

/// The format of MTCP: byte strings of CBOR.
pub const FRAMING: Framing = Framing { header, write };

/// Appends a bundle as it is sent. Returns true: every length has a head.
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

/// Reads the head of a bundle, which is that of its byte string.
///
/// # Errors
/// The first byte, if it does not begin a byte string of a definite length.
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
