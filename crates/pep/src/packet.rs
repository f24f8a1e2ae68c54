//! TCP/IP packets as bytes: the client's SYN is read, and what answers it when there is no connection to be had is made.
//!
//! IPv4 RFC 791, IPv6 RFC 8200, TCP RFC 9293, the Internet checksum RFC 1071, ICMP RFC 792, ICMPv6 RFC 4443.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// Longest ICMPv6 error (RFC 4443, section 2.4).
const IPV6_LEAST_MTU: usize = 1280;

/// Who talks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The end that opened the connection.
    pub client: SocketAddr,
    /// The other.
    pub server: SocketAddr,
}

/// A TCP segment without its data: where it is from and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// From whom, to whom.
    pub source: SocketAddr,
    /// To whom.
    pub destination: SocketAddr,
    /// The field DS and ECN (type of service, traffic class).
    pub tos: u8,
    /// Where the TCP header begins.
    pub start: usize,
    /// Sequence number.
    pub sequence: u32,
    /// FIN 1, SYN 2, RST 4, PSH 8, ACK 16.
    pub flags: u8,
}

/// The flag ACK.
pub const ACK: u8 = 16;

fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads the header of an IP packet with TCP: where TCP begins, the type of service, source and destination.
fn network(packet: &[u8]) -> Option<(usize, u8, IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let start = usize::from(packet[0] & 15) * 4;
            let fragmented = word16(packet, 6)? & 0x3fff != 0;
            if start < 20 || *packet.get(9)? != TCP || fragmented {
                return None;
            }
            let address = |at| Some(IpAddr::from(Ipv4Addr::from(word32(packet, at)?)));
            Some((start, packet[1], address(12)?, address(16)?))
        }
        6 => {
            let address = |at: usize| {
                let octets: [u8; 16] = packet.get(at..at + 16)?.try_into().ok()?;
                Some(IpAddr::from(Ipv6Addr::from(octets)))
            };
            let tos = (word16(packet, 0)? >> 4) as u8;
            Some((ipv6_payload(packet)?, tos, address(8)?, address(24)?))
        }
        _ => None,
    }
}

/// Reads an IP packet with a TCP header; none when it is not one, or not whole.
pub fn read(packet: &[u8]) -> Option<Segment> {
    let (start, tos, source, destination) = network(packet)?;
    packet.get(start..start + 20)?;
    Some(Segment {
        source: SocketAddr::new(source, word16(packet, start)?),
        destination: SocketAddr::new(destination, word16(packet, start + 2)?),
        tos,
        start,
        sequence: word32(packet, start + 4)?,
        flags: packet[start + 13] & 63,
    })
}

/// Where TCP begins after IPv6's extension headers (hop-by-hop, routing, destination).
fn ipv6_payload(packet: &[u8]) -> Option<usize> {
    let (mut next, mut at) = (*packet.get(6)?, 40);
    loop {
        match next {
            TCP => return Some(at),
            0 | 43 | 60 => {
                next = *packet.get(at)?;
                at += 8 + usize::from(*packet.get(at + 1)?) * 8;
            }
            _ => return None,
        }
    }
}

/// Reads an ICMP error about a TCP packet: between whom that was, and the kernel's number for the error.
pub fn read_error(packet: &[u8]) -> Option<(Flow, i32)> {
    let (quoted, error) = match packet.first()? >> 4 {
        4 if *packet.get(9)? == ICMP => {
            let start = usize::from(packet[0] & 15) * 4;
            let error = match packet.get(start..start + 2)? {
                [3, 0 | 5 | 6 | 11] => libc::ENETUNREACH,
                [3, 1 | 7 | 8 | 12] => libc::EHOSTUNREACH,
                [3, 2 | 3] => libc::ECONNREFUSED,
                [3, 9 | 10 | 13] => libc::EACCES,
                _ => return None,
            };
            (packet.get(start + 8..)?, error)
        }
        6 if *packet.get(6)? == ICMPV6 => {
            let error = match packet.get(40..42)? {
                [1, 0] => libc::ENETUNREACH,
                [1, 1 | 5 | 6] => libc::EACCES,
                [1, 2 | 3] => libc::EHOSTUNREACH,
                [1, 4] => libc::ECONNREFUSED,
                _ => return None,
            };
            (packet.get(48..)?, error)
        }
        _ => return None,
    };
    let (start, _, client, server) = network(quoted)?;
    let port = |at| word16(quoted, start + at);
    Some((
        Flow { client: SocketAddr::new(client, port(0)?), server: SocketAddr::new(server, port(2)?) },
        error,
    ))
}

/// The Internet checksum of the parts, each of even length but for the last.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// The checksum of an upper layer's message with the pseudo-header of either version, which sum up alike.
fn with_addresses(source: IpAddr, destination: IpAddr, protocol: u8, message: &[u8]) -> u16 {
    let length = (message.len() as u32).to_be_bytes();
    checksum(&[&octets(source), &octets(destination), &length, &[0, protocol], message])
}

/// Writes the TCP checksum, which a packet from this machine's own interfaces may not have yet (checksum offload).
pub fn complete(packet: &mut [u8], segment: &Segment) {
    let start = segment.start;
    packet[start + 16..start + 18].fill(0);
    let sum = with_addresses(segment.source.ip(), segment.destination.ip(), TCP, &packet[start..]);
    packet[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
}

/// A packet from `source` to `destination` with this message; the kernel fills in IPv4's length, checksum and identity.
fn packet(source: IpAddr, destination: IpAddr, protocol: u8, message: &[u8]) -> Vec<u8> {
    const HOPS: u8 = 64;
    let mut packet = Vec::with_capacity(40 + message.len());
    if source.is_ipv4() {
        packet.extend([0x45, 0]);
        packet.extend((20 + message.len() as u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, HOPS, protocol, 0, 0]);
    } else {
        packet.extend([0x60, 0, 0, 0]);
        packet.extend((message.len() as u16).to_be_bytes());
        packet.extend([protocol, HOPS]);
    }
    packet.extend(octets(source));
    packet.extend(octets(destination));
    packet.extend(message);
    packet
}

/// What a server that refuses answers to a SYN (RFC 9293, section 3.10.7.1).
pub fn refusal(syn: &[u8], segment: &Segment) -> Vec<u8> {
    const RST_ACK: u8 = 4 | ACK;
    let data = syn.len() - segment.start - usize::from(syn[segment.start + 12] >> 4) * 4;
    let acknowledged = segment.sequence.wrapping_add(1 + data as u32);
    let mut message = Vec::with_capacity(20);
    message.extend(segment.destination.port().to_be_bytes());
    message.extend(segment.source.port().to_be_bytes());
    message.extend(0_u32.to_be_bytes());
    message.extend(acknowledged.to_be_bytes());
    message.extend([5 << 4, RST_ACK, 0, 0, 0, 0, 0, 0]);
    let sum = with_addresses(segment.destination.ip(), segment.source.ip(), TCP, &message);
    message[16..18].copy_from_slice(&sum.to_be_bytes());
    packet(segment.destination.ip(), segment.source.ip(), TCP, &message)
}

/// Why a server cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// There is no route.
    Network,
    /// It does not answer to ARP or neighbour discovery, or a router said so.
    Host,
    /// A rule forbids it.
    Forbidden,
}

/// What a router answers to a SYN that it cannot pass on, in the server's name, as this machine's own address need not
/// be one that the client could be reached from.
pub fn unreachable(syn: &[u8], segment: &Segment, why: Unreachable) -> Vec<u8> {
    let (source, destination) = (segment.destination.ip(), segment.source.ip());
    if source.is_ipv4() {
        let code = match why {
            Unreachable::Network => 0,
            Unreachable::Host => 1,
            Unreachable::Forbidden => 13,
        };
        // The header and 64 bits of data (RFC 792).
        let quoted = &syn[..syn.len().min(segment.start + 8)];
        let mut message = vec![3, code, 0, 0, 0, 0, 0, 0];
        message.extend(quoted);
        let sum = checksum(&[&message]);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        packet(source, destination, ICMP, &message)
    } else {
        let code = match why {
            Unreachable::Network => 0,
            Unreachable::Host => 3,
            Unreachable::Forbidden => 1,
        };
        let quoted = &syn[..syn.len().min(IPV6_LEAST_MTU - 48)];
        let mut message = vec![1, code, 0, 0, 0, 0, 0, 0];
        message.extend(quoted);
        let sum = with_addresses(source, destination, ICMPV6, &message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        packet(source, destination, ICMPV6, &message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN of Linux' from 10.0.1.2:35450 to 10.0.2.2:80, as a tap saw it, and its TCP checksum as the kernel accepts it.
    const LINUX: &str = "4500003c702640004006b3920a0001020a0002028a7a005065b8e89f00000000a002faf0\
                         17320000020405b40402080a8ae644be000000000103030a";

    fn bytes(hex: &str) -> Vec<u8> {
        let hex: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        hex.chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    /// RFC 1071: the sum over what is checked, its checksum included, is all ones.
    fn holds(packet: &[u8]) -> bool {
        let message = if packet[0] >> 4 == 4 { 20 } else { 40 };
        let (source, destination) = match packet[0] >> 4 {
            4 => (&packet[12..16], &packet[16..20]),
            _ => (&packet[8..24], &packet[24..40]),
        };
        let protocol = if packet[0] >> 4 == 4 { packet[9] } else { packet[6] };
        let length = ((packet.len() - message) as u32).to_be_bytes();
        match protocol {
            1 => checksum(&[&packet[message..]]) == 0,
            _ => checksum(&[source, destination, &length, &[0, protocol], &packet[message..]]) == 0,
        }
    }

    /// The same SYN over IPv6, with a header of destination options before it.
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
            let payload = [&packet[..40 * usize::from(tos != 0)], &packet[segment.start..]].concat();
            let sum =
                with_addresses(segment.source.ip(), segment.destination.ip(), TCP, &packet[segment.start..]);
            assert_eq!(sum, 0, "{payload:?}");
        }
    }

    #[test]
    fn what_is_no_whole_tcp_packet_is_refused() {
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
    fn a_refusal_is_from_the_server_and_acknowledges_the_syn_and_its_data() {
        for mut syn in [bytes(LINUX), ipv6()] {
            syn.extend(b"data");
            let segment = read(&syn).unwrap();
            let answer = refusal(&syn, &segment);
            let told = read(&answer).unwrap();
            assert_eq!((told.source, told.destination), (segment.destination, segment.source));
            assert_eq!(told.flags, 4 | ACK);
            assert_eq!(word32(&answer, told.start + 8), Some(segment.sequence + 5));
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
