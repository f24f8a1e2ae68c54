//! Real packets as the engine sees them: the fields of an IPv4 (RFC 791) or IPv6 (RFC 8200) header
//! that it needs, and those that models change, the code point (RFC 2474) and congestion
//! experienced (RFC 3168).

use bentpipe_core::FlowId;
use bentpipe_stage::Ecn;
use bentpipe_wire::TCP;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

/// The headers of a packet, as far as the engine needs them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// Source address of the packet.
    pub source: IpAddr,
    /// Destination address of the packet.
    pub destination: IpAddr,
    /// Differentiated services code point (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// Explicit congestion notification field (RFC 3168).
    pub ecn: Ecn,
    /// Identifier shared by the packets of one connection, and by hardly any others. It is never
    /// the number of a scenario's flow: its highest bit is set.
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

/// Mixes the words that distinguish connections (the finaliser of SplitMix64).
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

fn both(source: Ipv4Addr, destination: Ipv4Addr) -> u64 {
    u64::from(u32::from(source)) << 32 | u64::from(u32::from(destination))
}

/// Returns the identifier that [`parse`] gives to packets from `source` to `destination` of a TCP
/// connection.
pub fn tcp_flow(source: SocketAddrV4, destination: SocketAddrV4) -> FlowId {
    let addresses = both(*source.ip(), *destination.ip());
    let ports = u64::from(source.port()) << 16 | u64::from(destination.port());
    flow([addresses, ports, TCP.into()])
}

/// Returns true if a TCP packet contains payload.
pub fn has_data(packet: &[u8]) -> bool {
    let tcp = bentpipe_wire::read(packet).filter(|headers| headers.protocol == TCP);
    tcp.and_then(|headers| headers.payload(packet)).is_some_and(|data| !data.is_empty())
}

/// Returns true if a TCP packet begins or ends a connection, or one of its directions: SYN, FIN or
/// RST.
pub fn begins_or_ends(packet: &[u8]) -> bool {
    const SYN_FIN_RST: u8 = 0b111;
    let tcp = bentpipe_wire::read(packet).filter(|headers| headers.protocol == TCP && !headers.fragment);
    tcp.and_then(|headers| packet.get(headers.begin + 13)).is_some_and(|flags| flags & SYN_FIN_RST != 0)
}

/// Reads the headers of `packet`; `None` if it is not a packet of IPv4 or IPv6, see
/// [`bentpipe_wire`].
#[inline]
pub fn parse(packet: &[u8]) -> Option<Headers> {
    let headers = bentpipe_wire::read(packet)?;
    let addresses = match (headers.source, headers.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => both(source, destination),
        (source, destination) => {
            let wide = |address| match address {
                IpAddr::V4(address) => u128::from(u32::from(address)),
                IpAddr::V6(address) => u128::from(address),
            };
            let mixed = wide(source) ^ wide(destination).rotate_left(64);
            mixed as u64 ^ (mixed >> 64) as u64
        }
    };
    let ports =
        headers.ports.map_or(0, |(source, destination)| u64::from(source) << 16 | u64::from(destination));
    Some(Headers {
        source: headers.source,
        destination: headers.destination,
        dscp: headers.traffic_class >> 2,
        ecn: ecn(headers.traffic_class),
        flow: flow([addresses, ports, headers.protocol.into()]),
    })
}

/// Sets code point and congestion notification of a packet, and updates its header's checksum.
#[inline]
pub fn mark(packet: &mut [u8], dscp: u8, ecn: Ecn) {
    bentpipe_wire::set_traffic_class(packet, dscp << 2 | ecn as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_wire::checksum;
    use std::net::Ipv6Addr;

    /// Returns the example of a valid IPv4 header with DSCP 46 and ECT(0), then ports 49152 and 80.
    fn ipv4() -> Vec<u8> {
        let mut packet =
            vec![0x45, 0xba, 0, 40, 0, 7, 0x40, 0, 64, 6, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2, 0xc0, 0, 0, 80];
        packet.resize(40, 0);
        let sum = checksum::of(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    #[test]
    fn headers_are_parsed_and_connections_distinguished() {
        let packet = ipv4();
        let headers = parse(&packet).unwrap();
        let destination = IpAddr::from([198, 18, 0, 2]);
        assert_eq!((headers.destination, headers.dscp, headers.ecn), (destination, 46, Ecn::Ect0));
        let ends = ["198.18.0.1:49152", "198.18.0.2:80"].map(|end| end.parse().unwrap());
        assert_eq!(headers.flow, tcp_flow(ends[0], ends[1]));
        let mut other = packet.clone();
        other[21] = 1;
        assert_ne!(parse(&other).unwrap().flow, headers.flow);
        assert_eq!(parse(&packet[..19]), None);
        assert_eq!(parse(&[0x15; 60]), None);
        // All fragments of a datagram have the same flow, with or without the ports.
        let (mut first, mut second) = (packet.clone(), packet);
        first[6] = 0x20;
        second[7] = 5;
        second[20..24].fill(9);
        assert_eq!(parse(&first).unwrap().flow, parse(&second).unwrap().flow);

        let mut packet = vec![0u8; 48];
        packet[..8].copy_from_slice(&[0x6b, 0xa0, 0, 0, 0, 8, 17, 64]);
        packet[24..40].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        let headers = parse(&packet).unwrap();
        let destination = IpAddr::V6(Ipv6Addr::LOCALHOST);
        assert_eq!((headers.destination, headers.dscp, headers.ecn), (destination, 46, Ecn::Ect0));
    }

    fn ipv6() -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, 59, 64];
        packet.resize(40, 0);
        packet
    }

    #[test]
    fn only_tcp_has_data() {
        let mut packet = ipv4();
        packet[32] = 5 << 4;
        assert!(!has_data(&packet));
        // The padding of an Ethernet frame is not payload.
        packet.push(0);
        assert!(!has_data(&packet));
        packet[3] += 1;
        assert!(has_data(&packet));
        packet[9] = 17;
        assert!(!has_data(&packet));
    }

    #[test]
    fn a_connection_begins_and_ends_with_three_flags() {
        let mut packet = ipv4();
        packet[32] = 5 << 4;
        let told = [0x01, 0x02, 0x04, 0x11, 0x12, 0x08, 0x10, 0x18, 0x20].map(|flags| {
            packet[33] = flags;
            begins_or_ends(&packet)
        });
        assert_eq!(told, [true, true, true, true, true, false, false, false, false]);
        packet[33] = 0x02;
        packet[9] = 17;
        assert!(!begins_or_ends(&packet) && !begins_or_ends(&packet[..20]));
    }

    #[test]
    fn a_marked_packet_has_its_code_point_and_a_valid_checksum() {
        for (dscp, ecn) in [(46, Ecn::Ce), (10, Ecn::Ect0), (46, Ecn::Ect0)] {
            for mut packet in [ipv4(), ipv6()] {
                mark(&mut packet, dscp, ecn);
                let headers = parse(&packet).unwrap();
                assert_eq!((headers.dscp, headers.ecn), (dscp, ecn));
                assert!(packet[0] >> 4 == 6 || checksum::of(&packet[..20]) == 0);
            }
        }
    }
}
