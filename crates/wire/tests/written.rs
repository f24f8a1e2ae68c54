//! Tests that packets from this crate are parsed correctly and have valid checksums, and that the
//! parser never panics.

use bentpipe_wire::{
    checksum, read, read_quoted, set_traffic_class, write, Echo, Headers, ICMP, ICMPV6, TCP, UDP,
};
use proptest::prelude::*;
use std::net::SocketAddr;

fn ends() -> [(SocketAddr, SocketAddr); 2] {
    [("10.0.0.1:80", "10.0.0.2:4000"), ("[2001:db8::1]:80", "[2001:db8::2]:4000")]
        .map(|(source, destination)| (source.parse().unwrap(), destination.parse().unwrap()))
}

/// Parses a packet and checks that its checksums are valid.
fn verified(packet: &[u8]) -> Headers {
    let headers = read(packet).unwrap();
    let upper = &packet[headers.begin..headers.end];
    assert_eq!(checksum::with_addresses(headers.source, headers.destination, headers.protocol, upper), 0);
    assert!(headers.source.is_ipv6() || checksum::of(&packet[..headers.begin]) == 0);
    assert_eq!(headers.end, packet.len());
    headers
}

#[test]
fn a_reset_acknowledges_the_syn() {
    for (source, destination) in ends() {
        let packet = write::reset(source, destination, 0x0102_0304);
        let headers = verified(&packet);
        assert_eq!((headers.source, headers.destination), (source.ip(), destination.ip()));
        assert_eq!((headers.protocol, headers.ports), (TCP, Some((80, 4000))));
        // Sequence number 0 (RFC 9293, section 3.10.7.1), RST and ACK.
        let segment = &packet[headers.begin..];
        assert_eq!((&segment[4..12], segment[13]), (&[0, 0, 0, 0, 1, 2, 3, 4][..], 0x14));
    }
}

#[test]
fn an_icmp_error_quotes_the_packet() {
    for ((source, destination), (protocol, kind)) in ends().into_iter().zip([(ICMP, 3), (ICMPV6, 1)]) {
        let quoted = write::reset(destination, source, 1);
        let packet = write::icmp_error(source.ip(), destination.ip(), kind, 13, &quoted);
        let headers = verified(&packet);
        assert_eq!((headers.protocol, &packet[headers.begin..][..2]), (protocol, &[kind, 13][..]));
        let payload = &packet[headers.payload(&packet).unwrap()];
        assert_eq!(payload, quoted);
        assert_eq!(read_quoted(&payload[..headers.begin + 8]).unwrap().ports, Some((4000, 80)));
    }
}

#[test]
fn an_echo_request_is_parsed_as_echo_request() {
    let packet = write::echo_request([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 4789, 65535);
    let expected = Echo { reply: false, identifier: 4789, number: 65535 };
    assert_eq!((packet.len(), verified(&packet).echo(&packet)), (28, Some(expected)));
}

#[test]
fn headers_are_valid_before_a_payload_of_zeros() {
    let ends = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    for (protocol, header) in [(TCP, 20), (UDP, 8)] {
        for zeros in [0, 1, 1000, u16::MAX - 40] {
            let mut upper = vec![0; header];
            // The previous value of the checksum field is ignored.
            upper[6] = 9;
            upper[12 % header] |= 5 << 4;
            let length = header as u16 + zeros;
            write::transport(ends, protocol, (4000, 53), length, &mut upper);
            let mut packet = write::ipv4(ends, 46 << 2 | 1, 0x1234, protocol, 20 + length).to_vec();
            packet.extend(upper);
            packet.resize(packet.len() + usize::from(zeros), 0);
            let headers = verified(&packet);
            assert_eq!((headers.traffic_class, headers.ports), (46 << 2 | 1, Some((4000, 53))));
            assert_eq!(headers.payload(&packet).unwrap().len(), usize::from(zeros));
            assert_eq!(packet[4..8], [0x12, 0x34, 0x40, 0]);
        }
    }
}

#[test]
fn setting_the_traffic_class_keeps_the_checksum_valid() {
    for (source, destination) in ends() {
        for class in [0, 0xff, 46 << 2 | 3, 1, 1] {
            let mut packet = write::reset(source, destination, 5);
            set_traffic_class(&mut packet, class);
            assert_eq!(verified(&packet).traffic_class, class);
        }
    }
}

proptest! {
    /// For any input, the returned ranges lie within the packet.
    #[test]
    fn parsed_ranges_lie_within_the_packet(mut packet in prop::collection::vec(any::<u8>(), 0..200), version in 0..3) {
        if let Some(first) = packet.first_mut() {
            *first = [*first, 0x45, 0x60][version as usize];
        }
        for headers in [read(&packet), read_quoted(&packet)].into_iter().flatten() {
            prop_assert!(headers.begin <= headers.end && headers.end <= packet.len());
            if let Some(payload) = headers.payload(&packet) {
                prop_assert!(headers.begin + 8 <= payload.start && payload.end <= headers.end);
            }
            prop_assert!(headers.checksum_at().is_none_or(|at| at + 2 <= headers.end));
            headers.echo(&packet);
        }
    }
}
