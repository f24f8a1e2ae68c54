//! Parser for the headers of IP packets, and functions that use the parsed headers.

use crate::{checksum, ICMP, ICMPV6, TCP, UDP};
use etherparse::ip_number::{AUTH, IPV6_DEST_OPTIONS, IPV6_FRAG, IPV6_HOP_BY_HOP, IPV6_ROUTE};
use etherparse::{
    EtherType, Ethernet2HeaderSlice, Icmpv4Slice, Icmpv4Type, IpAuthHeaderSlice, IpNumber, Ipv4HeaderSlice,
    Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice, TcpSlice, UdpSlice,
};
use std::net::IpAddr;
use std::ops::Range;

/// The parsed network headers of a packet, and the position of its upper layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// Address of the host that sent the packet.
    pub source: IpAddr,
    /// Address of the host for which the packet is destined.
    pub destination: IpAddr,
    /// Differentiated services code point (RFC 2474) in the upper six bits, ECN field (RFC 3168) in
    /// the lower two.
    pub traffic_class: u8,
    /// IP protocol number of the upper layer, after all extension headers that could be read.
    pub protocol: u8,
    /// True if the packet is a fragment: the first one or a later one.
    pub fragment: bool,
    /// Offset in bytes of the upper layer: the first byte after the network headers.
    pub begin: usize,
    /// Offset in bytes of the end of the packet, from its length field. Bytes from this offset on,
    /// such as the padding of an Ethernet frame, do not belong to the packet.
    pub end: usize,
    /// Source port and destination port of TCP or UDP; `None` for fragments and other protocols.
    pub ports: Option<(u16, u16)>,
}

/// An ICMP echo request or echo reply (RFC 792).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// True for an echo reply, false for an echo request.
    pub reply: bool,
    /// Identifier that the sender chose for its sequence of echo requests.
    pub identifier: u16,
    /// Sequence number of the echo request, which the reply repeats.
    pub number: u16,
}

/// Parses the headers of an IPv4 or IPv6 packet. Returns `None` if the packet has another version,
/// is malformed or is truncated.
#[inline]
pub fn read(packet: &[u8]) -> Option<Headers> {
    headers(packet, true)
}

/// Parses the headers of a packet that may be truncated after its network header, such as the
/// packet that an ICMP error quotes.
pub fn read_quoted(packet: &[u8]) -> Option<Headers> {
    headers(packet, false)
}

#[inline]
fn headers(packet: &[u8], complete: bool) -> Option<Headers> {
    match packet.first()? >> 4 {
        4 => ipv4(packet, complete),
        6 => ipv6(packet, complete),
        _ => None,
    }
}

/// Returns the offset of the end of a packet whose header gives `length` bytes. If the packet is
/// truncated, the end is that of `packet`. Returns `None` for a truncated packet that must be
/// `complete`.
#[inline]
fn end(packet: &[u8], length: usize, complete: bool) -> Option<usize> {
    (!complete || length <= packet.len()).then_some(length.min(packet.len()))
}

#[inline]
fn ipv4(packet: &[u8], complete: bool) -> Option<Headers> {
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let begin = header.slice().len();
    let length = usize::from(header.total_len());
    let end = end(packet, length, complete).filter(|_| length >= begin)?;
    let fragment = header.is_fragmenting_payload();
    let mut upper = Upper { protocol: header.protocol(), begin, fragment };
    if upper.protocol == AUTH && !fragment {
        upper.skip_extension(packet, end);
    }
    Some(Headers {
        source: header.source_addr().into(),
        destination: header.destination_addr().into(),
        traffic_class: header.slice()[1],
        protocol: upper.protocol.0,
        fragment,
        begin: upper.begin,
        end,
        ports: upper.ports(packet, end),
    })
}

#[inline]
fn ipv6(packet: &[u8], complete: bool) -> Option<Headers> {
    let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
    let begin = header.slice().len();
    let length = match header.payload_length() {
        // A jumbogram (RFC 2675), or an IPv6 header without payload.
        0 => packet.len(),
        payload => begin + usize::from(payload),
    };
    let end = end(packet, length, complete)?;
    let mut upper = Upper { protocol: header.next_header(), begin, fragment: false };
    // Hop-by-hop options are an extension header only directly after the IPv6 header (RFC 8200,
    // section 4.1).
    if upper.protocol != IPV6_HOP_BY_HOP || upper.skip_extension(packet, end) {
        while matches!(upper.protocol, IPV6_DEST_OPTIONS | IPV6_ROUTE | IPV6_FRAG | AUTH)
            && !upper.fragment
            && upper.skip_extension(packet, end)
        {}
    }
    Some(Headers {
        source: header.source_addr().into(),
        destination: header.destination_addr().into(),
        traffic_class: packet[0] << 4 | packet[1] >> 4,
        protocol: upper.protocol.0,
        fragment: upper.fragment,
        begin: upper.begin,
        end,
        ports: upper.ports(packet, end),
    })
}

/// The layer after the headers that have been parsed so far.
struct Upper {
    protocol: IpNumber,
    begin: usize,
    fragment: bool,
}

impl Upper {
    /// Skips one extension header. Returns false if the extension header is truncated.
    #[cold]
    fn skip_extension(&mut self, packet: &[u8], end: usize) -> bool {
        let remaining = &packet[self.begin..end];
        let skipped = match self.protocol {
            IPV6_FRAG => Ipv6FragmentHeaderSlice::from_slice(remaining).ok().map(|header| {
                // A later fragment has no further headers. Its payload follows directly, although
                // the next-header field still names the first header of the original packet.
                self.fragment = header.is_fragmenting_payload();
                (header.next_header(), header.slice().len())
            }),
            AUTH => {
                let header = IpAuthHeaderSlice::from_slice(remaining).ok();
                header.map(|header| (header.next_header(), header.slice().len()))
            }
            _ => {
                let header = Ipv6RawExtHeaderSlice::from_slice(remaining).ok();
                header.map(|header| (header.next_header(), header.slice().len()))
            }
        };
        if let Some((next, length)) = skipped {
            self.protocol = next;
            self.begin += length;
        }
        skipped.is_some()
    }

    #[inline]
    fn ports(&self, packet: &[u8], end: usize) -> Option<(u16, u16)> {
        if self.fragment || !matches!(self.protocol.0, TCP | UDP) {
            return None;
        }
        let [a, b, c, d] = *packet[self.begin..end].first_chunk()?;
        Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }
}

impl Headers {
    /// Returns the range in `packet` of the payload of TCP, UDP or ICMP. Returns `None` for
    /// fragments, other protocols, and malformed headers.
    pub fn payload(&self, packet: &[u8]) -> Option<Range<usize>> {
        let upper = packet.get(self.begin..self.end).filter(|_| !self.fragment)?;
        let (header, end) = match self.protocol {
            TCP => (TcpSlice::from_slice(upper).ok()?.header_slice().len(), upper.len()),
            // UDP options (RFC 9868) may follow the datagram. The checksum does not cover them.
            UDP => (8, UdpSlice::from_slice(upper).ok()?.slice().len()),
            ICMP | ICMPV6 if upper.len() >= 8 => (8, upper.len()),
            _ => return None,
        };
        Some(self.begin + header..self.begin + end)
    }

    /// Returns the offset in the packet of the checksum of TCP, UDP or ICMP. Returns `None` for
    /// fragments, other protocols, and truncated checksums.
    pub fn checksum_at(&self) -> Option<usize> {
        let offset = match self.protocol {
            TCP => 16,
            UDP => 6,
            ICMP | ICMPV6 => 2,
            _ => return None,
        };
        let at = self.begin + offset;
        (!self.fragment && at + 2 <= self.end).then_some(at)
    }

    /// Returns the echo request or echo reply in `packet`; `None` if `packet` is not an ICMP echo
    /// message over IPv4.
    pub fn echo(&self, packet: &[u8]) -> Option<Echo> {
        let upper = packet.get(self.begin..self.end).filter(|_| !self.fragment && self.protocol == ICMP)?;
        let (reply, header) = match Icmpv4Slice::from_slice(upper).ok()?.icmp_type() {
            Icmpv4Type::EchoRequest(header) => (false, header),
            Icmpv4Type::EchoReply(header) => (true, header),
            _ => return None,
        };
        Some(Echo { reply, identifier: header.id, number: header.seq })
    }
}

/// Sets the traffic class of a packet (see [`Headers::traffic_class`]). In an IPv4 packet, also
/// updates the header checksum.
#[inline]
pub fn set_traffic_class(packet: &mut [u8], class: u8) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 && packet[1] != class => {
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

/// Returns the IP packet in an Ethernet frame, including the padding of the frame. Returns `None`
/// for other EtherTypes and for frames with a VLAN tag, which a VXLAN tunnel endpoint discards (RFC
/// 7348, section 6.1).
pub fn ethernet_payload(frame: &[u8]) -> Option<&[u8]> {
    let header = Ethernet2HeaderSlice::from_slice(frame).ok()?;
    let packet = &frame[header.slice().len()..];
    let version = packet.first()? >> 4;
    let expected = match header.ether_type() {
        EtherType::IPV4 => 4,
        EtherType::IPV6 => 6,
        _ => return None,
    };
    (version == expected).then_some(packet)
}
