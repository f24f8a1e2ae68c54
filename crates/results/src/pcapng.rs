//! Blocks of the pcapng file format (draft-ietf-opsawg-pcapng, "PCAP Next Generation Capture File
//! Format").
//!
//! A capture needs only three block types, so they are implemented here. Each packet costs one pass
//! over a reused buffer. The usual library requires an owned packet and a list of options for each
//! packet.

/// Link type of packets that begin with an IPv4 or IPv6 header (LINKTYPE_RAW).
const LINKTYPE_RAW: u16 = 101;

/// Type of the section header block.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// Type of the interface description block.
const INTERFACE_DESCRIPTION: u32 = 1;
/// Type of the enhanced packet block.
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_USER_APPLICATION: u16 = 4;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;

/// Appends the section header, which starts a file.
pub(crate) fn section_header(out: &mut Vec<u8>) {
    block(out, SECTION_HEADER, |out| {
        out.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
        out.extend_from_slice(&1_u16.to_le_bytes());
        out.extend_from_slice(&0_u16.to_le_bytes());
        // The length of the section is unknown until its end.
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        option(out, OPTION_USER_APPLICATION, concat!("bentpipe ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(out, OPTION_END, &[]);
    });
}

/// Appends the description of the next interface. `snap` is the maximum number of bytes kept of a
/// packet, or 0 for no limit.
pub(crate) fn interface_description(out: &mut Vec<u8>, name: &str, snap: u32) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
        out.extend_from_slice(&0_u16.to_le_bytes());
        out.extend_from_slice(&snap.to_le_bytes());
        option(out, OPTION_INTERFACE_NAME, &name.as_bytes()[..name.len().min(usize::from(u16::MAX))]);
        option(out, OPTION_TIME_RESOLUTION, &[9]);
        option(out, OPTION_END, &[]);
    });
}

/// Appends one packet captured at `interface` and at `nanoseconds`. `content` appends the kept
/// bytes of the packet and returns the packet's original length.
pub(crate) fn enhanced_packet(
    out: &mut Vec<u8>,
    interface: u32,
    nanoseconds: u64,
    comment: Option<&str>,
    content: impl FnOnce(&mut Vec<u8>) -> u32,
) {
    block(out, ENHANCED_PACKET, |out| {
        out.extend_from_slice(&interface.to_le_bytes());
        out.extend_from_slice(&((nanoseconds >> 32) as u32).to_le_bytes());
        out.extend_from_slice(&(nanoseconds as u32).to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        let begin = out.len();
        let original = content(out);
        let captured = (out.len() - begin) as u32;
        out[begin - 8..begin - 4].copy_from_slice(&captured.to_le_bytes());
        out[begin - 4..begin].copy_from_slice(&original.to_le_bytes());
        pad(out, begin);
        if let Some(comment) = comment {
            option(out, OPTION_COMMENT, comment.as_bytes());
            option(out, OPTION_END, &[]);
        }
    });
}

/// Appends a block, with its type at the start and its length at the start and the end.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = ((out.len() - begin + 4) as u32).to_le_bytes();
    out[begin + 4..begin + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    let begin = out.len();
    out.extend_from_slice(value);
    pad(out, begin);
}

/// Pads the data appended since `begin` to 32 bits.
fn pad(out: &mut Vec<u8>, begin: usize) {
    let missing = (out.len() - begin).wrapping_neg() % 4;
    out.extend_from_slice(&[0; 3][..missing]);
}
