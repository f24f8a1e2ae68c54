//! The contents of a packet's headers.

use crate::{checksum, ICMP, ICMPV6, TCP, UDP};
use etherparse::ip_number::{AUTH, IPV6_DEST_OPTIONS, IPV6_FRAG, IPV6_HOP_BY_HOP, IPV6_ROUTE};
use etherparse::{
    EtherType, Ethernet2HeaderSlice, Icmpv4Slice, Icmpv4Type, IpAuthHeaderSlice, IpNumber, Ipv4HeaderSlice,
    Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice, TcpSlice, UdpSlice,
};
use std::net::IpAddr;
use std::ops::Range;

/// The network header of a packet, and the position of its upper layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// Address of the host that sent the packet.
    pub source: IpAddr,
    /// Address of the host for which the packet is destined.
    pub destination: IpAddr,
    /// Differentiated services code point (RFC 2474) in the upper six bits, ECN field (RFC 3168) in
    /// the lower two.
    pub traffic_class: u8,
    /// Number of the upper-layer protocol, behind all extension headers.
    pub protocol: u8,
    /// True if the packet is a fragment, the first or a later one.
    pub fragment: bool,
    /// Offset of the first byte behind the network headers.
    pub begin: usize,
    /// Offset of the first byte that does not belong to the packet: the length in its header.
    pub end: usize,
    /// Source and destination port of TCP and UDP; `None` in fragments.
    pub ports: Option<(u16, u16)>,
}

/// An ICMP echo request or reply (RFC 792).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// True if it is a reply.
    pub reply: bool,
    /// Identifier of the sequence of echo requests, chosen by the sender.
    pub identifier: u16,
    /// Sequence number of this echo request.
    pub number: u16,
}

/// Reads the headers of a packet that begins with IPv4 or IPv6. Returns `None` if it is neither, is
/// malformed or is cut off.
#[inline]
pub fn read(packet: &[u8]) -> Option<Headers> {
    headers(packet, true)
}

/// Reads the headers of the beginning of a packet, as ICMP errors quote it: what follows the
/// network header may be cut off.
pub fn read_quoted(packet: &[u8]) -> Option<Headers> {
    headers(packet, false)
}

#[inline]
fn headers(packet: &[u8], whole: bool) -> Option<Headers> {
    match packet.first()? >> 4 {
        4 => ipv4(packet, whole),
        6 => ipv6(packet, whole),
        _ => None,
    }
}

/// Returns the offset in `packet` at which a packet ends whose header gives `length` bytes.
#[inline]
fn end(packet: &[u8], length: usize, whole: bool) -> Option<usize> {
    (!whole || length <= packet.len()).then_some(length.min(packet.len()))
}

#[inline]
fn ipv4(packet: &[u8], whole: bool) -> Option<Headers> {
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let begin = header.slice().len();
    let length = usize::from(header.total_len());
    let end = end(packet, length, whole).filter(|_| length >= begin)?;
    let fragment = header.is_fragmenting_payload();
    let mut upper = Upper { protocol: header.protocol(), begin, fragment };
    if upper.protocol == AUTH && !fragment {
        upper.pass_over(packet, end);
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
fn ipv6(packet: &[u8], whole: bool) -> Option<Headers> {
    let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
    let begin = header.slice().len();
    let length = match header.payload_length() {
        // A jumbogram (RFC 2675), or nothing behind the header.
        0 => packet.len(),
        payload => begin + usize::from(payload),
    };
    let end = end(packet, length, whole)?;
    let mut upper = Upper { protocol: header.next_header(), begin, fragment: false };
    // Hop-by-hop options are extension headers in the first place only (RFC 8200, section 4.1).
    if upper.protocol != IPV6_HOP_BY_HOP || upper.pass_over(packet, end) {
        while matches!(upper.protocol, IPV6_DEST_OPTIONS | IPV6_ROUTE | IPV6_FRAG | AUTH)
            && !upper.fragment
            && upper.pass_over(packet, end)
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

/// The layer that follows the headers read so far.
struct Upper {
    protocol: IpNumber,
    begin: usize,
    fragment: bool,
}

impl Upper {
    /// Skips one extension header. Returns true if it was whole.
    #[cold]
    fn pass_over(&mut self, packet: &[u8], end: usize) -> bool {
        let rest = &packet[self.begin..end];
        let passed = match self.protocol {
            IPV6_FRAG => Ipv6FragmentHeaderSlice::from_slice(rest).ok().map(|header| {
                // In a later fragment the payload follows, whatever the next-header field contains.
                self.fragment = header.is_fragmenting_payload();
                (header.next_header(), header.slice().len())
            }),
            AUTH => {
                let header = IpAuthHeaderSlice::from_slice(rest).ok();
                header.map(|header| (header.next_header(), header.slice().len()))
            }
            _ => {
                let header = Ipv6RawExtHeaderSlice::from_slice(rest).ok();
                header.map(|header| (header.next_header(), header.slice().len()))
            }
        };
        if let Some((next, length)) = passed {
            self.protocol = next;
            self.begin += length;
        }
        passed.is_some()
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
    /// Returns the range of the payload of TCP, UDP or ICMP in `packet`. `None` for fragments,
    /// other protocols, and malformed headers.
    pub fn payload(&self, packet: &[u8]) -> Option<Range<usize>> {
        let upper = packet.get(self.begin..self.end).filter(|_| !self.fragment)?;
        let (header, end) = match self.protocol {
            TCP => (TcpSlice::from_slice(upper).ok()?.header_slice().len(), upper.len()),
            // Behind the datagram there may be UDP options (RFC 9868), which its checksum does not
            // cover.
            UDP => (8, UdpSlice::from_slice(upper).ok()?.slice().len()),
            ICMP | ICMPV6 if upper.len() >= 8 => (8, upper.len()),
            _ => return None,
        };
        Some(self.begin + header..self.begin + end)
    }

    /// Returns the offset of the checksum of TCP, UDP or ICMP in the packet. `None` for fragments,
    /// other protocols, and if it is cut off.
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

    /// Returns the echo request or reply in `packet`, if it is one of ICMP for IPv4.
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

/// Sets a packet's traffic class (see [`Headers::traffic_class`]) and updates the checksum of an
/// IPv4 header.
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

/// Returns the IP packet in an Ethernet frame, with the frame's padding. `None` for other types and
/// for frames with a VLAN tag, which the end of a VXLAN tunnel discards (RFC 7348, section 6.1).
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
