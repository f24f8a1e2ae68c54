//! Parses arbitrary bytes as an IP packet. The parser must not panic, and all parsed parts must lie
//! within the packet.
#![no_main]

use bentpipe_wire::{checksum, ethernet_payload, read, read_quoted, set_traffic_class};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let frame = ethernet_payload(bytes).and_then(read);
    for headers in [read(bytes), read_quoted(bytes), frame].into_iter().flatten() {
        assert!(headers.begin <= headers.end && headers.end <= bytes.len());
        assert!(!headers.fragment || headers.ports.is_none());
        if let Some(payload) = headers.payload(bytes) {
            assert!(headers.begin + 8 <= payload.start && payload.start <= payload.end);
            assert!(payload.end <= headers.end && headers.checksum_at().is_some());
        }
        assert!(headers.checksum_at().is_none_or(|at| headers.begin <= at && at + 2 <= headers.end));
        headers.echo(bytes);
        let upper = &bytes[headers.begin..headers.end];
        checksum::with_addresses(headers.source, headers.destination, headers.protocol, upper);
    }
    // A change of the traffic class must not change any other field.
    let mut marked = bytes.to_vec();
    set_traffic_class(&mut marked, 0xb9);
    let changed = read(bytes).map(|headers| bentpipe_wire::Headers { traffic_class: 0xb9, ..headers });
    assert_eq!(read(&marked), changed);
});
