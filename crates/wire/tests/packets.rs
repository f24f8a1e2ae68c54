//! Tests of packets that parsers often interpret differently. The packets and the expected results
//! were written by hand from the RFCs.

use bentpipe_wire::{ethernet_payload, read, read_quoted, Headers, ICMP, ICMPV6, TCP, UDP};
use std::ops::Range;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ESP: u8 = 50;
const AUTHENTICATION: u8 = 51;
const NO_NEXT_HEADER: u8 = 59;
const DESTINATION_OPTIONS: u8 = 60;

/// Returns an IPv4 packet (RFC 791, section 3.1) from 10.0.0.1 to 10.0.0.2. `fragment` is the
/// 16-bit field with the flags and the fragment offset.
fn ipv4(options: &[u8], fragment: u16, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x40 | (header / 4) as u8, 0xb9];
    packet.extend(((header + payload.len()) as u16).to_be_bytes());
    packet.extend([0, 7]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    [&packet, options, payload].concat()
}

/// Returns an IPv6 packet (RFC 8200, section 3) from 2001:db8::1 to 2001:db8::2.
fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x6b, 0x90, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    for last in [1, 2] {
        packet.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    [&packet, payload].concat()
}

/// Returns an IPv6 options header of `8 + 8 * more` bytes that contains only PadN (RFC 8200,
/// section 4.2).
fn options(next: u8, more: u8) -> Vec<u8> {
    let mut header = vec![next, more, 1, 4 + 8 * more];
    header.resize(8 + 8 * usize::from(more), 0);
    header
}

/// Returns a fragment header (RFC 8200, section 4.5). `offset` is in units of eight bytes, and
/// `more` is true if more fragments follow.
fn fragment(next: u8, offset: u16, more: bool) -> Vec<u8> {
    let mut header = vec![next, 0];
    header.extend((offset << 3 | u16::from(more)).to_be_bytes());
    header.extend([0, 0, 0, 9]);
    header
}

/// Returns a TCP segment (RFC 9293, section 3.1) of `bytes` bytes from port 4000 to port 80. Its
/// data offset is `words` 32-bit words.
fn tcp(words: u8, bytes: usize) -> Vec<u8> {
    let mut segment =
        vec![0x0f, 0xa0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, words << 4, 0x10, 0xff, 0xff, 0, 0, 0, 0];
    segment.resize(bytes, 1);
    segment
}

/// Returns a UDP datagram (RFC 768) of `bytes` bytes from port 4000 to port 53. `length` is the
/// value of its length field.
fn udp(length: u16, bytes: usize) -> Vec<u8> {
    let mut datagram = vec![0x0f, 0xa0, 0, 53];
    datagram.extend(length.to_be_bytes());
    datagram.resize(bytes, 0);
    datagram
}

/// Returns an ICMP error of type `kind` that quotes a packet.
fn error(kind: u8, quoted: &[u8]) -> Vec<u8> {
    [&[kind, 0, 0, 0, 0, 0, 0, 0], quoted].concat()
}

/// The expected result of parsing a packet.
#[derive(Clone, Debug, PartialEq)]
struct Parsed {
    protocol: u8,
    fragment: bool,
    upper: Range<usize>,
    ports: Option<(u16, u16)>,
    payload: Option<Range<usize>>,
    checksum: Option<usize>,
}

/// Returns the expected result for a valid TCP segment or UDP datagram.
fn good(protocol: u8, upper: Range<usize>, header: usize) -> Option<Parsed> {
    let (port, checksum) = if protocol == TCP { (80, 16) } else { (53, 6) };
    Some(Parsed {
        protocol,
        fragment: false,
        ports: Some((4000, port)),
        payload: Some(upper.start + header..upper.end),
        checksum: Some(upper.start + checksum),
        upper,
    })
}

/// Returns the expected result for a packet without ports and without a known payload.
fn opaque(protocol: u8, fragment: bool, upper: Range<usize>) -> Option<Parsed> {
    Some(Parsed { protocol, fragment, upper, ports: None, payload: None, checksum: None })
}

fn seen(headers: Headers, packet: &[u8]) -> Parsed {
    Parsed {
        protocol: headers.protocol,
        fragment: headers.fragment,
        upper: headers.begin..headers.end,
        ports: headers.ports,
        payload: headers.payload(packet),
        checksum: headers.checksum_at(),
    }
}

fn changed(mut packet: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    packet[at..at + bytes.len()].copy_from_slice(bytes);
    packet
}

type Row = (&'static str, Vec<u8>, Option<Parsed>);

fn check(rows: &[Row]) {
    for (name, packet, expected) in rows {
        let parsed = read(packet).map(|headers| seen(headers, packet));
        assert_eq!(&parsed, expected, "{name}: {packet:02x?}");
    }
}

#[test]
fn ipv4_packets_are_parsed_as_their_rfcs_specify() {
    let (segment, datagram) = (tcp(5, 30), udp(18, 18));
    let whole = ipv4(&[], 0x4000, TCP, &segment);
    // Record route (RFC 791): TCP does not directly follow the fixed header.
    let record_route = [7, 7, 4, 0x12, 0x34, 0x56, 0x78, 0];
    check(&[
        ("TCP", whole.clone(), good(TCP, 20..50, 20)),
        ("UDP", ipv4(&[], 0, UDP, &datagram), good(UDP, 20..38, 8)),
        ("options", ipv4(&record_route, 0, TCP, &segment), good(TCP, 28..58, 20)),
        ("TCP with options", ipv4(&[], 0, TCP, &tcp(6, 30)), good(TCP, 20..50, 24)),
        ("first fragment", ipv4(&[], 0x2000, UDP, &datagram), opaque(UDP, true, 20..38)),
        (
            "later fragment, whose payload is no header",
            ipv4(&[], 0x2005, UDP, &datagram),
            opaque(UDP, true, 20..38),
        ),
        ("last fragment", ipv4(&[], 5, TCP, &segment), opaque(TCP, true, 20..50)),
        ("fragment with a large offset", ipv4(&[], 0x1f00, TCP, &segment), opaque(TCP, true, 20..50)),
        ("cut off", whole[..49].to_vec(), None),
        ("header cut off", whole[..19].to_vec(), None),
        ("options cut off", ipv4(&record_route, 0, TCP, &[])[..24].to_vec(), None),
        (
            "padding of Ethernet",
            [&ipv4(&[], 0, UDP, &udp(9, 9))[..], &[0; 17]].concat(),
            good(UDP, 20..29, 8),
        ),
        ("header length below five words", changed(whole.clone(), 0, &[0x44]), None),
        ("header length of no words", changed(whole.clone(), 0, &[0x40]), None),
        ("total length below the header's", changed(whole.clone(), 2, &[0, 19]), None),
        ("version 5", changed(whole.clone(), 0, &[0x55]), None),
        ("nothing", Vec::new(), None),
        ("no payload", ipv4(&[], 0, TCP, &[]), opaque(TCP, false, 20..20)),
        ("ESP", ipv4(&[], 0, ESP, &segment), opaque(ESP, false, 20..50)),
        (
            "IPv6's extension headers are none here",
            ipv4(&[], 0, FRAGMENT, &segment),
            opaque(FRAGMENT, false, 20..50),
        ),
    ]);
}

#[test]
fn truncated_transport_headers_have_no_payload() {
    let without_payload = |parsed: Option<Parsed>| parsed.map(|parsed| Parsed { payload: None, ..parsed });
    let ports =
        |parsed: Option<Parsed>| without_payload(parsed).map(|parsed| Parsed { checksum: None, ..parsed });
    check(&[
        (
            "data offset below five words",
            ipv4(&[], 0, TCP, &tcp(4, 30)),
            without_payload(good(TCP, 20..50, 0)),
        ),
        ("data offset of no words", ipv4(&[], 0, TCP, &tcp(0, 30)), without_payload(good(TCP, 20..50, 0))),
        ("data offset after the end", ipv4(&[], 0, TCP, &tcp(8, 30)), without_payload(good(TCP, 20..50, 0))),
        ("eight bytes of TCP", ipv4(&[], 0, TCP, &tcp(5, 20)[..8]), ports(good(TCP, 20..28, 0))),
        ("three bytes of TCP", ipv4(&[], 0, TCP, &tcp(5, 20)[..3]), opaque(TCP, false, 20..23)),
        ("seven bytes of UDP", ipv4(&[], 0, UDP, &udp(8, 8)[..7]), ports(good(UDP, 20..27, 0))),
        ("UDP length below eight", ipv4(&[], 0, UDP, &udp(7, 18)), without_payload(good(UDP, 20..38, 0))),
        ("UDP length after the end", ipv4(&[], 0, UDP, &udp(19, 18)), without_payload(good(UDP, 20..38, 0))),
        // RFC 9868: the bytes after the datagram are options, and the checksum covers only the
        // datagram.
        ("UDP options", ipv4(&[], 0, UDP, &udp(10, 18)), {
            good(UDP, 20..38, 8).map(|parsed| Parsed { payload: Some(28..30), ..parsed })
        }),
    ]);
}

#[test]
fn ipv6_packets_are_parsed_as_their_rfcs_specify() {
    let (segment, datagram) = (tcp(5, 30), udp(18, 18));
    let after_headers = |headers: &[Vec<u8>]| [&headers.concat()[..], &segment].concat();
    let all =
        [options(DESTINATION_OPTIONS, 0), options(ROUTING, 1), options(FRAGMENT, 2), fragment(TCP, 0, false)];
    let mut authenticated = vec![TCP, 4, 0, 0];
    authenticated.resize(24, 9);
    let whole = ipv6(TCP, &segment);
    check(&[
        ("TCP", whole.clone(), good(TCP, 40..70, 20)),
        ("UDP", ipv6(UDP, &datagram), good(UDP, 40..58, 8)),
        ("hop-by-hop options", ipv6(HOP_BY_HOP, &after_headers(&[options(TCP, 0)])), good(TCP, 48..78, 20)),
        ("a routing header", ipv6(ROUTING, &after_headers(&[options(TCP, 2)])), good(TCP, 64..94, 20)),
        (
            "destination options",
            ipv6(DESTINATION_OPTIONS, &after_headers(&[options(TCP, 1)])),
            good(TCP, 56..86, 20),
        ),
        ("four extension headers", ipv6(HOP_BY_HOP, &after_headers(&all)), good(TCP, 96..126, 20)),
        // RFC 4302, section 2.2: the length field counts words of 32 bits, minus two.
        ("authentication", ipv6(AUTHENTICATION, &after_headers(&[authenticated])), good(TCP, 64..94, 20)),
        // RFC 6946: an atomic fragment is an unfragmented packet.
        (
            "atomic fragment",
            ipv6(FRAGMENT, &after_headers(&[fragment(TCP, 0, false)])),
            good(TCP, 48..78, 20),
        ),
        (
            "first fragment",
            ipv6(FRAGMENT, &after_headers(&[fragment(TCP, 0, true)])),
            opaque(TCP, true, 48..78),
        ),
        (
            "later fragment",
            ipv6(FRAGMENT, &after_headers(&[fragment(TCP, 7, true)])),
            opaque(TCP, true, 48..78),
        ),
        (
            "last fragment",
            ipv6(FRAGMENT, &after_headers(&[fragment(TCP, 7, false)])),
            opaque(TCP, true, 48..78),
        ),
        // The payload of a later fragment is not parsed as a header, although its next-header field
        // indicates destination options.
        (
            "later fragment of what began with destination options",
            ipv6(FRAGMENT, &after_headers(&[fragment(DESTINATION_OPTIONS, 7, true), options(TCP, 0)])),
            opaque(DESTINATION_OPTIONS, true, 48..86),
        ),
        (
            "hop-by-hop options in second place",
            ipv6(ROUTING, &after_headers(&[options(HOP_BY_HOP, 0), options(TCP, 0)])),
            { opaque(HOP_BY_HOP, false, 48..86) },
        ),
        (
            "extension header after the end",
            ipv6(ROUTING, &options(TCP, 9)[..16]),
            opaque(ROUTING, false, 40..56),
        ),
        ("no next header", ipv6(NO_NEXT_HEADER, &[]), opaque(NO_NEXT_HEADER, false, 40..40)),
        ("ESP", ipv6(ESP, &segment), opaque(ESP, false, 40..70)),
        ("cut off", whole[..69].to_vec(), None),
        ("header cut off", whole[..39].to_vec(), None),
        ("padding", [&whole[..], &[0; 5]].concat(), good(TCP, 40..70, 20)),
    ]);
}

#[test]
fn icmp_errors_quote_truncated_packets() {
    let (old, new) = (ipv4(&[], 0x4000, TCP, &tcp(5, 1000)), ipv6(UDP, &udp(1000, 1000)));
    // The header and 64 bits (RFC 792); as much as fits (RFC 4443, section 3.1).
    let (short, long) = (&old[..28], &new[..900]);
    let icmp = |upper: Range<usize>, protocol| {
        opaque(protocol, false, upper.clone()).map(|parsed| Parsed {
            payload: Some(upper.start + 8..upper.end),
            checksum: Some(upper.start + 2),
            ..parsed
        })
    };
    check(&[
        ("ICMP", ipv4(&[], 0, ICMP, &error(3, short)), icmp(20..56, ICMP)),
        ("ICMPv6", ipv6(ICMPV6, &error(1, long)), icmp(40..948, ICMPV6)),
        ("a short message", ipv4(&[], 0, ICMP, &error(3, &[])[..7]), {
            icmp(20..27, ICMP).map(|parsed| Parsed { payload: None, ..parsed })
        }),
        ("a quoted packet alone", short.to_vec(), None),
    ]);
    let quoted =
        |bytes: &[u8]| read_quoted(bytes).map(|headers| (headers.protocol, headers.ports, headers.end));
    assert_eq!(quoted(short), Some((TCP, Some((4000, 80)), 28)));
    assert_eq!(quoted(long), Some((UDP, Some((4000, 53)), 900)));
    assert_eq!(quoted(&ipv4(&[], 5, TCP, &tcp(5, 1000))[..28]), Some((TCP, None, 28)));
    assert_eq!(quoted(&old[..19]), None);
    assert_eq!(quoted(&old), Some((TCP, Some((4000, 80)), 1020)));
}

#[test]
fn addresses_and_traffic_class_are_parsed_in_both_versions() {
    let (old, new) = (read(&ipv4(&[], 0, TCP, &[])).unwrap(), read(&ipv6(TCP, &[])).unwrap());
    assert_eq!((old.source.to_string(), old.destination.to_string()), ("10.0.0.1".into(), "10.0.0.2".into()));
    assert_eq!(
        (new.source.to_string(), new.destination.to_string()),
        ("2001:db8::1".into(), "2001:db8::2".into())
    );
    // EF (46) and ECT(1).
    assert_eq!((old.traffic_class, new.traffic_class), (46 << 2 | 1, 46 << 2 | 1));
}

#[test]
fn ethernet_frames_carry_untagged_ip_only() {
    let packets = [ipv4(&[], 0, TCP, &tcp(5, 20)), ipv6(UDP, &udp(8, 8))];
    let frame = |kind: &[u8], packet: &[u8]| [&[2; 12], kind, packet].concat();
    let [old, new] = &packets;
    let tag: &[u8] = &[0x81, 0x00, 0x00, 0x05];
    for (name, frame, expected) in [
        ("IPv4", frame(&[8, 0], old), Some(&old[..])),
        ("IPv6", frame(&[0x86, 0xdd], new), Some(&new[..])),
        ("IPv6 that says IPv4", frame(&[8, 0], new), None),
        ("ARP", frame(&[8, 6], &[0; 28]), None),
        ("a VLAN tag (IEEE 802.1Q)", frame(&[tag, &[8, 0]].concat(), old), None),
        ("two VLAN tags (IEEE 802.1ad)", frame(&[&[0x88, 0xa8, 0, 5], tag, &[8, 0]].concat(), old), None),
        ("cut off", vec![2; 13], None),
        ("no packet", frame(&[8, 0], &[]), None),
    ] {
        assert_eq!(ethernet_payload(&frame), expected, "{name}");
    }
}
