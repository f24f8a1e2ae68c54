//! Links with retransmissions (ARQ), combined with TCP, contacts and changes: the link loses no
//! packet, and no packet arrives twice.

use crate::bad_scenarios::loaded;
use crate::conservation::sums;
use crate::run::{scenario, value, Run};
use bentpipe_core::{Span, Time};

fn relay(link: &str) -> String {
    format!(
        r#"
name = "relay"
duration = "60 s"

[[link]]
name = "proximity"
from = "rover"
to = "orbiter"
rate = "256 kbit/s"
delay = "5 ms"
queue = {{ kind = "drop-tail", packets = 20 }}
error = {{ kind = "packet", probability = 0.05 }}
{link}

[[flow]]
name = "up"
from = "rover"
to = "orbiter"
app = "bulk"
transport = "tcp"

[[flow]]
name = "datagrams"
from = "orbiter"
to = "rover"
app = {{ kind = "cbr", rate = "16 kbit/s", datagram = "100 B" }}
transport = "udp"
"#
    )
}

#[test]
fn with_arq_tcp_repairs_only_drops_of_the_queue() {
    let run = |link: &str| {
        let scenario = scenario(&relay(link));
        let mut run = Run::new(&scenario, 1, 0);
        let mut last = Time::ZERO;
        for second in 1..=60 {
            last = Time::ZERO + Span::from_secs(second);
            run.network.run_until(last);
            sums(&mut run.network).unwrap();
        }
        let report = run.network.report(last);
        let (table, column) = if link.is_empty() { ("link", "queue_drops") } else { ("arq", "arq_drops") };
        [
            value(&report, "flow_source", "up", "retransmissions"),
            value(&report, "flow_destination", "datagrams", "delivered_packets"),
            value(&report, "flow_source", "datagrams", "sent_packets"),
            value(&report, table, "proximity", column),
        ]
    };
    let (without, with) = (run(""), run("arq = { window = 4 }"));
    // Without ARQ, 5 % of the datagrams are lost. With ARQ, all datagrams arrive except those in
    // flight at the end.
    assert!(without[1] < 0.97 * without[2] && with[1] >= with[2] - 3.0, "{without:?} {with:?}");
    // With ARQ, TCP repairs only drops of the queue.
    assert!(with[0] <= with[3] && without[0] > without[3], "{without:?} {with:?}");
}

/// Some coded frames of Proximity-1 cannot be decoded. ARQ retransmits them, so all packets arrive.
/// The goodput is at most the rate of the code multiplied by the symbol rate.
#[test]
fn coded_frames_are_retransmitted() {
    let coded = r#"framing = { kind = "space", frame = "proximity-1", length = 2048, code = { kind = "convolutional" } }
arq = { window = 4 }"#;
    let error = r#"{ kind = "coded", eb_n0_db = 3.8, code = { kind = "convolutional" } }"#;
    let text = relay(coded).replace(r#"{ kind = "packet", probability = 0.05 }"#, error);
    let mut run = Run::new(&scenario(&text), 1, 0);
    run.network.run_until(Time::ZERO + Span::from_secs(60));
    sums(&mut run.network).unwrap();
    let report = run.report();
    for link in ["proximity", "proximity.return"] {
        let arq = |column: &str| value(&report, "arq", link, column);
        let (frames, delivered, again) = (arq("frames"), arq("delivered"), arq("retransmissions"));
        assert!(delivered <= frames && frames - delivered <= 4.0, "{link}: {frames} {delivered}");
        assert!(delivered > 100.0 && again > 0.0, "{link}: {delivered} {again}");
    }
    let datagrams = |table: &str, column: &str| value(&report, table, "datagrams", column);
    let (sent, delivered) =
        (datagrams("flow_source", "sent_packets"), datagrams("flow_destination", "delivered_packets"));
    assert!(delivered >= sent - 20.0, "{sent} {delivered}");
    // The code has rate 1/2, so 256 ksymbol/s carry 128 kbit/s.
    let max = 128e3 / 8.0 * 60.0;
    let bytes = value(&report, "flow_destination", "up", "delivered_bytes");
    assert!(bytes < max && bytes > 0.2 * max, "{bytes}");
}

#[test]
fn contacts_and_changes_lose_nothing() {
    let text = relay(
        r#"contacts = { when = { kind = "windows", windows = [["0 s", "3 s"]], repeat = "7 s" } }
arq = { window = 50, timer = "200 ms" }

[[change]]
at = "20 s"
set.link.proximity = { rate = "64 kbit/s", delay = "50 ms", error = { kind = "packet", probability = 0.3 }, queue = "unlimited" }"#,
    );
    let scenario = scenario(&text);
    let mut run = Run::new(&scenario, 3, 0);
    let end = Time::ZERO + Span::from_secs(60);
    run.network.run_until(end);
    sums(&mut run.network).unwrap();
    let report = run.network.report(end);
    let arq = |link: &str, column: &str| value(&report, "arq", link, column);
    assert!(arq("proximity", "timeouts") > 0.0 && arq("proximity", "retransmissions") > 0.0);
    let back = "proximity.return";
    let [frames, delivered] = ["frames", "delivered"].map(|column| arq(back, column));
    assert!(delivered <= frames && frames - delivered <= 50.0, "{frames} {delivered}");
    assert!(arq(back, "discarded") > 0.0 && arq(back, "duplicates") > 0.0);
}

#[test]
fn conflicts_with_arq_are_refused() {
    for (keys, why) in [
        ("arq = {}\nframing = \"ule\"", "ule cannot be combined with arq"),
        ("arq = {}\nframing = { kind = \"space\" }", "allowed: \"proximity-1\""),
        (
            "arq = {}\nframing = { kind = \"space\", frame = \"proximity-1\", control_field = true }",
            "link.proximity.framing.control_field",
        ),
        (
            "arq = {}\nframing = { kind = \"space\", frame = \"proximity-1\", code = { kind = \"reed-solomon\" } }",
            "allowed: none, convolutional, ldpc",
        ),
        (
            "arq = {}\nframing = { kind = \"space\", frame = \"proximity-1\" }",
            "but the framing proximity-1 of proximity carries no more than 1106",
        ),
        (
            "arq = {}\nreorder = true\njitter = { kind = \"uniform\", most = \"1 ms\" }",
            "cannot be combined with reorder",
        ),
        ("arq = {}\nquick_start = 0.5", "cannot be combined with quick_start"),
        ("arq = { window = 128 }", "allowed: a whole number from 1 to 127"),
    ] {
        let said = loaded(&relay(keys)).expect_err("it is refused");
        assert!(said.contains(why), "{keys}: {said}");
    }
}
