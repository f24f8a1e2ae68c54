//! Real headers for model packets: IPv4 (RFC 791), TCP (RFC 9293) and UDP (RFC 768), with valid
//! checksums over a payload of zeros.
//!
//! | field | value |
//! | --- | --- |
//! | addresses, ports | those of [`bentpipe_core::address`]; ports are dynamic, so that no dissector is selected by port |
//! | identification | the packet's number, modulo 65536; "don't fragment" is set |
//! | time to live | 64: models do not decrement it |
//! | TCP options | in the order of Linux, padded with NOP to the packet's header size |
//! | TCP window | divided by the scale that this direction announced in its SYN |
//! | urgent pointer | 0 |
//!
//! Control messages are UDP datagrams between [`CONTROL_PORT`] at both ends, with a payload of
//! zeros and their content as the packet's comment. A control message that is smaller than its
//! headers has the length of its headers.

use bentpipe_core::address::{ipv4, port_of, ports};
use bentpipe_stage::{Content, Packet, Payload, IPV4_HEADER, TCP, UDP, UDP_HEADER};
use bentpipe_wire::write;

/// UDP port of control messages, at both ends.
pub const CONTROL_PORT: u16 = 65535;

const IP_HEADER: usize = IPV4_HEADER as usize;

/// Appends the headers of a packet with the layer `payload`, whose data are zeros. Returns the
/// number of bytes of the whole packet. `notes` is passed to [`Payload::header`].
pub(crate) fn append(packet: &Packet, payload: &dyn Payload, notes: &mut [u32; 2], out: &mut Vec<u8>) -> u32 {
    let begin = out.len();
    let protocol = payload.protocol();
    out.resize(begin + IP_HEADER + if protocol == UDP { UDP_HEADER as usize } else { 0 }, 0);
    let data = payload.header(packet, notes, out) as usize;
    // The length field of IPv4 has 16 bits.
    let length = (out.len() - begin + data).min(usize::from(u16::MAX)) as u16;

    let ends = (ipv4(packet.source), ipv4(packet.destination));
    let class = packet.traffic_class();
    let (ip, transport) = out[begin..].split_at_mut(IP_HEADER);
    ip.copy_from_slice(&write::ipv4(ends, class, packet.number as u16, protocol, length));
    if protocol == UDP || protocol == TCP {
        write::transport(ends, protocol, ports_of(packet, payload), length - IP_HEADER as u16, transport);
    }
    u32::from(length)
}

fn ports_of(packet: &Packet, payload: &dyn Payload) -> (u16, u16) {
    if payload.content() == Content::Signalling {
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

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::{FlowId, NodeId, Time};
    use bentpipe_stage::packet::segment::{Segment, SegmentFlags, SegmentOptions, Timestamps};
    use bentpipe_stage::packet::Leg;
    use bentpipe_stage::{Body, Ecn};
    use bentpipe_wire::checksum;

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
                leg: Leg::THERE,
                dscp: 46,
                ecn: Ecn::Ect0,
                body,
            };
            let mut bytes = Vec::new();
            let payload = packet.body.payload().unwrap();
            assert_eq!(append(&packet, payload, &mut [0; 2], &mut bytes), size);
            bytes.resize(size as usize, 0);
            let headers = bentpipe_wire::read(&bytes).unwrap();
            let (source, destination) = (headers.source, headers.destination);
            let sum = checksum::with_addresses(source, destination, headers.protocol, &bytes[20..]);
            assert_eq!((checksum::of(&bytes[..20]), sum), (0, 0));
            assert_eq!((bytes[1], &bytes[12..20]), (46 << 2 | 2, &[198, 18, 0, 5, 198, 18, 0, 2][..]));
        }
    }
}
