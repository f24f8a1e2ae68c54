//! Real packets as the engine sees them: what it needs of an IPv4 (RFC 791) or IPv6 (RFC 8200) header, and what models
//! change in it, the code point of an edge (RFC 2474) and congestion experienced (RFC 3168).

use bentpipe_core::{checksum, FlowId};
use bentpipe_models::Ecn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// What the headers of a packet say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Differentiated services code point.
    pub dscp: u8,
    /// Congestion notification.
    pub ecn: Ecn,
    /// What the packets of one connection, and hardly any others, have in common. Never the number of a scenario's flow:
    /// its highest bit is set.
    pub flow: FlowId,
}

fn ecn(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Mixes the words that tell connections apart (the finaliser of SplitMix64).
fn flow(words: [u64; 3]) -> FlowId {
    let mut mixed = 0u64;
    for word in words {
        mixed = (mixed ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
    }
    FlowId(mixed as u32 | 1 << 31)
}

/// What [`parse`] gives the packets from `source` to `destination` of a TCP connection.
pub fn tcp_flow(source: SocketAddrV4, destination: SocketAddrV4) -> FlowId {
    let addresses = u64::from(u32::from(*source.ip())) << 32 | u64::from(u32::from(*destination.ip()));
    let ports = u64::from(source.port()) << 16 | u64::from(destination.port());
    flow([addresses, ports, TCP.into()])
}

/// Whether a packet of TCP over IPv4 has data.
pub fn has_data(packet: &[u8]) -> bool {
    let header = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
    let tcp = packet.get(header + 12).map_or(0, |offset| usize::from(offset >> 4) * 4);
    packet.len() > header + tcp
}

/// Source and destination port as one word; 0 where there are none at `offset`.
fn ports(protocol: u8, packet: &[u8], offset: usize) -> u64 {
    match (protocol, packet.get(offset..offset + 4)) {
        (TCP | UDP, Some(bytes)) => u64::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        _ => 0,
    }
}

/// Reads the headers of `packet`; `None` if it is neither IPv4 nor IPv6 or too short to be.
#[inline]
pub fn parse(packet: &[u8]) -> Option<Headers> {
    match packet.first()? >> 4 {
        4 => {
            let header = packet.get(..20)?;
            let word =
                |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            let (source, destination, protocol) = (word(12), word(16), header[9]);
            // Later fragments have no ports, so fragments of one datagram go without them altogether.
            let fragment = header[6] & 0x3f != 0 || header[7] != 0;
            let ports = if fragment { 0 } else { ports(protocol, packet, usize::from(header[0] & 15) * 4) };
            Some(Headers {
                source: IpAddr::V4(Ipv4Addr::from(source)),
                destination: IpAddr::V4(Ipv4Addr::from(destination)),
                dscp: header[1] >> 2,
                ecn: ecn(header[1]),
                flow: flow([u64::from(source) << 32 | u64::from(destination), ports, protocol.into()]),
            })
        }
        6 => {
            let header = packet.get(..40)?;
            let wide = |at: usize| u128::from_be_bytes(header[at..at + 16].try_into().expect("16 bytes"));
            let (source, destination, protocol) = (wide(8), wide(24), header[6]);
            let traffic_class = header[0] << 4 | header[1] >> 4;
            let mixed = source ^ destination.rotate_left(64);
            let ports = ports(protocol, packet, 40);
            Some(Headers {
                source: IpAddr::V6(Ipv6Addr::from(source)),
                destination: IpAddr::V6(Ipv6Addr::from(destination)),
                dscp: traffic_class >> 2,
                ecn: ecn(traffic_class),
                flow: flow([mixed as u64 ^ (mixed >> 64) as u64, ports, protocol.into()]),
            })
        }
        _ => None,
    }
}

/// Gives a packet this code point and congestion notification, with its header's checksum (RFC 1624, equation 3).
#[inline]
pub fn mark(packet: &mut [u8], dscp: u8, ecn: Ecn) {
    let class = dscp << 2 | ecn as u8;
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            if packet[1] == class {
                return;
            }
            let old = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = class;
            let new = u16::from_be_bytes([packet[0], packet[1]]);
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            packet[10..12].copy_from_slice(&checksum::updated(sum, old, new).to_be_bytes());
        }
        Some(6) if packet.len() >= 40 => {
            packet[0] = packet[0] & 0xf0 | class >> 4;
            packet[1] = packet[1] & 0x0f | class << 4;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of RFC 1071's kind: a valid IPv4 header with DSCP 46 and ECT(0), then ports 49152 and 80.
    fn ipv4() -> Vec<u8> {
        let mut packet =
            vec![0x45, 0xba, 0, 40, 0, 7, 0x40, 0, 64, 6, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2, 0xc0, 0, 0, 80];
        packet.resize(40, 0);
        let sum = !sum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    fn sum(bytes: &[u8]) -> u16 {
        let mut sum = checksum::sum(bytes);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn headers_are_read_and_connections_told_apart() {
        let packet = ipv4();
        let headers = parse(&packet).unwrap();
        assert_eq!((headers.source, headers.destination), ([198, 18, 0, 1].into(), [198, 18, 0, 2].into()));
        assert_eq!((headers.dscp, headers.ecn), (46, Ecn::Ect0));
        let mut other = packet.clone();
        other[21] = 1;
        assert_ne!(parse(&other).unwrap().flow, headers.flow);
        assert_eq!(parse(&packet[..19]), None);
        assert_eq!(parse(&[0x15; 60]), None);
        // Fragments of one datagram belong together, whether they have the ports or not.
        let (mut first, mut second) = (packet.clone(), packet);
        first[6] = 0x20;
        second[7] = 5;
        second[20..24].fill(9);
        assert_eq!(parse(&first).unwrap().flow, parse(&second).unwrap().flow);

        let mut packet = vec![0u8; 48];
        packet[..8].copy_from_slice(&[0x6b, 0xa0, 0, 0, 0, 8, 17, 64]);
        packet[8..24].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        let headers = parse(&packet).unwrap();
        assert_eq!((headers.source, headers.dscp, headers.ecn), (Ipv6Addr::LOCALHOST.into(), 46, Ecn::Ect0));
    }

    #[test]
    fn a_marked_packet_says_so_and_keeps_a_valid_checksum() {
        for (dscp, ecn) in [(46, Ecn::Ce), (10, Ecn::Ect0), (46, Ecn::Ect0)] {
            for mut packet in [ipv4(), vec![0x60; 40]] {
                mark(&mut packet, dscp, ecn);
                let headers = parse(&packet).unwrap();
                assert_eq!((headers.dscp, headers.ecn), (dscp, ecn));
                assert!(packet[0] >> 4 == 6 || sum(&packet[..20]) == 0xffff);
            }
        }
    }
}
