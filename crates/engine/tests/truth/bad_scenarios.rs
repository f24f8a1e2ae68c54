//! The engine's checks of scenarios: the message and the position of each refusal. All shipped
//! scenarios load, also from their resolved text.

use crate::golden;
use bentpipe_engine::presets::{self, PRESETS};
use bentpipe_engine::scenario::Scenario;
use bentpipe_scenario::{load, Loaded, Source};
use std::fmt::Write as _;
use std::path::Path;

/// A valid scenario. Each case replaces parts of it.
pub const GOOD: &str = r#"name = "good"
duration = "10 s"

[record]
traces = ["tcp"]
capture = ["a"]

[[link]]
name = "first"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "10 ms"

[[link]]
name = "second"
from = "c"
to = "d"
rate = "1 Mbit/s"
delay = "10 ms"

[network.sat]
kind = "dvb-rcs"
forward = { rate = "10 Mbit/s" }
return = { rate = "2048 kbit/s", dama = { scheme = "rbdc", cra = "64 kbit/s" } }
terminals = ["st1", "st2"]
gateway = "gw"

[[flow]]
name = "bulk"
from = "a"
to = "b"
app = "bulk"
transport = { kind = "tcp", congestion = "reno" }

[[flow]]
name = "voice"
from = "c"
to = "d"
app = { kind = "cbr", rate = "64 kbit/s" }
transport = "udp"
"#;

/// Name of the case, replaced parts of the good scenario, and their replacements.
const CASES: &[(&str, &[(&str, &str)])] = &[
    (
        "an MTU of trunk frames without a trunk",
        &[(
            "app = { kind = \"cbr\", rate = \"64 kbit/s\" }\ntransport = \"udp\"",
            "app = { kind = \"calls\", calls = 1 }\ntransport = { kind = \"iax2\", mtu = \"1500 B\" }",
        )],
    ),
    (
        "an MTU of trunk frames in which no IPv4 packet fits",
        &[(
            "app = { kind = \"cbr\", rate = \"64 kbit/s\" }\ntransport = \"udp\"",
            "app = { kind = \"calls\", calls = 1 }\ntransport = { kind = \"iax2\", trunk = \"20 ms\", mtu = \"60 B\" }",
        )],
    ),
    (
        "calls with more than 240 ms of speech in a packet",
        &[(
            "app = { kind = \"cbr\", rate = \"64 kbit/s\" }\ntransport = \"udp\"",
            "app = { kind = \"calls\", calls = 1, codec = \"GSM-FR\", frames = 13 }\ntransport = \"sip\"",
        )],
    ),
    (
        "a Wi-Fi network with keys that do not belong together",
        &[(
            "[[flow]]\nname = \"bulk\"",
            r#"[network.wlan]
kind = "wifi"
standard = "802.11g"
access_point = "ap"
stations = ["x", { prefix = "y" }, "x"]
width = "40 MHz"
hears = { x = ["z"] }
adaptation = { kind = "fixed", rate = "11 Mbit/s" }
error = { kind = "packet", probability = 0.1, effect = "stale-checksum" }
queue = { kind = "codel", target = "0 s" }
aggregate = "1 MB"

[[flow]]
name = "bulk""#,
        )],
    ),
    (
        "a flow from a node that does not exist",
        &[("from = \"c\"\nto = \"d\"\napp", "from = \"C\"\nto = \"d\"\napp")],
    ),
    ("a flow to a node that does not exist", &[("to = \"b\"\napp", "to = \"st3\"\napp")]),
    ("a destination on another island", &[("to = \"b\"\napp", "to = \"d\"\napp")]),
    ("a destination that is the source", &[("to = \"b\"\napp", "to = \"a\"\napp")]),
    ("two flows of one name", &[("name = \"voice\"", "name = \"bulk\"")]),
    ("two links of one name", &[("name = \"second\"", "name = \"first\"")]),
    ("a link called as the return of another", &[("name = \"second\"", "name = \"first.return\"")]),
    ("a terminal called as the control centre", &[("\"st2\"]", "\"ncc\"]")]),
    ("a network whose part is called as a link", &[("name = \"second\"", "name = \"sat.st1\"")]),
    ("a link between a node and itself", &[("to = \"d\"\nrate", "to = \"c\"\nrate")]),
    ("bulk over udp", &[("transport = { kind = \"tcp\", congestion = \"reno\" }", "transport = \"udp\"")]),
    (
        "bulk in datagrams over quic",
        &[(
            "transport = { kind = \"tcp\", congestion = \"reno\" }",
            "transport = { kind = \"quic\", max_datagram_frame_size = 1200 }",
        )],
    ),
    (
        "datagrams above the largest of quic",
        &[("transport = \"udp\"", "transport = { kind = \"quic\", max_datagram_frame_size = 900 }")],
    ),
    (
        "voice on a stream of quic",
        &[
            ("app = { kind = \"cbr\", rate = \"64 kbit/s\" }", "app = \"voice\""),
            ("transport = \"udp\"", "transport = \"quic\""),
        ],
    ),
    ("a congestion control that does not exist", &[("\"reno\"", "\"rino\"")]),
    ("a parameter of the kernel's own", &[("\"reno\" }", "\"linux-cubic\", parameters = { alpha = 2 } }")]),
    (
        "a congestion control of the kernel at simulated ends",
        &[("congestion = \"reno\" }", "congestion = \"linux-cubic\" }\nendpoints = \"model\"")],
    ),
    ("a parameter that Reno has not", &[("\"reno\" }", "\"reno\", parameters = { alpha = 2 } }")]),
    ("a parameter that Vegas has not", &[("\"reno\" }", "\"vegas\", parameters = { alfa = 2 } }")]),
    ("Vegas with alpha above beta", &[("\"reno\" }", "\"vegas\", parameters = { alpha = 5 } }")]),
    ("a parameter out of range", &[("\"reno\" }", "\"vegas\", parameters = { alpha = -1 } }")]),
    ("an option of TCP that does not exist", &[("\"reno\" }", "\"reno\", delayed_acks = false }")]),
    ("a trace that does not exist", &[("[\"tcp\"]", "[\"tcp\", \"cwnd\"]")]),
    ("a capture at a node that does not exist", &[("capture = [\"a\"]", "capture = [\"a\", \"z\"]")]),
    ("no time", &[("\"10 s\"", "\"0 s\"")]),
    ("a name that cannot be a folder", &[("\"good\"", "\"good/bad\"")]),
    ("no name", &[("name = \"good\"\n", "")]),
    (
        "a queue for less than a packet",
        &[(
            "delay = \"10 ms\"\n\n[[link]]",
            "delay = \"10 ms\"\nqueue = { kind = \"drop-tail\", bytes = \"1 kB\" }\n\n[[link]]",
        )],
    ),
    ("a kind of network that does not exist", &[("kind = \"dvb-rcs\"", "kind = \"dvb-rcs2\"")]),
    ("a scheme that does not exist", &[("\"rbdc\"", "\"abdc\"")]),
    ("a mix of categories without limits", &[("\"rbdc\"", "{ kind = \"mix\", rbdc = {}, vbdc = {} }")]),
    ("a maximum above the link's", &[("\"rbdc\"", "{ kind = \"vbdc\", max = \"4096 kbit/s\" }")]),
    ("a response that is too short", &[("cra = \"64 kbit/s\"", "cra = \"64 kbit/s\", response = 3")]),
    ("constant rates that do not fit", &[("cra = \"64 kbit/s\"", "cra = \"1088 kbit/s\"")]),
    ("a constant rate of broken slots", &[("cra = \"64 kbit/s\"", "cra = \"100 kbit/s\"")]),
    ("a slot of broken bytes", &[("\"2048 kbit/s\"", "\"2 Mbit/s\"")]),
    ("two terminals of one name", &[("\"st2\"]", "\"st1\"]")]),
    ("a terminal that is the gateway", &[("\"st2\"]", "\"gw\"]")]),
    ("no terminals", &[("[\"st1\", \"st2\"]", "[]")]),
    ("a datagram of no bytes", &[("rate = \"64 kbit/s\" }", "rate = \"64 kbit/s\", datagram = \"0 B\" }")]),
    (
        "a command without a program",
        &[("\"bulk\"\ntransport", "{ kind = \"command\", run = \"\" }\ntransport")],
    ),
    (
        "a placeholder that does not exist",
        &[("\"bulk\"\ntransport", "{ kind = \"command\", run = \"ping {host}\" }\ntransport")],
    ),
    (
        "a command at simulated ends",
        &[(
            "\"bulk\"\ntransport",
            "{ kind = \"command\", run = \"ping {to}\" }\nendpoints = \"model\"\ntransport",
        )],
    ),
    ("a burst without silence", &[("rate = \"64 kbit/s\" }", "rate = \"64 kbit/s\", on = \"1 s\" }")]),
    ("a receive window below a segment", &[("\"reno\" }", "\"reno\", receive_window = \"1000 B\" }")]),
    (
        "a probability above one",
        &[("to = \"b\"\nrate", "to = \"b\"\nerror = { kind = \"packet\", probability = 1.5 }\nrate")],
    ),
    ("a rate of zero", &[("to = \"b\"\nrate = \"1 Mbit/s\"", "to = \"b\"\nrate = \"0 bit/s\"")]),
    ("a rate without unit", &[("to = \"b\"\nrate = \"1 Mbit/s\"", "to = \"b\"\nrate = 1000000")]),
    (
        "a preset that does not exist",
        &[("duration = \"10 s\"\n", "duration = \"10 s\"\npreset = \"geo-kan\"\n")],
    ),
    (
        "a probability in per cent",
        &[("to = \"b\"\nrate", "to = \"b\"\nerror = { kind = \"packet\", probability = \"1 %\" }\nrate")],
    ),
    ("a probability without a kind", &[("to = \"b\"\nrate", "to = \"b\"\nerror.probability = 0.1\nrate")]),
    ("a rate in bytes", &[("to = \"b\"\nrate = \"1 Mbit/s\"", "to = \"b\"\nrate = \"5 MB/s\"")]),
    ("a symbol rate without ACM", &[("to = \"b\"\nrate = \"1 Mbit/s\"", "to = \"b\"\nrate = \"10 MBd\"")]),
    ("a symbol rate of a forward link without ACM", &[("{ rate = \"10 Mbit/s\" }", "{ rate = \"10 MBd\" }")]),
    ("another word for an application", &[("app = \"bulk\"", "app = \"web\"")]),
    (
        "a queue's limit in bytes of the kind with packets",
        &[("to = \"b\"\nrate", "to = \"b\"\nqueue = { kind = \"red\", limit = \"75 kB\" }\nrate")],
    ),
    (
        "two volume categories",
        &[("scheme = \"rbdc\"", "scheme = { kind = \"mix\", vbdc = { max = \"1 Mbit/s\" }, avbdc = {} }")],
    ),
    ("a list that is one table", &[("[[flow]]\nname = \"bulk\"", "[flow]\nname = \"bulk\""), ("[[flow]]\nname = \"voice\"", "[edge]\nname = \"voice\"")]),
    ("only a part of the other direction", &[("to = \"b\"\nrate", "to = \"b\"\nreturn.delay = \"1 s\"\nrate")]),
    ("a key that cannot be unset", &[("to = \"b\"\nrate = \"1 Mbit/s\"", "to = \"b\"\nrate = \"unset\"")]),
    (
        "several things at once",
        &[
            ("\"10 s\"", "\"0 s\""),
            ("to = \"b\"\napp", "to = \"x\"\napp"),
            ("\"reno\"", "\"renno\""),
            ("kind = \"cbr\", ", "kind = \"cbr\", on = \"0 s\", off = \"1 s\", "),
        ],
    ),
];

pub fn loaded(text: &str) -> Result<Loaded<Scenario>, String> {
    load(Source::Text { name: "case.toml", text }, &presets::all(), &[]).map_err(|error| error.to_string())
}

#[test]
fn each_refusal_names_place_key_value_and_allowed_values() {
    loaded(GOOD).expect("there is nothing wrong with it");
    let mut text = "Refused scenarios and their messages\n".to_owned();
    for (what, replacements) in CASES {
        let mut case = GOOD.to_owned();
        for (old, new) in *replacements {
            assert_eq!(case.matches(old).count(), 1, "{what}: {old:?}");
            case = case.replacen(old, new, 1);
        }
        let message = loaded(&case).err().unwrap_or_else(|| panic!("{what} is accepted"));
        let _ = writeln!(text, "\n{what}\n  {}", message.replace('\n', "\n  "));
    }
    let nothing = "name = \"nothing\"\nduration = \"1 s\"\n";
    let _ = writeln!(text, "\nnothing in it\n  {}", loaded(nothing).expect_err("there is no node"));
    let idle = loaded(&format!("preset = \"geo\"\n{nothing}")).expect("it is a network");
    let refused = idle.refuse(idle.value.check_run()).expect_err("there is no flow");
    let _ = writeln!(text, "\nno flow, to be run\n  {refused}");
    golden::check("refusals.txt", &text);
}

/// Unusual but valid settings are accepted: a mean at a bound is a constant, a symbol rate is used
/// with ACM, and unset keys count as missing.
#[test]
fn unusual_but_valid_scenarios_are_accepted() {
    for (old, new) in [
        ("app = \"bulk\"", "app = { kind = \"http\", object = \"10 kB\", objects = 1 }"),
        ("{ rate = \"10 Mbit/s\" }", "{ rate = \"10 MBd\", acm = { esn0_db = 12.5 } }"),
        ("cra = \"64 kbit/s\"", "cra = \"unset\""),
        ("capture = [\"a\"]", "capture = \"unset\""),
    ] {
        assert_eq!(GOOD.matches(old).count(), 1, "{old:?}");
        let first = loaded(&GOOD.replacen(old, new, 1)).unwrap_or_else(|error| panic!("{error}"));
        again(&first, new);
    }
}

/// In presets, the direction `return` comes from the user: links begin on the side of the gateway
/// and end on the side of the user.
#[test]
fn links_of_presets_are_directed_to_the_user() {
    for preset in PRESETS {
        let text = preset.text;
        for line in text.lines().filter(|line| line.starts_with("to = ")) {
            let to = line.trim_start_matches("to = ").trim_matches('"');
            assert!(["user", "terminal", "ship", "device", "mars"].contains(&to), "{}: {line}", preset.name);
        }
        // The network's kind defines the terminals' return link.
        assert!(!text.contains("[[link]]") || text.contains("\nto = "), "{}", preset.name);
    }
}

#[test]
fn kernel_only_variants_are_valid_but_not_simulated() {
    for name in bentpipe_congestion::LINUX {
        let first = loaded(&GOOD.replacen("reno", name, 1)).unwrap_or_else(|error| panic!("{error}"));
        again(&first, name);
        let error = first.refuse(first.value.check_simulated()).expect_err("it is not simulated").to_string();
        for words in
            ["flow.bulk.transport.congestion", name, "`bentpipe emulate`", "allowed: ", "reno, ", "vegas"]
        {
            assert!(error.contains(words), "{error}");
        }
    }
    let command =
        GOOD.replacen("\"bulk\"\ntransport", "{ kind = \"command\", run = \"ping {to}\" }\ntransport", 1);
    let first = loaded(&command).unwrap_or_else(|error| panic!("{error}"));
    again(&first, "a command");
    let error = first.refuse(first.value.check_simulated()).expect_err("it needs hosts").to_string();
    assert!(
        error.contains("flow.bulk.app") && error.contains("`bentpipe emulate`, or another app"),
        "{error}"
    );
    let good = loaded(GOOD).expect("there is nothing wrong with it");
    good.refuse(good.value.check_simulated()).expect("it can be simulated");
}

/// Loads the resolved text of `first`, without presets.
fn again(first: &Loaded<Scenario>, what: &str) {
    let text = first.to_toml();
    let second =
        load::<Scenario>(Source::Text { name: "resolved.toml", text: &text }, &Default::default(), &[])
            .unwrap_or_else(|error| panic!("{what}: {error}\nin\n{text}"));
    // The varied keys of a campaign are not part of its runs.
    let expected = Scenario { campaign: None, ..first.value.clone() };
    assert!(second.value == expected, "{what}: {text}");
    assert_eq!(second.to_toml(), text, "{what}");
    assert_eq!(second.to_json(), first.to_json(), "{what}");
    assert!(second.notes.is_empty(), "{what}: {:?}", second.notes);
}

#[test]
fn every_example_loads_and_loads_again_from_its_resolved_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut count = 0;
    for entry in folder.read_dir().expect("there are examples") {
        let path = entry.expect("the folder is readable").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let first =
                load::<Scenario>(Source::File(&path), &presets::all(), &[]).unwrap_or_else(|e| panic!("{e}"));
            again(&first, &path.display().to_string());
            count += 1;
        }
    }
    assert!(count >= 2);
}

#[test]
fn a_flow_runs_on_every_preset() {
    for preset in PRESETS {
        let name = preset.name;
        assert!(!preset.about().is_empty(), "{name}");
        let text = |from: &str, to: &str| {
            format!(
                "name = \"p\"\nduration = \"10 s\"\npreset = \"{name}\"\n[[flow]]\nname = \"f\"\nfrom = \"{from}\"\n\
                 to = \"{to}\"\napp = \"bulk\"\ntransport = \"tcp\"\n"
            )
        };
        // The error about a missing node lists the existing ones.
        let error = loaded(&text("nowhere", "nowhere else")).expect_err("there is no such node");
        let allowed =
            error.lines().next().and_then(|line| line.split("allowed: ").nth(1)).expect("a list of nodes");
        let nodes: Vec<&str> = allowed.split(", ").collect();
        let [one, .., other] = nodes[..] else { panic!("{name}: {error}") };
        for (from, to) in [(one, other), (other, one)] {
            let first = loaded(&text(from, to)).unwrap_or_else(|error| panic!("{name}: {error}"));
            again(&first, name);
            let report = crate::run::report(&first.value, 0);
            let sent = report.value("tcp_connection", "f.source", "state").expect("it has a connection");
            let delivered = crate::run::value(&report, "flow_destination", "f", "delivered_bytes");
            // To Mars, even a SYN takes longer.
            assert!(if name == "mars" { sent == 2.0 } else { sent == 4.0 && delivered > 10_000.0 }, "{name}");
        }
    }
}

#[test]
fn the_resolved_text_of_the_good_scenario_is_equivalent() {
    again(&loaded(GOOD).expect("there is nothing wrong with it"), "good");
}
