//! Simple TCP convergence layer (draft-burleigh-dtn-stcp-01). Each bundle follows its length, four
//! bytes with the most significant first, in one direction. There are no acknowledgments: the
//! sender does not learn whether its bundles arrived.

use super::stream::Framing;

/// The format of STCP: bundles behind lengths of four bytes.
pub const FRAMING: Framing = Framing { header, write };

/// Appends a bundle as it is sent; returns false and appends nothing if it is too long for a head.
fn write(bundle: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(length) = u32::try_from(bundle.len()) else { return false };
    out.extend(length.to_be_bytes());
    out.extend_from_slice(bundle);
    true
}

/// Reads the head of a bundle. Any four bytes are valid.
///
/// # Errors
/// None; the type is that of all formats.
fn header(bytes: &[u8]) -> Result<Option<(usize, u64)>, u8> {
    Ok(bytes.first_chunk().map(|length| (4, u64::from(u32::from_be_bytes(*length)))))
}
