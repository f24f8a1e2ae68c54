//! A segment's header as bytes, for captures.

use crate::packet::segment::{EcnOrder, Segment, SegmentFlags, SegmentOptions};
use crate::{Content, Damage, Packet, Payload, IPV4_HEADER, TCP};

impl Payload for Segment {
    fn content(&self) -> Content {
        match self.payload {
            0 => Content::Feedback,
            _ => Content::Data,
        }
    }

    fn protocol(&self) -> u8 {
        TCP
    }

    fn header(&self, packet: &Packet, notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
        header(packet, self, shift(packet, self, notes), out);
        self.payload.into()
    }

    fn damage(&self, _packet: &Packet, valid: bool, _byte: &mut dyn FnMut() -> u32) -> Damage {
        match valid {
            true if self.payload == 0 => Damage::Lost,
            true => Damage::Unnoticed,
            false => Damage::Noticed,
        }
    }
}

/// Returns the window scale of this segment. A scale is in use if both ends have announced one (RFC
/// 7323, section 2.2); an end whose SYN passed no capture point counts as having announced it. The
/// notes are by direction, first that from the lower to the higher node number: 0 before a SYN was
/// seen, 1 for a SYN without a scale, otherwise 2 plus the scale.
fn shift(packet: &Packet, segment: &Segment, notes: &mut [u32; 2]) -> u8 {
    let direction = usize::from(packet.source > packet.destination);
    if segment.flags.contains(SegmentFlags::SYN) {
        let announced = segment.options.as_deref().and_then(|options| options.window_scale);
        notes[direction] = announced.map_or(1, |scale| 2 + u32::from(scale));
        return 0;
    }
    match (notes[direction], notes[1 - direction]) {
        (_, 1) => 0,
        (own, _) => own.saturating_sub(2) as u8,
    }
}

/// Appends a TCP header without ports and checksum.
fn header(packet: &Packet, segment: &Segment, shift: u8, out: &mut Vec<u8>) {
    let begin = out.len();
    let is_syn = segment.flags.contains(SegmentFlags::SYN);
    let acknowledgment = if segment.flags.contains(SegmentFlags::ACK) { segment.acknowledgment } else { 0 };
    let window = if is_syn { segment.window } else { segment.window >> shift };
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&segment.sequence.to_be_bytes());
    out.extend_from_slice(&acknowledgment.to_be_bytes());
    out.extend_from_slice(&[0, segment.flags.header_byte()]);
    out.extend_from_slice(&(window.min(u32::from(u16::MAX)) as u16).to_be_bytes());
    out.extend_from_slice(&[0; 4]);

    let room = packet.size.saturating_sub(IPV4_HEADER) as usize;
    let room = room.saturating_sub(usize::from(segment.payload));
    options(segment, out, begin);
    debug_assert!(
        out.len() - begin <= room && room <= TCP_HEADER_MAX && room % 4 == 0,
        "{room} bytes for a TCP header of {} in {packet:?}",
        out.len() - begin
    );
    let padded = room.clamp(out.len() - begin, TCP_HEADER_MAX) & !3;
    out.resize(begin + padded, NOP);
    out[begin + 12] = (padded as u8 / 4) << 4 | u8::from(segment.flags.contains(SegmentFlags::AE));
}

/// The largest TCP header: its length is a count of 32-bit words in four bits.
const TCP_HEADER_MAX: usize = 60;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const SCPS: u8 = 20;
const SNACK: u8 = 21;
const QUICK_START: u8 = 27;
const ACC_ECN_0: u8 = 172;
const ACC_ECN_1: u8 = 174;

/// Appends the options in the order of Linux (tcp_options_write): MSS, SACK permitted, timestamps,
/// window scale, SACK. Each is padded at its front to 32 bits, and SACK permitted takes the place
/// of the timestamps' padding.
fn options(segment: &Segment, out: &mut Vec<u8>, begin: usize) {
    let none = SegmentOptions::default();
    let options = segment.options.as_deref().unwrap_or(&none);
    if let Some(mss) = options.mss {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    if options.sack_permitted {
        if segment.timestamps.is_none() {
            out.extend_from_slice(&[NOP, NOP]);
        }
        out.extend_from_slice(&[SACK_PERMITTED, 2]);
    }
    if let Some(stamps) = segment.timestamps {
        if !options.sack_permitted {
            out.extend_from_slice(&[NOP, NOP]);
        }
        out.extend_from_slice(&[TIMESTAMPS, 10]);
        out.extend_from_slice(&stamps.value().to_be_bytes());
        out.extend_from_slice(&stamps.echo().to_be_bytes());
    }
    if let Some(scale) = options.window_scale {
        out.extend_from_slice(&[NOP, WINDOW_SCALE, 3, scale]);
    }
    rare_options(options, out);
    // Three blocks fit next to timestamps, four without timestamps (RFC 2018, section 3).
    let room = (TCP_HEADER_MAX - (out.len() - begin)).saturating_sub(4) / 8;
    let blocks = options.sack.as_slice();
    let blocks = &blocks[..blocks.len().min(room)];
    if !blocks.is_empty() {
        out.extend_from_slice(&[NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for (left, right) in blocks {
            out.extend_from_slice(&left.to_be_bytes());
            out.extend_from_slice(&right.to_be_bytes());
        }
    }
}

/// Appends the options of SCPS-TP (kinds 20 and 21, CCSDS 714.0-B-2), Quick-Start (kind 27, RFC
/// 4782) and accurate ECN (kinds 172 and 174, RFC 9768). The Quick-Start request is an option of
/// the IP header and becomes padding here.
fn rare_options(options: &SegmentOptions, out: &mut Vec<u8>) {
    if options.snack_permitted {
        // Both forms of SNACK: Sn1 and Sn2.
        out.extend_from_slice(&[SCPS, 4, 0x60, 0]);
    }
    if let Some(snack) = &options.snack {
        let length = snack.bytes() as usize;
        out.resize(out.len() + length.next_multiple_of(4) - length, NOP);
        out.extend_from_slice(&[SNACK, length as u8]);
        out.extend_from_slice(&snack.offset.to_be_bytes());
        out.extend_from_slice(&snack.size.to_be_bytes());
        let vector = snack.vector.to_le_bytes();
        out.extend(vector[..length - 6].iter().map(|byte| byte.reverse_bits()));
    }
    if let Some(rate) = options.granted {
        out.extend_from_slice(&[QUICK_START, 8, rate & 0x0f, 0, 0, 0, 0, 0]);
    }
    if let Some(counters) = &options.ecn_bytes {
        let length = counters.bytes() as usize;
        out.resize(out.len() + length.next_multiple_of(4) - length, NOP);
        let kind = match counters.order {
            EcnOrder::Ect0First => ACC_ECN_0,
            EcnOrder::Ect1First => ACC_ECN_1,
        };
        out.extend_from_slice(&[kind, length as u8]);
        for field in counters.fields() {
            out.extend_from_slice(&field.to_be_bytes()[1..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::segment::EcnBytes;
    use bentpipe_core::{FlowId, NodeId};

    /// RFC 9768, figures 2 and 4: AE is the last bit of the byte before the flags, and the option
    /// has big-endian counters of three bytes.
    #[test]
    fn accurate_ecn_is_captured_as_flag_and_option() {
        let counters = EcnBytes::new(EcnOrder::Ect1First, [0x01_0203, 0x04_0506, 0x07_0809], 2);
        let options = SegmentOptions { ecn_bytes: Some(counters), ..SegmentOptions::default() };
        let flags = SegmentFlags::ACK.with(SegmentFlags::of_ace(0b110));
        let segment = Segment { flags, options: Some(Box::new(options)), ..Segment::default() };
        let packet = Packet { size: 48, flow: FlowId(1), ..Packet::default() };
        let mut out = Vec::new();
        header(&packet, &segment, 0, &mut out);
        assert_eq!(out[12..14], [7 << 4 | 1, 0x90], "AE, CWR and ACK");
        assert_eq!(out[20..], [174, 8, 7, 8, 9, 4, 5, 6]);
    }

    #[test]
    fn a_window_is_scaled_when_both_ends_announced_it() {
        let mut notes = [0; 2];
        let mut shift = |from: u16, flags, window_scale| {
            let options = SegmentOptions { window_scale, ..SegmentOptions::default() };
            let segment = Segment { flags, options: Some(Box::new(options)), ..Segment::default() };
            let (source, destination) = (NodeId(from), NodeId(1 - from));
            let packet = Packet { size: 40, flow: FlowId(1), source, destination, ..Packet::default() };
            super::shift(&packet, &segment, &mut notes)
        };
        assert_eq!(shift(0, SegmentFlags::ACK, None), 0);
        assert_eq!(shift(0, SegmentFlags::SYN, Some(7)), 0);
        assert_eq!(shift(0, SegmentFlags::ACK, None), 7);
        assert_eq!(shift(1, SegmentFlags::SYN.with(SegmentFlags::ACK), Some(3)), 0);
        assert_eq!((shift(0, SegmentFlags::ACK, None), shift(1, SegmentFlags::ACK, None)), (7, 3));
        assert_eq!(shift(1, SegmentFlags::SYN.with(SegmentFlags::ACK), None), 0);
        assert_eq!((shift(0, SegmentFlags::ACK, None), shift(1, SegmentFlags::ACK, None)), (0, 0));
    }
}
