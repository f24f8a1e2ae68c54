//! TCP/IP packets as bytes: reads the client's SYN, and writes the answer when no connection is
//! possible.
//!
//! IPv4 RFC 791, IPv6 RFC 8200, TCP RFC 9293, the Internet checksum RFC 1071, ICMP RFC 792, ICMPv6
//! RFC 4443.

use bentpipe_wire::{checksum, read_quoted, write, Headers, ICMP, ICMPV6, TCP};
use std::net::SocketAddr;

/// Longest ICMPv6 error (RFC 4443, section 2.4).
const IPV6_MIN_MTU: usize = 1280;

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The end that opened the connection.
    pub client: SocketAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
}

/// The header of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address and port of the sender.
    pub source: SocketAddr,
    /// Address and port of the receiver.
    pub destination: SocketAddr,
    /// The DS and ECN fields (type of service, traffic class).
    pub tos: u8,
    /// Offset of the TCP header in the packet.
    pub start: usize,
    /// Sequence number of the segment.
    pub sequence: u32,
    /// FIN 1, SYN 2, RST 4, PSH 8, ACK 16.
    pub flags: u8,
}

/// The flag ACK in the header of TCP.
pub const ACK: u8 = 16;

fn addresses(headers: &Headers) -> Option<(SocketAddr, SocketAddr)> {
    let (source, destination) = headers.ports.filter(|_| headers.protocol == TCP)?;
    Some((SocketAddr::new(headers.source, source), SocketAddr::new(headers.destination, destination)))
}

/// Reads an IP packet with a whole TCP header. Returns `None` for any other. The data behind the
/// header may be cut off, as in a SYN that the kernel has saved.
pub fn read(packet: &[u8]) -> Option<Segment> {
    let headers = read_quoted(packet)?;
    let (source, destination) = addresses(&headers)?;
    let header: &[u8; 20] = packet[headers.begin..headers.end].first_chunk()?;
    Some(Segment {
        source,
        destination,
        tos: headers.traffic_class,
        start: headers.begin,
        sequence: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        flags: header[13] & 63,
    })
}

/// Reads an ICMP error about a TCP packet. Returns the connection and the kernel's number for the
/// error.
pub fn read_error(packet: &[u8]) -> Option<(Flow, i32)> {
    let headers = bentpipe_wire::read(packet)?;
    let quoted = &packet[headers.payload(packet)?];
    let error = match (headers.protocol, packet[headers.begin], packet[headers.begin + 1]) {
        (ICMP, 3, 0 | 5 | 6 | 11) | (ICMPV6, 1, 0) => libc::ENETUNREACH,
        (ICMP, 3, 1 | 7 | 8 | 12) | (ICMPV6, 1, 2 | 3) => libc::EHOSTUNREACH,
        (ICMP, 3, 2 | 3) | (ICMPV6, 1, 4) => libc::ECONNREFUSED,
        (ICMP, 3, 9 | 10 | 13) | (ICMPV6, 1, 1 | 5 | 6) => libc::EACCES,
        _ => return None,
    };
    let (client, server) = addresses(&read_quoted(quoted)?)?;
    Some((Flow { client, server }, error))
}

/// Writes the TCP checksum, which packets from this machine's own interfaces may lack (checksum
/// offload).
pub fn complete(packet: &mut [u8], segment: &Segment) {
    let at = segment.start + 16;
    packet[at..at + 2].fill(0);
    let (source, destination) = (segment.source.ip(), segment.destination.ip());
    let sum = checksum::with_addresses(source, destination, TCP, &packet[segment.start..]);
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Returns the answer of a server that refuses a SYN (RFC 9293, section 3.10.7.1).
pub fn refusal(syn: &[u8], segment: &Segment) -> Vec<u8> {
    let data = read_quoted(syn).and_then(|headers| headers.payload(syn)).map_or(0, |data| data.len());
    let acknowledged = segment.sequence.wrapping_add(1 + data as u32);
    write::reset(segment.destination, segment.source, acknowledged)
}

/// The reason why a server is unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// There is no route.
    Network,
    /// The server does not answer to ARP or neighbour discovery, or a router reported this.
    Host,
    /// A rule forbids the connection.
    Forbidden,
}

/// Returns a router's answer to a SYN that it cannot forward. It carries the server's address,
/// since the client might not be reachable from this machine's own.
pub fn unreachable(syn: &[u8], segment: &Segment, reason: Unreachable) -> Vec<u8> {
    let (source, destination) = (segment.destination.ip(), segment.source.ip());
    let (kind, code, quoted) = if source.is_ipv4() {
        let code = match reason {
            Unreachable::Network => 0,
            Unreachable::Host => 1,
            Unreachable::Forbidden => 13,
        };
        // The header and 64 bits of data (RFC 792).
        (3, code, segment.start + 8)
    } else {
        let code = match reason {
            Unreachable::Network => 0,
            Unreachable::Host => 3,
            Unreachable::Forbidden => 1,
        };
        (1, code, IPV6_MIN_MTU - 48)
    };
    write::icmp_error(source, destination, kind, code, &syn[..syn.len().min(quoted)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    /// A SYN of Linux from 10.0.1.2:35450 to 10.0.2.2:80, captured at a tap, with the TCP checksum
    /// that the kernel accepts.
    const LINUX: &str = "4500003c702640004006b3920a0001020a0002028a7a005065b8e89f00000000a002faf0\
                         17320000020405b40402080a8ae644be000000000103030a";

    fn bytes(hex: &str) -> Vec<u8> {
        let hex: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        hex.chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn holds(packet: &[u8]) -> bool {
        let headers = bentpipe_wire::read(packet).unwrap();
        let message = &packet[headers.begin..headers.end];
        checksum::with_addresses(headers.source, headers.destination, headers.protocol, message) == 0
    }

    /// Returns the same SYN over IPv6, with a header of destination options before it.
    fn ipv6() -> Vec<u8> {
        let tcp = bytes(LINUX)[20..].to_vec();
        let mut packet = vec![0x62, 0xe0, 0, 0];
        packet.extend((8 + tcp.len() as u16).to_be_bytes());
        packet.extend([60, 64]);
        packet.extend("2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend("2001:db8::2".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend([TCP, 0, 1, 4, 0, 0, 0, 0]);
        packet.extend(tcp);
        packet
    }

    #[test]
    fn a_syn_is_read_and_its_checksum_completed() {
        for (mut packet, client, tos) in
            [(bytes(LINUX), "10.0.1.2:35450", 0), (ipv6(), "[2001:db8::1]:35450", 0x2e)]
        {
            let segment = read(&packet).unwrap();
            assert_eq!(segment.source, client.parse().unwrap());
            assert_eq!((segment.destination.port(), segment.tos), (80, tos));
            assert_eq!((segment.sequence, segment.flags), (0x65b8_e89f, 2));
            complete(&mut packet, &segment);
            assert!(holds(&packet), "{packet:?}");
        }
    }

    #[test]
    fn truncated_and_non_tcp_packets_are_refused() {
        for packet in [bytes(LINUX), ipv6()] {
            for length in 0..packet.len() - 20 {
                assert_eq!(read(&packet[..length]), None, "{length} bytes");
            }
        }
        let mut udp = bytes(LINUX);
        udp[9] = 17;
        let mut fragment = bytes(LINUX);
        fragment[7] = 5;
        assert_eq!((read(&udp), read(&fragment)), (None, None));
    }

    #[test]
    fn a_refusal_has_the_server_s_address_and_acknowledges_syn_and_data() {
        for mut syn in [bytes(LINUX), ipv6()] {
            syn.extend(b"data");
            let length = if syn[0] >> 4 == 4 { 3 } else { 5 };
            syn[length] += 4;
            let segment = read(&syn).unwrap();
            let answer = refusal(&syn, &segment);
            let reset = read(&answer).unwrap();
            assert_eq!((reset.source, reset.destination), (segment.destination, segment.source));
            assert_eq!(reset.flags, 4 | ACK);
            assert_eq!(answer[reset.start + 8..reset.start + 12], (segment.sequence + 5).to_be_bytes());
            assert!(holds(&answer));
        }
    }

    #[test]
    fn unreachable_quotes_the_syn_in_both_versions() {
        for (syn, header, code) in [(bytes(LINUX), 20, 1), (ipv6(), 40, 3)] {
            let segment = read(&syn).unwrap();
            let answer = unreachable(&syn, &segment, Unreachable::Host);
            assert!(holds(&answer));
            assert_eq!(answer[header + 1], code);
            assert_eq!(answer[header + 8..], syn[..answer.len() - header - 8]);
            assert!(answer.len() >= header + 8 + segment.start + 8);
            let flow = Flow { client: segment.source, server: segment.destination };
            assert_eq!(read_error(&answer), Some((flow, libc::EHOSTUNREACH)));
            assert_eq!(read_error(&syn), None);
        }
    }
}
