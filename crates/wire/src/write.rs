//! Functions that create packets with valid lengths and checksums.

use crate::{checksum, UDP};
use etherparse::{
    IpDscp, IpEcn, IpHeaders, IpNumber, Ipv4Header, Ipv6Header, PacketBuilder, PacketBuilderStep,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Time to live (hop limit) of created packets.
const HOPS: u8 = 64;

/// Returns an IPv4 header without options for a packet of `length` bytes. "Don't fragment" is set.
///
/// # Panics
/// If `length` is less than the length of the header, 20 bytes.
pub fn ipv4(
    ends: (Ipv4Addr, Ipv4Addr),
    class: u8,
    identification: u16,
    protocol: u8,
    length: u16,
) -> [u8; 20] {
    let (source, destination) = (ends.0.octets(), ends.1.octets());
    let payload = length.checked_sub(20).expect("a packet is not shorter than its header");
    let header = Ipv4Header::new(payload, HOPS, IpNumber(protocol), source, destination);
    let mut header = Ipv4Header { identification, ..header.expect("the length has 16 bits") };
    header.dscp = IpDscp::try_new(class >> 2).expect("a DSCP has six bits");
    header.ecn = IpEcn::try_new(class & 3).expect("an ECN field has two bits");
    header.header_checksum = header.calc_header_checksum();
    *header.to_bytes().first_chunk().expect("an IPv4 header without options has 20 bytes")
}

/// Sets the ports, the length and the checksum of a TCP or UDP header. `length` is the size in
/// bytes of the header and its payload, which consists of zeros.
pub fn transport(
    ends: (Ipv4Addr, Ipv4Addr),
    protocol: u8,
    ports: (u16, u16),
    length: u16,
    header: &mut [u8],
) {
    header[0..2].copy_from_slice(&ports.0.to_be_bytes());
    header[2..4].copy_from_slice(&ports.1.to_be_bytes());
    if protocol == UDP {
        header[4..6].copy_from_slice(&length.to_be_bytes());
    }
    let at = if protocol == UDP { 6 } else { 16 };
    header[at..at + 2].fill(0);
    let sum = checksum::with_zeros(ends.0.into(), ends.1.into(), protocol, header, length.into());
    header[at..at + 2].copy_from_slice(&checksum::sent(sum, protocol).to_be_bytes());
}

/// Returns a TCP segment with RST and ACK that refuses a connection from the other end (RFC 9293,
/// section 3.10.7.1).
///
/// # Panics
/// If the addresses are of different IP versions.
pub fn reset(source: SocketAddr, destination: SocketAddr, acknowledgment: u32) -> Vec<u8> {
    let step = begin(source.ip(), destination.ip());
    let step = step.tcp(source.port(), destination.port(), 0, 0).rst().ack(acknowledgment);
    let mut packet = Vec::with_capacity(step.size(0));
    step.write_to_vec(&mut packet, &[]).expect("a header without payload has a valid length");
    packet
}

/// Returns an ICMP error (RFC 792, RFC 4443) about a packet that begins with `quoted`. The IP
/// version of the addresses determines the meaning of `kind` and `code`.
///
/// # Panics
/// If the addresses are of different IP versions, or the packet becomes longer than 65 535 bytes.
pub fn icmp_error(source: IpAddr, destination: IpAddr, kind: u8, code: u8, quoted: &[u8]) -> Vec<u8> {
    let mut packet = Vec::with_capacity(48 + quoted.len());
    let step = begin(source, destination);
    let written = match source {
        IpAddr::V4(_) => step.icmpv4_raw(kind, code, [0; 4]).write_to_vec(&mut packet, quoted),
        IpAddr::V6(_) => step.icmpv6_raw(kind, code, [0; 4]).write_to_vec(&mut packet, quoted),
    };
    written.expect("the ICMP error is not longer than 65 535 bytes");
    packet
}

/// Returns an ICMP echo request (RFC 792) without data.
pub fn echo_request(source: Ipv4Addr, destination: Ipv4Addr, identifier: u16, number: u16) -> Vec<u8> {
    let step = begin(source.into(), destination.into()).icmpv4_echo_request(identifier, number);
    let mut packet = Vec::with_capacity(step.size(0));
    step.write_to_vec(&mut packet, &[]).expect("a header without payload has a valid length");
    packet
}

fn begin(source: IpAddr, destination: IpAddr) -> PacketBuilderStep<IpHeaders> {
    // The builder fills in lengths and protocol.
    PacketBuilder::ip(match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = Ipv4Header::new(0, HOPS, IpNumber(0), source.octets(), destination.octets());
            IpHeaders::Ipv4(header.expect("an empty packet has a valid length"), Default::default())
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = Ipv6Header {
                hop_limit: HOPS,
                source: source.octets(),
                destination: destination.octets(),
                ..Ipv6Header::default()
            };
            IpHeaders::Ipv6(header, Default::default())
        }
        _ => panic!("{source} and {destination} are addresses of different IP versions"),
    })
}
