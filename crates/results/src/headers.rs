//! Real headers for model packets: IPv4 (RFC 791), TCP (RFC 9293) and UDP (RFC 768), with valid checksums over
//! a payload of zeros.
//!
//! | field | value |
//! | --- | --- |
//! | addresses, ports | those of [`bentpipe_core::address`]; the ports are dynamic ones, so that no dissector claims them |
//! | identification | the packet's number, modulo 65536; "don't fragment" is set |
//! | time to live | 64: models do not count it down |
//! | TCP options | in the order in which Linux writes them, padded with NOP to the packet's header size |
//! | TCP window | divided by the scale that this direction announced on its SYN |
//! | urgent pointer | 0 |
//!
//! Control messages travel as UDP between [`CONTROL_PORT`] at both ends, with zeros for a payload and their
//! content in words as the packet's comment. One that is smaller than its headers is written as its headers.

use bentpipe_core::address::{ipv4, port_of, ports};
use bentpipe_core::{Body, Packet, Segment, SegmentFlags, SegmentOptions};

/// UDP port of control messages, at both ends.
pub const CONTROL_PORT: u16 = 65535;

const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// The largest TCP header: its length is a count of 32-bit words in four bits.
const TCP_HEADER_MAX: usize = 60;

/// Appends the headers of a packet that is not a frame, for a payload of zeros, and returns the bytes of the whole
/// packet. `shift` is the window scale that is in use in this direction.
pub(crate) fn write(packet: &Packet, shift: u8, out: &mut Vec<u8>) -> u32 {
    let begin = out.len();
    out.resize(begin + IP_HEADER, 0);
    let protocol = match &packet.body {
        Body::Segment(segment) => {
            tcp(packet, segment, shift, out);
            6
        }
        Body::Datagram | Body::Tfrc(_) | Body::Control(_) => {
            out.resize(begin + IP_HEADER + UDP_HEADER, 0);
            17
        }
        Body::Frame(_) | Body::Spoiled(_) => {
            unreachable!("frames have headers, and what is spoiled is opened first")
        }
    };
    let headers = out.len() - begin;
    // The length field of IPv4 has 16 bits.
    let length = match &packet.body {
        Body::Segment(segment) => headers + usize::from(segment.payload),
        _ => headers.max(packet.size as usize),
    }
    .min(usize::from(u16::MAX)) as u16;

    let (source, destination) = (ipv4(packet.source).octets(), ipv4(packet.destination).octets());
    let (source_port, destination_port) = ports_of(packet);
    let (ip, transport) = out[begin..].split_at_mut(IP_HEADER);
    ip[0] = 0x45;
    ip[1] = packet.dscp << 2 | packet.ecn as u8;
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    ip[4..6].copy_from_slice(&(packet.number as u16).to_be_bytes());
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = protocol;
    ip[12..16].copy_from_slice(&source);
    ip[16..20].copy_from_slice(&destination);
    let checksum = !fold(sum(ip));
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());

    transport[0..2].copy_from_slice(&source_port.to_be_bytes());
    transport[2..4].copy_from_slice(&destination_port.to_be_bytes());
    let transport_length = length - IP_HEADER as u16;
    if protocol == 17 {
        transport[4..6].copy_from_slice(&transport_length.to_be_bytes());
    }
    let pseudo_header = sum(&ip[12..20]) + u32::from(protocol) + u32::from(transport_length);
    let checksum = !fold(pseudo_header + sum(transport));
    if protocol == 17 {
        // An UDP checksum of zero would mean that there is none (RFC 768).
        let checksum = if checksum == 0 { 0xffff } else { checksum };
        transport[6..8].copy_from_slice(&checksum.to_be_bytes());
    } else {
        transport[16..18].copy_from_slice(&checksum.to_be_bytes());
    }
    u32::from(length)
}

fn ports_of(packet: &Packet) -> (u16, u16) {
    if matches!(packet.body, Body::Control(_)) {
        return (CONTROL_PORT, CONTROL_PORT);
    }
    let (low, high) = ports(packet.flow);
    let low = port_of(packet.connection, low);
    if packet.source <= packet.destination {
        (low, high)
    } else {
        (high, low)
    }
}

/// Appends a TCP header without ports and checksum.
fn tcp(packet: &Packet, segment: &Segment, shift: u8, out: &mut Vec<u8>) {
    let begin = out.len();
    let is_syn = segment.flags.contains(SegmentFlags::SYN);
    let acknowledgment = if segment.flags.contains(SegmentFlags::ACK) { segment.acknowledgment } else { 0 };
    let window = if is_syn { segment.window } else { segment.window >> shift };
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&segment.sequence.to_be_bytes());
    out.extend_from_slice(&acknowledgment.to_be_bytes());
    out.extend_from_slice(&[0, segment.flags.0]);
    out.extend_from_slice(&(window.min(u32::from(u16::MAX)) as u16).to_be_bytes());
    out.extend_from_slice(&[0; 4]);

    let room = packet.size as usize - IP_HEADER.min(packet.size as usize);
    let room = room.saturating_sub(usize::from(segment.payload));
    options(segment, out, begin);
    debug_assert!(
        out.len() - begin <= room && room <= TCP_HEADER_MAX && room % 4 == 0,
        "{room} bytes for a TCP header of {} in {packet:?}",
        out.len() - begin
    );
    let padded = room.clamp(out.len() - begin, TCP_HEADER_MAX) & !3;
    out.resize(begin + padded, NOP);
    out[begin + 12] = (padded as u8 / 4) << 4;
}

const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const SCPS: u8 = 20;
const SNACK: u8 = 21;
const QUICK_START: u8 = 27;

/// Appends the options in Linux' order (tcp_options_write): MSS, SACK permitted, timestamps, window scale, SACK;
/// each padded at its front to 32 bits, and SACK permitted in the place of the timestamps' padding.
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
    // Three blocks fit beside timestamps, four without (RFC 2018, section 3).
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

/// Appends what SCPS-TP (kinds 20 and 21, CCSDS 714.0-B-2) and Quick-Start (kind 27, RFC 4782) add; the request of the latter, an
/// option of the IP header, is left to the padding.
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
}

/// Sum of 16-bit words (RFC 1071); all headers have an even length.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::{Ecn, FlowId, NodeId, Time, Timestamps};

    #[test]
    fn checksums_over_header_and_zeros_verify() {
        let options = SegmentOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            ..SegmentOptions::default()
        };
        let segment = Segment {
            sequence: 0xffff_fff0,
            window: 65_535,
            flags: SegmentFlags::SYN,
            timestamps: Some(Timestamps::new(1, 0)),
            options: Some(Box::new(options)),
            ..Segment::default()
        };
        for (body, size) in [(Body::Segment(segment), 60), (Body::Datagram, 1500), (Body::Datagram, 28)] {
            let packet = Packet {
                birth: Time::ZERO,
                number: 70_000,
                size,
                flow: FlowId(9),
                source: NodeId(4),
                destination: NodeId(1),
                connection: 0,
                dscp: 46,
                ecn: Ecn::Ect0,
                body,
            };
            let mut bytes = Vec::new();
            assert_eq!(write(&packet, 0, &mut bytes), size);
            bytes.resize(size as usize, 0);
            assert_eq!(fold(sum(&bytes[..20])), 0xffff);
            let pseudo_header = sum(&bytes[12..20]) + u32::from(bytes[9]) + (size - 20);
            assert_eq!(fold(pseudo_header + sum(&bytes[20..])), 0xffff);
            assert_eq!((bytes[1], &bytes[12..20]), (46 << 2 | 2, &[198, 18, 0, 5, 198, 18, 0, 2][..]));
        }
    }
}
