//! Runs the [sample](bentpipe_core::Sample) of every variant of every list in its own scenario.
//! Checks that every loss has a named reason, that the packets of each flow balance, and that a run
//! in steps equals a run without steps. A golden table contains the results. A variant without a
//! sample does not compile. A list that is missing here fails `every_list_of_the_schema_is_run`.

use crate::bad_scenarios::loaded;
use crate::balance;
use crate::conservation::{sums, time_goes_forward};
use crate::golden;
use crate::run::{Results, Run};
use bentpipe_core::Time;
use bentpipe_engine::scenario::{Scenario, Starts};
use bentpipe_engine::schema;
use bentpipe_link::{channel, queue};
use bentpipe_link::{contacts, framing, jitter};
use bentpipe_networks::atm::marking;
use bentpipe_networks::constellation::{choice, isl};
use bentpipe_networks::dama::{allocator, estimator, requests, scheme};
use bentpipe_networks::multilink::policy;
use bentpipe_networks::node::edge::meter;
use bentpipe_networks::node::proxy::Mechanism;
use bentpipe_networks::node::service::Role;
use bentpipe_networks::wifi::adaptation;
use bentpipe_networks::NetworkKind;
use bentpipe_orbit::shell;
use bentpipe_transport::{self as transport, app};
use bentpipe_voice::{playout, talker};
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A list of variants, with scenarios for them. Each sample must be accepted by at least one of the
/// scenarios, and runs in all scenarios that accept it.
struct List {
    name: &'static str,
    /// Names of the variants, in the order of the list.
    kinds: Vec<&'static str>,
    /// A sample of each variant, in the same order.
    samples: Vec<String>,
    /// Functions that return a scenario with the given sample.
    scenarios: &'static [fn(&str) -> String],
}

/// Returns the list of congestion controls. They are C files, so the schema has no list of them.
fn congestion() -> List {
    let kinds: Vec<_> = bentpipe_congestion::variants().iter().map(|variant| variant.name).collect();
    List {
        name: "congestion",
        samples: kinds.iter().map(|kind| format!("{{ kind = \"tcp\", congestion = \"{kind}\" }}")).collect(),
        kinds,
        scenarios: &[|transport| flow(&format!("app = \"bulk\"\ntransport = {transport}"))],
    }
}

/// Returns a scenario with a call that has these keys.
fn call(keys: &str) -> String {
    flow(&format!("app = {{ kind = \"voice\", {keys} }}\ntransport = \"udp\""))
}

/// Returns the lists of the scenario's schema.
fn lists() -> Vec<List> {
    macro_rules! lists {
        ($($name:literal: $list:ty, [$($scenario:expr),+ $(,)?];)+) => {
            vec![$(List {
                name: $name,
                kinds: <$list>::KINDS.to_vec(),
                samples: <$list>::samples(),
                scenarios: &[$($scenario),+],
            }),+]
        };
    }
    lists! {
        "queue": queue::Config, [
            |queue| link(&format!("queue = {queue}")),
            |queue| star(&format!("return.queue = {queue}")),
            |queue| star(&format!("forward.queue = {queue}")),
            |queue| star(&format!("return.classes = [{{ name = \"ef\", dscp = [\"ef\"] }}, {{ name = \"be\", queue = {queue} }}]")),
            |queue| star(&format!("return.queue = {queue}\nnetwork.sat.return.framing = \"mpe\"\nnetwork.sat.return.dama.access = \"superframe\"")),
            |queue| bursts(&format!("return.queue = {queue}")),
            |queue| skyplex(&format!("return.queue = {queue}")),
            |queue| wifi(&format!("\"minstrel\", queue = {queue}")),
            |queue| wifi(&format!("\"minstrel-ht\", standard = \"802.11n\", queue = {queue}")),
            |queue| sky(LOW, &format!("gsl.queue = {queue}\nnetwork.sky.isl = {{ kind = \"grid\", rate = \"10 Mbit/s\", queue = {queue} }}")),
        ];
        "error": channel::Config, [
            |error| link(&format!("error = {error}")),
            |error| star(&format!("return.error = {error}")),
        ];
        "fading": channel::fading::Config, [
            |fading| link(&format!("error = {{ kind = \"snr\", snr_db = 12, fading = {fading} }}")),
        ];
        "jitter": jitter::Config, [|jitter| link(&format!("jitter = {jitter}"))];
        "contacts": contacts::Kind, [|contacts| link(&format!("contacts = {{ when = {contacts} }}"))];
        "code": channel::code::Code, [
            |code| link(&format!("error = {{ kind = \"coded\", ber = 2e-5, code = {code} }}")),
        ];
        "framing": framing::Config, [
            |framing| link(&format!("framing = {framing}")),
            |framing| star(&format!("return.framing = {framing}")),
        ];
        "app": app::Config, [
            |app| flow(&format!("app = {app}\ntransport = \"tcp\"")),
            |app| flow(&format!("app = {app}\ntransport = \"udp\"")),
            |app| flow(&format!("app = {app}\ntransport = \"sip\"")),
        ];
        "talker": talker::Config, [|talker| call(&format!("talker = {talker}"))];
        "playout": playout::Config, [|playout| call(&format!("playout = {playout}"))];
        "transport": transport::Config, [
            |transport| flow(&format!("app = \"bulk\"\ntransport = {transport}")),
            |transport| flow(&format!("app = {{ kind = \"cbr\", rate = \"300 kbit/s\" }}\ntransport = {transport}")),
            |transport| flow(&format!("app = {{ kind = \"calls\", calls = 3, load = 2, holding = \"5 s\" }}\ntransport = {transport}")),
        ];
        "scheme": scheme::Config, [|scheme| dama(&format!("scheme = {scheme}"))];
        "estimator": estimator::Config, [
            |estimator| dama(&format!("scheme = {{ kind = \"rbdc\", estimator = {estimator} }}")),
        ];
        "allocator": allocator::Config, [|allocator| dama(&format!("scheme = \"rbdc\", allocator = {allocator}"))];
        "requests": requests::Config, [
            |requests| dama(&format!("scheme = \"avbdc\", response = 12, requests = {requests}")),
        ];
        "starts": Starts, [
            |starts| flow(&format!("app = \"bulk\"\ntransport = \"tcp\"\ncount = 3\nstarts = {starts}")),
        ];
        "marking": marking::Config, [|marking| atm(marking)];
        "adaptation": adaptation::Config, [|adaptation| wifi(adaptation)];
        "meter": meter::Config, [|meter| edge(meter)];
        "policy": policy::Config, [|policy| multilink(policy)];
        "mechanism": Mechanism, [|mechanism| proxy(mechanism), |mechanism| pair_of_proxies(mechanism)];
        "role": Role, [
            |role| service(role, "app = { kind = \"cbr\", rate = \"64 kbit/s\", datagram = \"160 B\" }\ntransport = \"udp\""),
            |role| service(role, "app = { kind = \"calls\", calls = 2, answer = \"1 s\" }\ntransport = \"sip\""),
        ];
        "choice": choice::Config, [
            |choice| sky(LOW, &format!("isl = {{ kind = \"grid\", rate = \"10 Mbit/s\" }}\nnetwork.sky.gsl.choice = {choice}")),
        ];
        "isl": isl::Config, [|isl| sky(HIGH, &format!("isl = {isl}"))];
        "shell": shell::Config, [|shell| sky(shell, "isl = { kind = \"grid\", rate = \"10 Mbit/s\" }")];
        "network": NetworkKind, [|network| format!("{HEAD}network.one = {network}\n{}", flows("a", "b"))];
    }
}

const HEAD: &str = "name = \"kinds\"\nduration = \"20 s\"\n";

/// Returns two flows from one node to another: a TCP transfer, and datagrams of another DSCP.
fn flows(from: &str, to: &str) -> String {
    format!(
        r#"
[[flow]]
name = "load"
from = "{from}"
to = "{to}"
app = "bulk"
transport = {{ kind = "tcp", congestion = "reno" }}
[[flow]]
name = "voice-{from}"
from = "{from}"
to = "{to}"
dscp = "ef"
app = {{ kind = "cbr", rate = "64 kbit/s", datagram = "160 B", on = "1 s", off = "1.35 s" }}
transport = "udp"
"#
    )
}

/// Returns a scenario with a link that has the keys `keys`.
fn link(keys: &str) -> String {
    let queue =
        if keys.starts_with("queue") { "" } else { ", queue = { kind = \"drop-tail\", packets = 40 }" };
    format!(
        "{HEAD}link = [{{ name = \"l\", from = \"a\", to = \"b\", rate = \"1 Mbit/s\", delay = \"50 ms\"{queue}, {keys} }}]\n{}",
        flows("a", "b")
    )
}

/// Returns a scenario with one flow over a link with losses. `keys` are the application and the
/// transport of the flow.
fn flow(keys: &str) -> String {
    format!(
        "{HEAD}link = [{{ name = \"l\", from = \"a\", to = \"b\", rate = \"1 Mbit/s\", delay = \"50 ms\", queue = {{ kind = \"drop-tail\", packets = 40 }}, \
         error = {{ kind = \"packet\", probability = 0.01 }} }}]\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{keys}\n"
    )
}

/// Returns a scenario with a star of three terminals that has the keys `keys`.
fn star(keys: &str) -> String {
    format!(
        "{HEAD}preset = \"dvb-rcs\"\nnetwork.sat.terminals = [{{ name = \"st\", count = 3 }}]\nnetwork.sat.{keys}\n{}{}",
        flows("st1", "gw"),
        flows("st2", "gw").replace("load", "more"),
    )
}

/// Returns a scenario with a star of three DVB-RCS2 terminals that has the keys `keys`.
fn bursts(keys: &str) -> String {
    star(keys).replace("\"dvb-rcs\"", "\"dvb-rcs2\"")
}

/// Returns a scenario with a Skyplex network of two terminals that has the keys `keys`.
fn skyplex(keys: &str) -> String {
    format!(
        "{HEAD}network.sat = {{ kind = \"skyplex\", channel = \"low-rate\", assignment = \"bod\", framing = \"mpe\", \
         forward = {{ rate = \"10 Mbit/s\" }}, terminals = [\"st1\", \"st2\"], gateway = \"gw\", {keys} }}\n{}{}",
        flows("st1", "gw"),
        flows("st2", "gw").replace("load", "more"),
    )
}

fn dama(keys: &str) -> String {
    star(&format!("return.dama = {{ cra = \"64 kbit/s\", {keys} }}"))
}

/// Returns a scenario with two ABR connections over a leg with this marking.
fn atm(marking: &str) -> String {
    format!(
        "{HEAD}network.wan = {{ kind = \"atm\", ends = [\"a\", \"b\"], access = {{ rate = \"20 Mbit/s\" }}, \
         legs = [{{ rate = \"2 Mbit/s\", delay = \"50 ms\", marking = {marking} }}], \
         contract = {{ category = \"abr\", peak = \"2 Mbit/s\" }}, \
         others = [{{ ends = [\"c\", \"d\"], contract = {{ category = \"abr\", peak = \"2 Mbit/s\" }} }}] }}\n{}{}",
        flows("a", "b"),
        flows("c", "d").replace("load", "more"),
    )
}

/// Returns a scenario with two stations at an access point, with this rate adaptation and losses.
fn wifi(adaptation: &str) -> String {
    let standard = if adaptation.contains("standard") { "" } else { "standard = \"802.11g\", " };
    format!(
        "{HEAD}network.wlan = {{ kind = \"wifi\", {standard}access_point = \"ap\", stations = [\"a\", \"b\"], \
         error = {{ kind = \"packet\", probability = 0.2 }}, adaptation = {adaptation} }}\n{}{}",
        flows("a", "ap"),
        flows("ap", "b").replace("load", "more"),
    )
}

#[test]
fn the_schema_has_a_valid_example_of_each_application_and_the_transports_that_carry_it() {
    let schema = schema::of_scenario();
    let variants = schema.as_value()["$defs"]["App"]["oneOf"].as_array().unwrap();
    let of = |kind: &str| {
        let mut kinds = variants.iter().filter_map(|one| Some((one, one.pointer("/properties/kind/const")?)));
        let (found, _) =
            kinds.find(|(_, name)| *name == kind).unwrap_or_else(|| panic!("{kind} is not listed"));
        (found["examples"].to_string(), found["transports"].to_string())
    };
    for kind in app::Config::KINDS {
        let (examples, transports) = of(kind);
        let examples: Vec<Value> = serde_json::from_str(&examples).unwrap();
        let accepted = transport::Config::KINDS.iter().filter(|transport| {
            // JSON as an inline table of TOML.
            let app = examples[0].to_string().replace("\":", "\" = ");
            loaded(&flow(&format!("app = {app}\ntransport = \"{transport}\""))).is_ok()
        });
        assert_eq!(transports, json!(accepted.collect::<Vec<_>>()).to_string(), "{kind}");
        assert_ne!(transports, "[]", "{kind}");
    }
    assert_eq!(of("bulk"), (r#"[{"kind":"bulk"}]"#.to_owned(), r#"["quic","tcp","tfrc"]"#.to_owned()));
    assert_eq!(of("calls"), (r#"[{"calls":2,"kind":"calls"}]"#.to_owned(), r#"["iax2","sip"]"#.to_owned()));
    // A transport added from the skeleton may carry bundles, too.
    let (examples, transports) = of("bundles");
    assert_eq!(examples, r#"[{"kind":"bundles","window":4}]"#);
    assert!(transports.contains(r#""udp""#) && !transports.contains("tcp") && !transports.contains("tfrc"));
}

/// Returns a scenario with a DiffServ edge in front of a link.
fn edge(meter: &str) -> String {
    format!(
        "{}[[edge.a]]\nflow = [\"load\"]\nmeter = {meter}\ngreen = \"af11\"\nyellow = \"af12\"\nred = \"drop\"\n",
        link("queue = \"wred\"")
    )
}

/// Returns a scenario with a multilink of two links. Under the policy `schedule` it has one planned
/// handover.
fn multilink(policy: &str) -> String {
    let planned = match policy.contains("\"schedule\"") {
        true => "[[handover]]\nat = \"4 s\"\nto = \"two\"\n",
        false => "",
    };
    let link = |name: &str, rate: &str, delay: &str| {
        format!("{{ name = \"{name}\", from = \"a\", to = \"b\", rate = \"{rate}\", delay = \"{delay}\", queue = {{ kind = \"drop-tail\", packets = 40 }} }}")
    };
    format!(
        "{HEAD}link = [{}, {}]\nmultilink = [{{ name = \"both\", links = [\"one\", \"two\"], policy = {policy} }}]\n{}{planned}",
        link("one", "1 Mbit/s", "100 ms"),
        link("two", "3 Mbit/s", "20 ms"),
        flows("a", "b")
    )
}

/// Returns a scenario with a proxy between two links. The second link has losses.
fn proxy(mechanism: &str) -> String {
    format!(
        r#"{HEAD}
link = [
    {{ name = "one", from = "a", to = "m", rate = "10 Mbit/s", delay = "5 ms" }},
    {{ name = "two", from = "m", to = "b", rate = "1 Mbit/s", delay = "50 ms", queue = {{ kind = "drop-tail", packets = 40 }}, error = {{ kind = "packet", probability = 0.01 }} }},
]
proxy = [{{ name = "pep", node = "m", mechanism = {mechanism} }}]
{}"#,
        flows("a", "b")
    )
}

/// Returns a scenario with a proxy at both ends of a network of bundle agents.
fn pair_of_proxies(mechanism: &str) -> String {
    format!(
        r#"{HEAD}
link = [
    {{ name = "one", from = "a", to = "m", rate = "10 Mbit/s", delay = "5 ms" }},
    {{ name = "three", from = "n", to = "b", rate = "1 Mbit/s", delay = "50 ms" }},
]
network.two = {{ kind = "bundles", plan = "src,dst,start,end,rate_bps,owlt_s\nm,n,0,4,2000000,0.3\nn,m,0,9,2000000,0.3\nm,n,6,19,2000000,0.3" }}
proxy = [
    {{ name = "entrance", node = "m", mechanism = {mechanism} }},
    {{ name = "exit", node = "n", mechanism = {mechanism} }},
]
{}"#,
        flows("a", "b")
    )
}

/// Returns a scenario with a service at which two flows end. `keys` are the keys of both flows.
fn service(role: &str, keys: &str) -> String {
    let link = |name: &str, from: &str| {
        format!("{{ name = \"{name}\", from = \"{from}\", to = \"m\", rate = \"1 Mbit/s\", delay = \"20 ms\", queue = {{ kind = \"drop-tail\", packets = 40 }} }}")
    };
    let flow =
        |from: &str| format!("[[flow]]\nname = \"from-{from}\"\nfrom = \"{from}\"\nto = \"m\"\n{keys}\n");
    format!(
        "{HEAD}link = [{}, {}]\nservice = [{{ name = \"s\", node = \"m\", role = {role} }}]\n{}{}",
        link("one", "a"),
        link("two", "b"),
        flow("a"),
        flow("b")
    )
}

/// Returns a scenario with two sites under a shell of satellites. `keys` are more keys of the
/// network.
fn sky(shell: &str, keys: &str) -> String {
    let queue = match keys.contains("gsl.queue") {
        true => "",
        false => "network.sky.gsl.queue = { kind = \"drop-tail\", packets = 40 }",
    };
    format!(
        r#"{}network.sky.kind = "constellation"
network.sky.shell = [{shell}]
network.sky.gsl.up = "1 Mbit/s"
network.sky.gsl.down = "1 Mbit/s"
{queue}
network.sky.sites.a = {{ latitude = "51.5 deg", longitude = "0 deg" }}
network.sky.sites.b = {{ latitude = "48.9 deg", longitude = "2.4 deg" }}
network.sky.{keys}
{}"#,
        HEAD.replace("20 s", "200 s"),
        flows("a", "b")
    )
}

/// A shell of two satellites that are visible from both sites.
const HIGH: &str = r#"{ kind = "geo", longitudes = ["0 deg", "20 deg"] }"#;

/// A shell in which the path between the two sites may need inter-satellite links.
const LOW: &str =
    r#"{ kind = "walker-star", altitude = "780 km", inclination = "86.4 deg", planes = 6, satellites = 11 }"#;

/// Returns each combination of a sample and a scenario that accepts it: the kind, the index of the
/// scenario in the list, and the loaded scenario.
fn accepted(list: &List) -> Vec<(&'static str, usize, Scenario)> {
    let mut accepted = Vec::new();
    for (kind, sample) in list.kinds.iter().zip(&list.samples) {
        let before = accepted.len();
        let mut refusals = String::new();
        for (number, text) in list.scenarios.iter().enumerate() {
            match loaded(&text(sample)) {
                Ok(loaded) => accepted.push((*kind, number, loaded.value)),
                Err(error) => refusals += &format!("\n{error}"),
            }
        }
        assert!(accepted.len() > before, "{} {sample} is accepted nowhere:{refusals}", list.name);
    }
    // Real programs need the real clock, so they cannot run here.
    accepted.retain(|(_, _, scenario)| !scenario.flow.iter().any(|flow| flow.is_command()));
    accepted
}

/// Runs a scenario in 40 steps and checks the balance of packets after each step.
fn in_steps(scenario: &Scenario) -> Results {
    let mut run = Run::new(scenario, 1, 0);
    for step in 1..=40 {
        let now = Time::from_nanos(run.end.as_nanos() / 40 * step);
        run.network.run_until(now);
        sums(&mut run.network).unwrap();
    }
    let mut run = run.finished();
    sums(&mut run.network).unwrap();
    run.results()
}

#[test]
fn every_place_accepts_every_queue() {
    for list in lists().into_iter().filter(|list| list.name == "queue") {
        for (number, text) in list.scenarios.iter().enumerate() {
            for sample in &list.samples {
                loaded(&text(sample))
                    .unwrap_or_else(|error| panic!("{sample} in scenario {number}: {error}"));
            }
        }
    }
}

#[test]
fn every_variant_conserves_packets_and_is_repeatable() {
    let mut table = "\
The sample of each variant, in the scenarios of crates/engine/tests/truth/kinds.rs that accept it
delivered: sum over all flows in 20 s (constellations: 200 s)

list       variant               scenario  delivered     packets  dropped    held
                                                  kB     created
"
    .to_owned();
    let only = std::env::var("ONLY").unwrap_or_default();
    for list in lists().into_iter().chain([congestion()]) {
        for (kind, number, scenario) in accepted(&list).into_iter().filter(|(kind, ..)| kind.contains(&only))
        {
            let what = format!("{} {kind} in scenario {number}", list.name);
            let first = Run::new(&scenario, 1, 0).finished();
            let report = first.report();
            let first = first.results();
            assert!(first == in_steps(&scenario), "{what}: two runs differ");
            time_goes_forward(&first.traces).unwrap_or_else(|error| panic!("{what}: {error}"));
            balance::flows(&scenario, &report, &first.totals, first.held)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let dropped: u64 = first.totals.dropped.values().map(|held| held.packets).sum();
            let delivered: f64 = scenario
                .flow
                .iter()
                .filter_map(|flow| report.value("flow_destination", &flow.name, "delivered_bytes"))
                .sum();
            assert!(first.totals.consumed.packets > 0, "{what}: nothing arrives");
            let _ = writeln!(
                table,
                "{:<10} {kind:<21} {number:>8} {:>10.1} {:>11} {dropped:>8} {:>7}",
                list.name,
                delivered / 1e3,
                first.totals.created.packets,
                first.held.packets,
            );
        }
    }
    // `ONLY=toy` runs only the variants with `toy` in their name and skips the golden table.
    if only.is_empty() {
        golden::check("kinds.txt", &table);
    }
}

#[test]
fn every_list_of_the_schema_is_run() {
    let schema = schema::of_scenario();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    collect(schema.as_value(), &mut found);
    let run: BTreeSet<Vec<String>> =
        lists().iter().map(|list| list.kinds.iter().map(|kind| (*kind).to_owned()).collect()).collect();
    assert_eq!(found, run, "`lists()` must contain every list of variants in the schema");
}

/// Adds the kinds of every list of variants in a schema to `found`.
fn collect(schema: &serde_json::Value, found: &mut BTreeSet<Vec<String>>) {
    if let Some(variants) = schema["oneOf"].as_array() {
        let kinds = variants.iter().filter_map(|variant| variant["properties"]["kind"]["const"].as_str());
        let kinds: Vec<String> = kinds.map(str::to_owned).collect();
        if !kinds.is_empty() {
            found.insert(kinds);
        }
    }
    match schema {
        serde_json::Value::Object(fields) => fields.values().for_each(|value| collect(value, found)),
        serde_json::Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}
