//! Simple TCP convergence layer (draft-burleigh-dtn-stcp-01). A connection carries bundles in one
//! direction. Each bundle is preceded by its length as a big-endian integer of four bytes. There
//! are no acknowledgments, so the sender does not know whether its bundles arrived.

use super::stream::Framing;

/// The format of STCP: a length of four bytes before each bundle.
pub const FRAMING: Framing = Framing { header, write };

/// Appends a bundle with its header. Returns false and appends nothing if the bundle is too long
/// for a header.
fn write(bundle: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(length) = u32::try_from(bundle.len()) else { return false };
    out.extend(length.to_be_bytes());
    out.extend_from_slice(bundle);
    true
}

/// Reads the header of a bundle. Any four bytes are valid.
///
/// # Errors
/// Never; [`Framing`] requires the type.
fn header(bytes: &[u8]) -> Result<Option<(usize, u64)>, u8> {
    Ok(bytes.first_chunk().map(|length| (4, u64::from(u32::from_be_bytes(*length)))))
}
