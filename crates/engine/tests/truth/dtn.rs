//! Proxies between TCP and bundles: payloads, times and ends of streams by hand calculation.

use crate::bad_scenarios::loaded;
use crate::conservation::sums;
use crate::run::{results, scenario, value, Run};
use bentpipe_core::Report;

/// Source a and entrance m are 1 ms apart, like exit n and destination b. Contacts of 8 kbit/s with
/// 10 s one way connect m and n. `network` and `flow` are further lines of the network and the
/// flow.
fn space(contacts: &str, mechanism: &str, network: &str, flow: &str) -> String {
    let plan = contacts.replace(' ', "\\n");
    format!(
        r#"name = "space"
duration = "300 s"

[[link]]
name = "near"
from = "a"
to = "m"
rate = "100 Mbit/s"
delay = "1 ms"

[network.space]
kind = "bundles"
plan = "src,dst,start,end,rate_bps,owlt_s\n{plan}"
{network}

[[link]]
name = "far"
from = "n"
to = "b"
rate = "100 Mbit/s"
delay = "1 ms"

[[proxy]]
name = "entrance"
node = "m"
mechanism = {{ kind = "dtn", over = "space"{mechanism} }}

[[proxy]]
name = "exit"
node = "n"
mechanism = {{ kind = "dtn", over = "space"{mechanism} }}

[[flow]]
name = "file"
from = "a"
to = "b"
transport = {{ kind = "tcp", congestion = "cubic" }}
{flow}
"#
    )
}

const OPEN: &str = "m,n,0,300,8000,10 n,m,0,300,8000,10";
const FILE: &str = r#"app = { kind = "bulk", size = "25 kB" }"#;

fn finished(text: &str) -> Report {
    let mut run = Run::new(&scenario(text), 1, 0).finished();
    sums(&mut run.network).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    run.report()
}

/// A file of 25 000 bytes is two payloads of 10 000 bytes and one of 5000, which ends the stream.
/// Each has 17 bytes of its own header. At 1000 bytes/s, the last bundle arrives 10 s after the
/// last byte that the contact has sent. TCP from a to m is done long before.
#[test]
fn a_file_crosses_as_blocks_and_the_source_does_not_wait() {
    let report = finished(&space(OPEN, "", "", FILE));
    assert_eq!(value(&report, "flow_carried", "file", "bundles_created"), 3.0);
    assert_eq!(value(&report, "flow_source", "file@entrance", "sent_packets"), 3.0);
    assert_eq!(value(&report, "flow_destination", "file@exit", "delivered_packets"), 3.0);
    assert_eq!(value(&report, "flow_destination", "file", "delivered_bytes"), 25_000.0);
    let bytes = value(&report, "bundle_hops", "space.m.n", "hop_bytes");
    let headers = bytes - 25_000.0 - 3.0 * 17.0;
    assert!((3.0 * 60.0..3.0 * 90.0).contains(&headers), "{headers}");
    let last = value(&report, "flow_destination", "file", "last_delivery");
    assert!((last - (10.0 + bytes / 1000.0)).abs() < 0.05, "{last} with {bytes} bytes");
    let completed = value(&report, "flow_source", "file", "completed");
    assert!(completed < 0.1, "{completed}");
}

/// Without a contact until 100 s, TCP from end to end gives up or waits. With the proxies, the
/// source is done at once, and the file arrives after the start of the contact.
#[test]
fn a_missing_contact_delays_bundles_and_not_the_source() {
    let report = finished(&space("m,n,100,300,8000,10 n,m,0,300,8000,10", "", "", FILE));
    assert!(value(&report, "flow_source", "file", "completed") < 0.1);
    let last = value(&report, "flow_destination", "file", "last_delivery");
    let bytes = value(&report, "bundle_hops", "space.m.n", "hop_bytes");
    assert!((last - (110.0 + bytes / 1000.0)).abs() < 0.05, "{last}");
}

/// Four messages of 25 bytes, one every 500 ms. A payload of 25 bytes leaves at once, and a larger
/// one 100 ms after its first byte. The difference of the last arrivals is the flush time.
#[test]
fn an_incomplete_payload_waits_for_the_flush_time() {
    let app = r#"app = { kind = "cbr", rate = "400 bit/s", datagram = "25 B", on = "2 s", off = "1000 s" }"#;
    let last = |mechanism: &str| {
        let report = finished(&space(OPEN, mechanism, "", app));
        assert_eq!(value(&report, "flow_source", "file@entrance", "sent_packets"), 4.0, "{mechanism}");
        assert_eq!(value(&report, "flow_destination", "file", "delivered_bytes"), 100.0);
        value(&report, "flow_destination", "file", "last_delivery")
    };
    let whole = last(r#", block = "25 B""#);
    assert!((last("") - whole - 0.1).abs() < 1e-9);
    assert!((last(r#", flush = "300 ms""#) - whole - 0.3).abs() < 1e-9);
}

/// The second of three bundles is lost. With UDP, its stream ends at the exit after the first
/// block, and the third payload waits in vain. LTP retransmits the bundle.
#[test]
fn a_lost_bundle_ends_its_stream_unless_ltp_repairs_it() {
    let lost = |more: &str| {
        let report = finished(&space(
            OPEN,
            "",
            &format!("error = {{ kind = \"list\", packets = [2] }}\n{more}"),
            FILE,
        ));
        (
            value(&report, "flow_destination", "file", "delivered_bytes"),
            value(&report, "split", "exit", "most_held"),
        )
    };
    assert_eq!(lost("").0, 10_000.0);
    assert!(lost("").1 >= 5000.0);
    assert_eq!(lost("convergence = \"ltp\"").0, 25_000.0);
}

/// A browser gets an object over the proxies: its request takes 10 s, and the answer 10 s more.
#[test]
fn answers_return_as_bundles() {
    let app = r#"app = { kind = "http", object = "4 kB", object_min = "4 kB", object_max = "4 kB", objects = 1, objects_max = 1 }"#;
    let report = finished(&space(OPEN, "", "", app));
    assert_eq!(value(&report, "flow_destination", "file.reverse", "delivered_bytes"), 4000.0);
    let arrives = value(&report, "flow_destination", "file.reverse", "last_delivery");
    // Both incomplete payloads wait for 100 ms. 400 and 4000 bytes take 4.4 s.
    assert!((arrives - 24.9).abs() < 0.3, "{arrives}");
}

#[test]
fn runs_are_repeatable() {
    let text = space(OPEN, r#", block = "900 B""#, "error = { kind = \"packet\", probability = 0.1 }", FILE);
    assert_eq!(results(&scenario(&text)), results(&scenario(&text)));
}

#[test]
fn a_proxy_without_its_counterpart_is_refused() {
    let good = space(OPEN, "", "", FILE);
    loaded(&good).unwrap_or_else(|error| panic!("{error}"));
    let refused = |old: &str, new: &str, words: &str| {
        assert!(good.contains(old), "{old}");
        let message = loaded(&good.replace(old, new)).err().unwrap_or_else(|| panic!("{new} is accepted"));
        assert!(message.contains(words), "{message}");
    };
    refused("over = \"space\"", "over = \"near\"", "is not a link or network at \"n\"");
    refused(
        "name = \"exit\"",
        "name = \"exit\"\nenabled = false",
        "flow \"file\" has no proxy of kind dtn where it leaves \"space\"",
    );
    refused("name = \"entrance\"", "name = \"entrance\"\nenabled = false", "where it enters \"space\"");
    refused("to = \"b\"\ntransport", "to = \"n\"\ntransport", "flow \"file\" starts or ends at \"n\"");
    refused(
        "node = \"m\"\nmechanism = { kind = \"dtn\", over = \"space\" }\n\n[[proxy]]\nname = \"exit\"\nnode = \"n\"\nmechanism = { kind = \"dtn\", over = \"space\"",
        "node = \"m\"\nmechanism = { kind = \"dtn\", over = \"near\" }\n\n[[proxy]]\nname = \"exit\"\nnode = \"n\"\nmechanism = { kind = \"dtn\", over = \"far\"",
        "over = \"near\": is not a network of bundle agents",
    );
}
