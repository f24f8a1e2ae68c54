//! The effect of each queue discipline and each meter on one load: golden tables, to catch
//! unintended changes.

use crate::run::{goodput, report, untraced, value};
use crate::table::check;
use std::fmt::Write as _;

const SECONDS: f64 = 60.0;

/// Returns a scenario with two transfers and voice over a link of 4 Mbit/s and 50 ms. One of the
/// transfers is in an assured class.
fn scenario(queue: &str, ecn: bool, edge: &str) -> String {
    let transport = format!(r#"{{ kind = "tcp", congestion = "reno", ecn = {ecn} }}"#);
    format!(
        r#"
name = "queues"
duration = "{SECONDS} s"
link = [{{ name = "l", from = "a", to = "b", rate = "4 Mbit/s", delay = "50 ms", queue = {queue}, return = {{ rate = "4 Mbit/s", delay = "50 ms" }} }}]
flow = [
    {{ name = "gold", from = "a", to = "b", dscp = "af11", app = "bulk", transport = {transport} }},
    {{ name = "best", from = "a", to = "b", start = "3 s", app = "bulk", transport = {transport} }},
    {{ name = "voice", from = "a", to = "b", dscp = "ef", app = {{ kind = "cbr", rate = "64 kbit/s", datagram = "160 B" }}, transport = {{ kind = "udp" }} }},
]
{edge}
"#
    )
}

const CLASSES: &str = r#"classes = [
    { name = "voice", dscp = ["ef"] },
    { name = "gold", dscp = ["af11"], queue = { kind = "drop-tail", packets = 50 } },
    { name = "best", queue = { kind = "drop-tail", packets = 50 } },
]"#;

#[test]
fn queues_by_discipline() {
    let classes = CLASSES.replace('\n', " ");
    let weighted = classes.replace(r#""af11"],"#, r#""af11"], weight = 3,"#);
    let queues: Vec<(String, String)> = vec![
        ("drop-tail".into(), r#"{ kind = "drop-tail", packets = 100 }"#.into()),
        ("red".into(), r#"{ kind = "red", min = 10, max = 30 }"#.into()),
        ("gentle-red".into(), r#"{ kind = "gentle-red", min = 10, max = 30 }"#.into()),
        ("ared".into(), r#"{ kind = "ared", target = "50 ms" }"#.into()),
        ("wred".into(), r#"{ kind = "wred" }"#.into()),
        ("wred coupled".into(), r#"{ kind = "wred", average = "coupled" }"#.into()),
        ("codel".into(), r#"{ kind = "codel" }"#.into()),
        ("fq-codel".into(), r#"{ kind = "fq-codel" }"#.into()),
        ("pie".into(), r#"{ kind = "pie" }"#.into()),
        ("dualpi2".into(), r#"{ kind = "dualpi2" }"#.into()),
        ("priority".into(), format!(r#"{{ kind = "priority", {classes} }}"#)),
        ("wrr".into(), format!(r#"{{ kind = "wrr", {weighted} }}"#)),
        ("drr".into(), format!(r#"{{ kind = "drr", {weighted} }}"#)),
        ("wfq".into(), format!(r#"{{ kind = "wfq", {weighted} }}"#)),
        (
            "shaper 2 Mbit/s".into(),
            r#"{ kind = "shaper", rate = "2 Mbit/s", queue = { kind = "red" } }"#.into(),
        ),
        ("diffserv".into(), r#"{ kind = "diffserv" }"#.into()),
    ];
    let mut table = "\
Two TCP flows (gold: AF11; best: BE, 3 s later) and voice (EF, 64 kbit/s) over
4 Mbit/s and 50 ms one way, 60 s; weights 1, 3, 1 where there are any

                     gold    best  voice   voice  queue   wait  util.
                   kbit/s  kbit/s   lost  p95 ms  drops     ms      %
"
    .to_owned();
    for (name, queue) in &queues {
        for ecn in [false, true] {
            // The disciplines that mark packets.
            if ecn && !(1..9).contains(&queues.iter().position(|(other, _)| other == name).unwrap_or(0)) {
                continue;
            }
            let report = report(&untraced(&scenario(&queue.replace('\n', " "), ecn, "")), 0);
            let get = |table, entity, column| value(&report, table, entity, column);
            let lost = get("flow_source", "voice", "sent_packets")
                - get("flow_destination", "voice", "delivered_packets");
            let _ = writeln!(
                table,
                "{:17} {:7.1} {:7.1} {:6.0} {:7.1} {:6.0} {:6.1} {:6.1}",
                if ecn { format!("{name}, ECN") } else { name.clone() },
                goodput(&report, "gold", SECONDS) / 1e3,
                goodput(&report, "best", SECONDS) / 1e3,
                lost,
                get("flow_destination", "voice", "delay_p95") * 1e3,
                get("link", "l", "queue_drops"),
                get("link", "l", "wait_mean") * 1e3,
                get("link", "l", "utilisation") * 1e2,
            );
        }
    }
    check("queues.txt", &table);
}

#[test]
fn meters_by_kind() {
    let meters = [
        ("token bucket", r#"{ kind = "token-bucket", rate = "1 Mbit/s", burst = "15 kB" }"#),
        ("srTCM", r#"{ kind = "srtcm", committed = "1 Mbit/s", burst = "15 kB", excess = "30 kB" }"#),
        (
            "trTCM",
            r#"{ kind = "trtcm", committed = "1 Mbit/s", burst = "15 kB", peak = "2 Mbit/s", peak_burst = "15 kB" }"#,
        ),
        ("TSW2CM", r#"{ kind = "tsw2cm", committed = "1 Mbit/s" }"#),
        ("TSW3CM", r#"{ kind = "tsw3cm", committed = "1 Mbit/s", peak = "2 Mbit/s" }"#),
    ];
    let mut table = "\
Two TCP flows over 4 Mbit/s and 50 ms, WRED in front of it; gold is metered: 1 Mbit/s
committed, 2 Mbit/s peak where there is one, red packets are AF13 or dropped

                         gold    best
red           meter    kbit/s  kbit/s    green   yellow      red
"
    .to_owned();
    for red in ["af13", "drop"] {
        for (name, meter) in meters {
            let edge = format!(
                "[[edge.a]]\nflow = [\"gold\"]\nfrom = [\"a\"]\nmeter = {meter}\neach = \"flow\"\ngreen = \"af11\"\nyellow = \"af12\"\nred = \"{red}\""
            );
            let report = report(&untraced(&scenario(r#"{ kind = "wred" }"#, false, &edge)), 0);
            let _ = writeln!(
                table,
                "{red:4} {name:>14} {:9.1} {:7.1} {:8.0} {:8.0} {:8.0}",
                goodput(&report, "gold", SECONDS) / 1e3,
                goodput(&report, "best", SECONDS) / 1e3,
                value(&report, "edge", "a.1", "green"),
                value(&report, "edge", "a.1", "yellow"),
                value(&report, "edge", "a.1", "red"),
            );
        }
    }
    check("meters.txt", &table);
}

/// Returns the mean delay of a thin flow next to an upload, in seconds. Both share a queue in
/// `network`.
fn delay_beside_upload(network: &str, [from, to]: [&str; 2]) -> f64 {
    let text = format!(
        r#"name = "thin"
duration = "60 s"
{network}
[[flow]]
name = "upload"
from = "{from}"
to = "{to}"
app = "bulk"
transport = {{ kind = "tcp", congestion = "reno" }}
[[flow]]
name = "thin"
from = "{from}"
to = "{to}"
start = "20 s"
app = {{ kind = "cbr", rate = "12.8 kbit/s", datagram = "160 B" }}
transport = "udp"
"#
    );
    report(&untraced(&text), 0).value("flow_destination", "thin", "delay_mean").unwrap()
}

/// Checks the delay of a thin flow next to an upload: long in a drop-tail queue, near the target of
/// a controlled queue, and at most `packet` seconds with fair queueing, all beyond `path` seconds.
fn fair_queueing_protects(delay: impl Fn(&str) -> f64, path: f64, packet: f64) {
    let tail = delay(r#"{ kind = "drop-tail", packets = 100 }"#) - path;
    let pie = delay(r#"{ kind = "pie" }"#) - path;
    let codel = delay(r#"{ kind = "codel" }"#) - path;
    let fair = delay(r#"{ kind = "fq-codel" }"#) - path;
    assert!(tail > 0.8, "drop-tail: {tail}");
    assert!(pie < tail / 4.0, "pie: {pie}, drop-tail: {tail}");
    assert!(codel < tail / 4.0, "codel: {codel}, drop-tail: {tail}");
    assert!(fair > 0.0 && fair < packet, "fq-codel: {fair}");
}

#[test]
fn a_thin_flow_has_a_low_delay_beside_an_upload_at_a_terminal() {
    // 512 kbit/s: a packet of 1500 B takes eight slots, a frame of 23.5 ms. The thin packet waits
    // for at most one such packet and for its own slot.
    let star = |queue: &str| {
        let network = format!(
            "preset = \"dvb-rcs\"\n[network.sat]\nterminals = [\"st1\"]\n[network.sat.return]\nqueue = {queue}\n\
             dama = {{ scheme = \"cra\", cra = \"512 kbit/s\" }}"
        );
        delay_beside_upload(&network, ["st1", "gw"])
    };
    fair_queueing_protects(star, 0.25, 0.047);
}

#[test]
fn a_thin_flow_has_a_low_delay_beside_an_upload_at_a_wifi_station() {
    // A frame of 1500 B takes 12.9 ms at 1 Mbit/s, with preamble, back-off and acknowledgment. The
    // thin packet waits for at most two frames in exchange, and takes 3 ms itself.
    let cell = |queue: &str| {
        let network = format!(
            "network.wlan = {{ kind = \"wifi\", standard = \"802.11b\", access_point = \"ap\", stations = [\"a\"], \
             adaptation = {{ kind = \"fixed\", rate = \"1 Mbit/s\" }}, queue = {queue} }}"
        );
        delay_beside_upload(&network, ["a", "ap"])
    };
    fair_queueing_protects(cell, 0.0, 0.03);
}

#[test]
fn drop_front_without_drops_equals_drop_tail_at_wifi_stations() {
    // Neither queue ever drops a packet. One decides at arrival, and the other one at departure.
    // With 802.11n, packets for two stations would be aggregated differently.
    let rows = |standard: &str, queue: &str| {
        let other = if standard == "802.11n" { "a" } else { "b" };
        let text = format!(
            r#"name = "equal"
duration = "10 s"
network.wlan = {{ kind = "wifi", standard = "{standard}", access_point = "ap", stations = ["a", "b"], queue = {queue},
    error = {{ kind = "packet", probability = 0.1 }}, adaptation = "minstrel" }}
flow = [
    {{ name = "one", from = "a", to = "ap", app = "bulk", transport = {{ kind = "tcp", congestion = "reno" }} }},
    {{ name = "two", from = "{other}", to = "ap", app = "bulk", transport = {{ kind = "tcp", congestion = "reno" }} }},
    {{ name = "three", from = "{other}", to = "ap", dscp = "ef", app = {{ kind = "cbr", rate = "64 kbit/s", datagram = "160 B" }}, transport = "udp" }},
]
"#
        );
        let report = report(&untraced(&text), 0);
        format!("{:?}", report.rows())
    };
    for standard in ["802.11b", "802.11g", "802.11n"] {
        let tail = rows(standard, r#"{ kind = "drop-tail", packets = 100000 }"#);
        let front = rows(standard, r#"{ kind = "drop-front", packets = 100000 }"#);
        assert!(tail.contains("one"));
        assert!(tail == front, "{standard}: {tail}\n{front}");
    }
}
