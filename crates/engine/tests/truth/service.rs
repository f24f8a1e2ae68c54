//! Conference services in complete networks: the packets that a relay sends, their destinations,
//! and refused services.

use crate::bad_scenarios::loaded;
use crate::conservation::balance;
use crate::golden;
use crate::run::{self, untraced, value, Run};
use std::fmt::Write as _;

/// Returns a scenario with a conference. Each participant has its own link to the gateway; the
/// delays of the links are 10 ms, 20 ms and so on. Each participant sends 10 datagrams of 100 B per
/// second. `more` is additional text.
fn conference(participants: usize, more: &str) -> String {
    let mut text = "name = \"conference\"\nduration = \"11 s\"\n".to_owned();
    for number in 1..=participants {
        let _ = write!(
            text,
            r#"
[[link]]
name = "link{number}"
from = "user{number}"
to = "gateway"
rate = "100 Mbit/s"
delay = "{number}0 ms"

[[flow]]
name = "voice{number}"
from = "user{number}"
to = "gateway"
dscp = "EF"
app = {{ kind = "cbr", rate = "8 kbit/s", datagram = "100 B" }}
transport = "udp"
"#
        );
    }
    text + more
}

const RELAY: &str = "\n[[service]]\nname = \"mcu\"\nnode = \"gateway\"\nrole = \"relay\"\n";

#[test]
fn speech_reaches_every_other_participant_after_both_delays() {
    let scenario = untraced(&conference(3, RELAY));
    let mut run = Run::new(&scenario, 1, 0).finished();
    balance(&mut run.network).expect("no packet vanishes");
    let report = run.report();
    let relay = |column| value(&report, "relay", "mcu", column);
    let [participants, received, relayed] = ["participants", "received", "relayed"].map(relay);
    assert_eq!((participants, relayed), (3.0, 2.0 * received));
    // Each participant sends a datagram every 100 ms. In 11 s, 110 datagrams arrive from each.
    assert_eq!(received, 3.0 * 110.0);
    for number in [1.0, 2.0, 3.0] {
        let name = format!("voice{number}");
        let back = format!("{name}.reverse");
        assert_eq!(value(&report, "flow_destination", &name, "delivered_packets"), 110.0);
        // A packet of 128 bytes takes 10.24 us to transmit.
        let one_way = |delay: f64| delay * 0.01 + 128.0 * 8.0 / 100e6;
        let mean = value(&report, "flow_destination", &name, "delay_mean");
        assert!((mean - one_way(number)).abs() < 1e-7, "{mean}");
        assert_eq!(value(&report, "flow_source", &back, "sent_packets"), 220.0);
        let others: Vec<f64> = [1.0, 2.0, 3.0].into_iter().filter(|other| *other != number).collect();
        let from_end_to_end: Vec<f64> =
            others.iter().map(|other| one_way(*other) + one_way(number)).collect();
        let longest = value(&report, "flow_destination", &back, "delay_max");
        let expected = from_end_to_end.iter().copied().fold(0.0, f64::max);
        // Two datagrams that arrive at the same time are sent one after the other.
        assert!((-1e-9..3e-5).contains(&(longest - expected)), "{longest}, not {expected}");
    }
}

#[test]
fn a_relay_serves_only_its_listed_flows() {
    let relay = RELAY.to_owned() + "flows = [\"voice1\", \"voice3\"]\n";
    let report = run::report(&untraced(&conference(3, &relay)), 0);
    assert_eq!(value(&report, "relay", "mcu", "participants"), 2.0);
    assert_eq!(value(&report, "flow_source", "voice3.reverse", "sent_packets"), 110.0);
    // The second flow is not listed, so it ends at a normal endpoint and receives nothing.
    assert_eq!(value(&report, "flow_destination", "voice2", "delivered_packets"), 110.0);
    assert_eq!(report.value("flow_source", "voice2.reverse", "sent_packets"), None);
}

#[test]
fn a_relay_shares_a_node_with_endpoints_and_a_proxy() {
    let more = r#"
[[link]]
name = "core"
from = "gateway"
to = "server"
rate = "10 Mbit/s"
delay = "1 ms"

[[flow]]
name = "download"
from = "server"
to = "user1"
app = { kind = "bulk", size = "1 MB" }
transport = { kind = "tcp", congestion = "reno" }

[[flow]]
name = "log"
from = "user2"
to = "gateway"
app = { kind = "bulk", size = "100 kB" }
transport = { kind = "tcp", congestion = "reno" }

[[proxy]]
name = "pep"
node = "gateway"
mechanism = "split"
"#;
    let scenario = untraced(&conference(2, &format!("{more}{RELAY}")));
    let mut run = Run::new(&scenario, 1, 0).finished();
    balance(&mut run.network).expect("no packet vanishes");
    let report = run.report();
    assert_eq!(value(&report, "flow_destination", "download", "delivered_bytes"), 1e6);
    assert_eq!(value(&report, "flow_destination", "download@pep", "delivered_bytes"), 1e6);
    assert_eq!(value(&report, "flow_destination", "log", "delivered_bytes"), 1e5);
    assert_eq!(value(&report, "relay", "mcu", "relayed"), 220.0);
    assert_eq!(value(&report, "flow_destination", "voice1.reverse", "delivered_packets"), 110.0);
}

/// Name of the case, replaced part of the good scenario, and its replacement.
const REFUSED: &[(&str, &str, &str)] = &[
    ("a node that does not exist", "node = \"gateway\"", "node = \"gatway\""),
    ("a role that does not exist", "role = \"relay\"", "role = \"really\""),
    ("a flow that does not exist", "node = \"gateway\"", "node = \"gateway\"\nflows = [\"voice9\"]"),
    ("a node at which no flow ends", "node = \"gateway\"", "node = \"user1\""),
    ("a flow that begins there", "node = \"gateway\"", "node = \"user1\"\nflows = [\"voice1\"]"),
    ("a flow over TCP", "role = \"relay\"", "role = \"relay\"\nflows = [\"voice1\", \"log\"]"),
    ("one participant", "role = \"relay\"", "role = \"relay\"\nflows = [\"voice1\"]"),
    (
        "two services of one name",
        "[[service]]",
        "[[service]]\nname = \"mcu\"\nnode = \"gateway\"\nrole = \"relay\"\n\n[[service]]",
    ),
    (
        "two services for one flow at one node",
        "[[service]]",
        "[[service]]\nname = \"one\"\nnode = \"gateway\"\nrole = \"relay\"\n\n[[service]]",
    ),
    ("a service with the name of a link", "name = \"mcu\"", "name = \"link1\""),
];

#[test]
fn impossible_services_are_refused_with_the_alternatives() {
    let log = r#"
[[flow]]
name = "log"
from = "user2"
to = "gateway"
app = "bulk"
transport = { kind = "tcp", congestion = "reno" }
"#;
    let good = conference(2, &format!("{log}{RELAY}"));
    loaded(&good).unwrap_or_else(|error| panic!("{error}"));
    let mut text = "Refused services and their messages\n".to_owned();
    for (what, old, new) in REFUSED {
        assert_eq!(good.matches(old).count(), 1, "{what}: {old:?}");
        let message =
            loaded(&good.replacen(old, new, 1)).err().unwrap_or_else(|| panic!("{what} is accepted"));
        let _ = writeln!(text, "\n{what}\n  {}", message.replace('\n', "\n  "));
    }
    let loaded = loaded(&good).unwrap_or_else(|error| panic!("{error}"));
    let refused = loaded.refuse(loaded.value.check_emulated(false)).expect_err("flows of the kernel");
    let _ = writeln!(text, "\nemulated between kernels\n  {refused}");
    golden::check("refusals-services.txt", &text);
}
