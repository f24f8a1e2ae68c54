//! Proxies in complete networks: a split has the goodput of its slower leg alone, and all bytes
//! arrive.

use crate::bad_scenarios::loaded;
use crate::conservation::{balance, case, choice};
use crate::golden;
use crate::run::{self, goodput, untraced, value, Run};
use bentpipe_core::Time;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Returns a scenario with a download from a server over a gateway and a satellite link with losses
/// to a user. `app` and `congestion` are keys of the download, and `more` is additional text.
fn satellite(more: &str, app: &str, congestion: &str) -> String {
    format!(
        r#"name = "satellite"
duration = "60 s"

[[link]]
name = "terrestrial"
from = "server"
to = "gateway"
rate = "50 Mbit/s"
delay = "10 ms"

[[link]]
name = "satellite"
from = "gateway"
to = "user"
rate = "10 Mbit/s"
delay = "250 ms"
queue = {{ kind = "drop-tail", packets = 420 }}
error = {{ kind = "packet", probability = 0.01 }}
return = {{ rate = "10 Mbit/s", delay = "250 ms" }}

[[flow]]
name = "download"
from = "server"
to = "user"
app = {app}
transport = {{ kind = "tcp", congestion = "{congestion}" }}
{more}"#
    )
}

fn split(satellite: &str) -> String {
    format!(
        r#"[[proxy]]
name = "pep"
node = "gateway"
mechanism = {{ kind = "split", sides.satellite = {{ congestion = "{satellite}" }} }}
"#
    )
}

#[test]
fn a_split_has_the_goodput_of_its_slower_leg() {
    let brings = |text: &str| goodput(&run::report(&untraced(text), 0), "download", 60.0);
    let whole = brings(&satellite("", "\"bulk\"", "cubic"));
    for congestion in ["hybla", "bbr"] {
        let both = brings(&satellite(&split(congestion), "\"bulk\"", "cubic"));
        // The satellite leg alone, from the gateway.
        let alone = satellite("", "\"bulk\"", congestion)
            .replace("from = \"server\"\nto = \"user\"", "from = \"gateway\"\nto = \"user\"");
        let alone = brings(&alone);
        assert!((both / alone - 1.0).abs() < 0.1, "{congestion}: {both} of {alone} bit/s");
        assert!(both > 2.0 * whole, "{congestion}: {both}, end to end {whole} bit/s");
    }
}

#[test]
fn a_pair_of_splits_with_scps_in_between_delivers_every_byte() {
    let scps = "{ profile = \"scps\", congestion = \"fixed_rate\", parameters = { rate = 9000 } }";
    let pair = ["gateway", "terminal"].map(|node| {
        format!("[[proxy]]\nname = \"{node}-pep\"\nnode = \"{node}\"\nmechanism = {{ kind = \"split\", buffer = \"4 MB\", sides.satellite = {scps} }}\n")
    });
    let lan = "[[link]]\nname = \"lan\"\nfrom = \"terminal\"\nto = \"user\"\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n";
    let text =
        satellite(&format!("{lan}{}", pair.concat()), "{ kind = \"bulk\", size = \"20 MB\" }", "cubic");
    let text = text.replacen("to = \"user\"", "to = \"terminal\"", 1);
    let report = run::report(&untraced(&text), 0);
    assert_eq!(value(&report, "flow_destination", "download", "delivered_bytes"), 20e6);
    // At 9 Mbit/s and 1 % loss, the transfer takes 18 s. CUBIC end to end reaches 0.7 Mbit/s and
    // would take minutes.
    let took = value(&report, "flow_destination", "download", "last_delivery");
    assert!((17.8..20.5).contains(&took), "{took} s");
    for proxy in ["gateway-pep", "terminal-pep"] {
        let split = |column| value(&report, "split", proxy, column);
        assert_eq!(["connections", "broken"].map(split), [1.0, 0.0], "{proxy}");
    }
}

#[test]
fn each_connection_of_a_flow_is_split() {
    let http = "{ kind = \"http\", object = \"20 kB\", pages = 3, think = \"1 s\" }";
    for ecn in ["false", "true"] {
        let proxy = split(&format!("hybla\", ecn = {ecn}, profile = \"linux"));
        let text = satellite(&proxy, http, &format!("reno\", ecn = {ecn}, profile = \"linux"));
        let report = run::report(&untraced(&text), 0);
        assert_eq!(value(&report, "flow_transactions", "download", "transactions"), 3.0);
        let split = |column| value(&report, "split", "pep", column);
        assert!(split("connections") >= 2.0 && split("broken") == 0.0);
        for direction in ["download", "download.reverse"] {
            let bytes = value(&report, "flow_destination", direction, "delivered_bytes");
            assert_eq!(
                value(&report, "flow_destination", &format!("{direction}@pep"), "delivered_bytes"),
                bytes
            );
            assert_eq!(value(&report, "flow_source", &format!("{direction}@pep"), "sent_bytes"), bytes);
        }
    }
}

#[test]
fn every_byte_arrives_per_leg_and_in_total() {
    let text = satellite(&split("hybla"), "{ kind = \"bulk\", size = \"2 MB\" }", "reno");
    let report = run::report(&untraced(&text), 0);
    for entity in ["download", "download@pep"] {
        assert_eq!(value(&report, "flow_source", entity, "sent_bytes"), 2e6, "{entity}");
        assert_eq!(value(&report, "flow_destination", entity, "delivered_bytes"), 2e6, "{entity}");
    }
    let split = |column| value(&report, "split", "pep", column);
    assert_eq!(["connections", "open", "broken", "passed_by"].map(split), [1.0, 0.0, 0.0, 0.0]);
    // All losses are on the satellite leg, and only that leg repairs them.
    assert_eq!(value(&report, "flow_source", "download", "retransmissions"), 0.0);
    assert!(value(&report, "flow_source", "download@pep", "retransmissions") > 5.0);
    assert!(value(&report, "flow_source", "download", "rtt_min") < 0.03);
    assert!(value(&report, "flow_source", "download@pep", "rtt_min") > 0.5);
}

/// Returns a download over a fast path forward and a slow one back, between two gateways.
fn asymmetric(proxies: &str) -> String {
    let fast = "rate = \"100 Mbit/s\"\ndelay = \"5 ms\"";
    format!(
        r#"name = "asymmetric"
duration = "60 s"

[[link]]
name = "core"
from = "server"
to = "west"
{fast}

[[link]]
name = "sat"
from = "west"
to = "east"
rate = "8 Mbit/s"
delay = "20 ms"
queue = {{ kind = "drop-tail", packets = 60 }}
return = {{ rate = "32 kbit/s", delay = "20 ms", queue = {{ kind = "drop-tail", packets = 100 }} }}

[[link]]
name = "lan"
from = "east"
to = "user"
{fast}

[[flow]]
name = "download"
from = "server"
to = "user"
app = {{ kind = "bulk", size = "10 MB" }}
transport = {{ kind = "tcp", congestion = "reno" }}
{proxies}"#
    )
}

fn helper(name: &str, node: &str, mechanism: &str) -> String {
    format!("[[proxy]]\nname = \"{name}\"\nnode = \"{node}\"\nmechanism = {{ {mechanism} }}\n")
}

#[test]
fn fewer_acknowledgments_on_a_slow_return_path_wait_less() {
    let filter = helper("thin", "east", "kind = \"ack-filter\", over = \"sat\", rate = \"32 kbit/s\"");
    let decimation =
        helper("thin", "east", "kind = \"ack-decimation\", over = \"sat\", rate = \"32 kbit/s\"");
    let restored = filter.clone() + &helper("back", "west", "kind = \"ack-reconstruction\", over = \"sat\"");
    let run = |proxies: &str| run::report(&untraced(&asymmetric(proxies)), 0);
    let rtt = |report: &_| value(report, "flow_source", "download", "rtt_p50");
    let plain = run("");
    // Acknowledgments of 52 bytes fill the queue of 100: 1.3 s.
    assert!(rtt(&plain) > 1.0, "{}", rtt(&plain));
    for proxies in [&filter, &decimation, &restored] {
        let report = run(proxies);
        assert_eq!(value(&report, "flow_destination", "download", "delivered_bytes"), 1e7);
        // One acknowledgment waits and one is being sent: 26 ms, plus the forward path with a queue
        // of at most 90 ms.
        assert!(rtt(&report) < 0.3, "{}", rtt(&report));
        let counts = |column| value(&report, "acknowledgments", "download@thin", column);
        let (arrived, removed) = (counts("arrived"), counts("removed"));
        // 77 acknowledgments per second can pass.
        let seconds = value(&report, "flow_source", "download", "completed");
        assert!(arrived - removed < 78.0 * seconds + 10.0, "{arrived} {removed} in {seconds} s");
        // Restored acknowledgments are delayed, which may cost more than it gains.
        let before = value(&plain, "flow_source", "download", "completed");
        assert!(seconds < before || proxies == &restored, "{seconds} s, {before} s without");
    }
    let report = run(&restored);
    let (made, came) = ("made", "arrived");
    let [made, came] = [made, came].map(|column| value(&report, "acknowledgments", "download@back", column));
    let removed = value(&report, "acknowledgments", "download@thin", "removed");
    assert!(made > removed / 2.0, "{made} made for {removed}, {came} came");
}

/// Name of the case, replaced part of the good scenario, and its replacement.
const REFUSED: &[(&str, &str, &str)] = &[
    ("a node that does not exist", "node = \"gateway\"", "node = \"gatway\""),
    ("a mechanism that does not exist", "kind = \"split\"", "kind = \"splitting\""),
    ("a flow that does not exist", "node = \"gateway\"", "node = \"gateway\"\nflows = [\"upload\"]"),
    ("a flow over udp", "node = \"gateway\"", "node = \"gateway\"\nflows = [\"voice\"]"),
    ("a flow that ends there", "node = \"gateway\"", "node = \"user\"\nflows = [\"download\"]"),
    ("a place where nothing passes", "node = \"gateway\"", "node = \"elsewhere\""),
    (
        "a place where the flow does not pass",
        "node = \"gateway\"",
        "node = \"elsewhere\"\nflows = [\"download\"]",
    ),
    (
        "acknowledgments filtered for a link that is elsewhere",
        "kind = \"split\", sides.satellite = { congestion = \"hybla\" }",
        "kind = \"ack-filter\", over = \"sat\", rate = \"1 Mbit/s\"",
    ),
    (
        "a place where only one direction passes",
        "name = \"aside\"\nfrom = \"gateway\"\nto = \"elsewhere\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"",
        "name = \"aside\"\nfrom = \"server\"\nto = \"user\"\nrate = \"1 Mbit/s\"\ndelay = \"900 ms\"\n\
         return = { rate = \"1 Mbit/s\", delay = \"1 ms\" }",
    ),
    ("no buffer", "{ kind = \"split\"", "{ kind = \"split\", buffer = \"0 B\""),
    ("a buffer below a segment", "{ kind = \"split\"", "{ kind = \"split\", buffer = \"1400 B\""),
    ("a side that is not there", "sides.satellite", "sides.aside2"),
    ("a parameter that its congestion control has not", "\"hybla\"", "\"hybla\", parameters = { alpha = 2 }"),
    ("an option of TCP that no stack combines", "\"hybla\"", "\"hybla\", sack = false"),
    (
        "two proxies of one name",
        "[[proxy]]",
        "[[proxy]]\nname = \"pep\"\nnode = \"gateway\"\nmechanism = \"split\"\n\n[[proxy]]",
    ),
    (
        "two for one flow at one node",
        "[[proxy]]",
        "[[proxy]]\nname = \"one\"\nnode = \"gateway\"\nmechanism = \"split\"\n\n[[proxy]]",
    ),
    ("a proxy called as a link", "name = \"pep\"", "name = \"satellite\""),
    ("a flow called as what a proxy does for another", "name = \"voice\"", "name = \"download@pep\""),
];

#[test]
fn invalid_proxies_are_refused_with_the_alternatives() {
    let more = r#"
[[link]]
name = "aside"
from = "gateway"
to = "elsewhere"
rate = "1 Mbit/s"
delay = "1 ms"

[[flow]]
name = "voice"
from = "server"
to = "user"
app = { kind = "cbr", rate = "64 kbit/s" }
transport = "udp"
"#;
    let good = satellite(&format!("{}{more}", split("hybla")), "\"bulk\"", "cubic");
    loaded(&good).unwrap_or_else(|error| panic!("{error}"));
    let mut text = "Refused proxies and their messages\n".to_owned();
    for (what, old, new) in REFUSED {
        assert_eq!(good.matches(old).count(), 1, "{what}: {old:?}");
        let message =
            loaded(&good.replacen(old, new, 1)).err().unwrap_or_else(|| panic!("{what} is accepted"));
        let _ = writeln!(text, "\n{what}\n  {}", message.replace('\n', "\n  "));
    }
    let loaded = loaded(&good).unwrap_or_else(|error| panic!("{error}"));
    for programs in [false, true] {
        loaded.refuse(loaded.value.check_emulated(programs)).expect("real sockets split connections");
    }
    let snoop = good.replace(
        "\"split\", sides.satellite = { congestion = \"hybla\" }",
        "\"snoop\", over = \"satellite\"",
    );
    for programs in [false, true] {
        let loaded = crate::bad_scenarios::loaded(&snoop).unwrap_or_else(|error| panic!("{error}"));
        loaded.refuse(loaded.value.check_emulated(programs)).expect("the model handles frames");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dtn-proxy.toml");
    let bundles = fs::read_to_string(file).expect("the example exists");
    let two = "[[flow]]\nname = \"second\"\nfrom = \"user\"\nto = \"server\"\napp = \"bulk\"\ntransport = \"tcp\"\n";
    let one_of_two = good.replace("node = \"gateway\"", "node = \"gateway\"\nflows = [\"download\"]") + two;
    let cases = [
        ("emulated between kernels", &bundles, false),
        ("a network for programs", &bundles, true),
        ("one of two flows between the same real hosts", &one_of_two, false),
    ];
    for (what, scenario, programs) in cases {
        let loaded = crate::bad_scenarios::loaded(scenario).unwrap_or_else(|error| panic!("{error}"));
        let refused = loaded.refuse(loaded.value.check_emulated(programs)).expect_err(what);
        let _ = writeln!(text, "\n{what}\n  {refused}");
    }
    golden::check("refusals-proxies.txt", &text);
}

const MECHANISMS: &[&str] = &[
    "\"split\"",
    "{ kind = \"split\", accept = \"early\", buffer = \"4 kB\" }",
    "{ kind = \"split\", buffer = \"20 kB\", transport = { profile = \"classic\", congestion = \"vegas\" } }",
    "{ kind = \"ack-filter\", over = \"l1\", rate = \"16 kbit/s\", queue = 7 }",
    "{ kind = \"ack-decimation\", over = \"l0\", rate = \"16 kbit/s\", keep = 2 }",
    "{ kind = \"ack-reconstruction\", over = \"l1\" }",
    "{ kind = \"snoop\", over = \"l0\", cache = 20 }",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any scenario, no packet vanishes, and no leg has more packets than the previous one.
    #[test]
    fn proxies_conserve_packets((text, moments) in case(), first in choice(MECHANISMS), second in choice(MECHANISMS)) {
        let mut text = text;
        for (node, mechanism) in [("n0", first), ("n1", second)] {
            let more = format!("{text}[[proxy]]\nname = \"p{node}\"\nnode = \"{node}\"\nmechanism = {mechanism}\n");
            // Not every packet can pass everywhere.
            if loaded(&more).is_ok() {
                text = more;
            }
        }
        let scenario = untraced(&text);
        let mut run = Run::new(&scenario, scenario.seed.value(), 0);
        for permille in moments {
            run.network.run_until(Time::from_nanos(run.end.as_nanos() / 1000 * permille));
            balance(&mut run.network)?;
        }
        let mut run = run.finished();
        balance(&mut run.network)?;
        let report = run.report();
        for flow in scenario.flow.iter().filter(|flow| flow.transport.tcp().is_some()) {
            let of = |table, name: &str, column| report.value(table, name, column);
            let sent = of("flow_source", &flow.name, "sent_bytes").unwrap_or(0.0);
            let arrived = of("flow_destination", &flow.name, "delivered_bytes").unwrap_or(0.0);
            prop_assert!(arrived <= sent, "{}: {arrived} of {sent}", flow.name);
            for proxy in &scenario.proxy {
                let name = format!("{}@{}", flow.name, proxy.name);
                let Some(came) = of("flow_destination", &name, "delivered_bytes") else { continue };
                let went = of("flow_source", &name, "sent_bytes").unwrap_or(0.0);
                prop_assert!(arrived <= went && went <= came && came <= sent, "{name}: {sent} {came} {went} {arrived}");
            }
        }
    }
}

/// Balakrishnan et al. 1995, figure 5: over a link with errors, Snoop keeps the throughput that
/// Reno loses end to end, and the source repairs almost nothing itself.
#[test]
fn snoop_hides_a_links_losses_from_the_source() {
    let wireless = |profile: &str, proxy: &str| {
        let text = format!(
            r#"name = "wireless"
duration = "60 s"

[[link]]
name = "wired"
from = "server"
to = "base"
rate = "10 Mbit/s"
delay = "50 ms"

[[link]]
name = "wireless"
from = "base"
to = "user"
rate = "2 Mbit/s"
delay = "2 ms"
queue = {{ kind = "drop-tail", packets = 60 }}
error = {{ kind = "packet", probability = 0.03 }}

[[flow]]
name = "download"
from = "server"
to = "user"
app = "bulk"
transport = {{ kind = "tcp", congestion = "reno", profile = "{profile}", receive_window = "48 kB" }}
{proxy}"#
        );
        run::report(&untraced(&text), 0)
    };
    let snoop = helper("base", "base", "kind = \"snoop\", over = \"wireless\"");
    for profile in ["classic", "linux"] {
        let [without, with] = ["", &snoop].map(|proxy| wireless(profile, proxy));
        let [lossy, repaired] = [&without, &with].map(|report| goodput(report, "download", 60.0));
        assert!(repaired > 0.75 * 2e6 * 1460.0 / 1500.0, "{profile}: {repaired}");
        assert!(repaired > 2.0 * lossy, "{profile}: {repaired} with, {lossy} without");
        let lost = value(&with, "link", "wireless", "error_drops");
        let here = ["repaired", "repaired_late"].map(|column| value(&with, "snoop", "download@base", column));
        assert!(here[0] + here[1] > 0.9 * lost, "{profile}: {here:?} of {lost}");
        // Linux's tail loss probes and RACK react to time, not to suppressed acknowledgments.
        let by_source = value(&with, "flow_source", "download", "retransmissions");
        assert!(by_source < lost / if profile == "classic" { 4.0 } else { 2.0 }, "{by_source} of {lost}");
    }
}
