//! The resolved scenario is readable and complete, and loads to the same value.

use crate::model::{App, Bulk, Cbr, Congestion, Cra, Dama, Direction, Distribution, DvbRcs, Flow, Network};
use crate::model::{PointToPoint, Rbdc, Scenario, Tcp, Transport, Udp};
use bentpipe_core::{Count, Fraction, Problems, Rate, Size, Span};
use bentpipe_scenario::{load, parse_bytes, to_toml, Check, Presets, Source};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// A scenario whose flows are not checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Unchecked(Scenario);

impl Check for Unchecked {
    fn check(&self, _: &mut Problems) {}
}

fn reload(text: &str) -> Scenario {
    let source = Source::Text { name: "resolved.toml", text };
    match load::<Unchecked>(source, &Presets::new(), &[]) {
        Ok(loaded) => loaded.value.0,
        Err(error) => panic!("{error}\n{text}"),
    }
}

#[test]
fn resolved_scenario_has_readable_layout() {
    let text = r#"
        [[flow]]
        name = "upload"
        from = "st1"
        to = "gw"
        transport = "tcp"
        [[flow]]
        name = "call"
        from = "st1"
        to = "gw"
        app = { kind = "cbr", rate = "64 kbit/s" }
        transport = "udp"
        [network.sat]
        kind = "dvb-rcs"
        gateway = "gw"
        terminals = ["st1"]
        return = { rate = "2048 kbit/s", dama = { kind = "rbdc", gamma = 0.4, cra = "64 kbit/s" } }
        forward = { rate = "10 Mbit/s" }
    "#;
    let text = format!("duration = \"400 s\"\n{text}");
    let loaded = load::<Scenario>(Source::Text { name: "a.toml", text: &text }, &Presets::new(), &[])
        .expect("the scenario is valid");
    let resolved = r#"name = ""
duration = "400 s"
seed = 1
record = []

[network.sat]
kind = "dvb-rcs"
gateway = "gw"
terminals = ["st1"]
forward = { rate = "10 Mbit/s" }
return = { rate = "2.048 Mbit/s", dama = { kind = "rbdc", gamma = 0.4, cra = "64 kbit/s" } }

[[flow]]
name = "upload"
from = "st1"
to = "gw"
app = { kind = "bulk" }
transport = { kind = "tcp", congestion = "reno", initial_ssthresh = 64, sack = true }

[[flow]]
name = "call"
from = "st1"
to = "gw"
app = { kind = "cbr", rate = "64 kbit/s", distribution = "constant" }
transport = { kind = "udp" }
"#;
    assert_eq!(loaded.to_toml(), resolved);
    assert_eq!(loaded.to_json()["flow"][1]["app"]["kind"], "cbr");
    let again = load::<Scenario>(Source::Text { name: "b.toml", text: resolved }, &Presets::new(), &[]);
    assert_eq!(again.expect("the resolved scenario is valid").value, loaded.value);
}

#[test]
fn long_values_are_broken_over_several_lines() {
    let mut scenario = reload("duration = \"1 s\"");
    scenario.record = (0..30).map(|number| format!("series-{number}")).collect();
    let text = to_toml(&scenario).expect("TOML can hold it");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(reload(&text), scenario);
}

#[test]
fn value_that_toml_cannot_represent_is_an_error() {
    assert!(to_toml(&3).is_err());
    assert!(to_toml(&std::collections::BTreeMap::from([("seed", u64::MAX)])).is_err());
}

/// Generates short texts with every kind of character.
fn word() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>(), 0..6).prop_map(String::from_iter)
}

fn words() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(word(), 0..4)
}

/// A type that checks its value after deserialization.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Even(#[allow(dead_code)] String);

impl TryFrom<String> for Even {
    type Error = String;
    fn try_from(text: String) -> Result<Even, String> {
        if text.len() & 1 == 0 {
            Ok(Even(text))
        } else {
            Err("has an odd number of letters".to_owned())
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "std::collections::BTreeMap<String, Vec<Even>>")]
struct Never {}

impl TryFrom<std::collections::BTreeMap<String, Vec<Even>>> for Never {
    type Error = &'static str;
    fn try_from(_: std::collections::BTreeMap<String, Vec<Even>>) -> Result<Never, &'static str> {
        Err("is never right")
    }
}

impl Check for Never {
    fn check(&self, _: &mut Problems) {}
}

#[test]
fn faults_found_after_deserialization_have_a_location() {
    let refused = |text| {
        let source = Source::Text { name: "a.toml", text };
        load::<Never>(source, &Presets::new(), &[])
            .expect_err("a value of this type is never valid")
            .to_string()
    };
    assert_eq!(refused("x = ['ab']"), "a.toml:1:1: is never right");
    assert_eq!(refused("x = ['ab', 'abc']"), "a.toml:1:12: x.1 = 'abc': has an odd number of letters");
}

fn rate() -> impl Strategy<Value = Rate> {
    (1u64..=100_000_000_000_000).prop_map(Rate::from_bits_per_second)
}

fn direction() -> impl Strategy<Value = Direction> {
    let dama = prop_oneof![
        rate().prop_map(|cra| Dama::Cra(Cra { cra })),
        (0.0..=1.0, proptest::option::of(rate())).prop_map(|(gamma, cra)| {
            Dama::Rbdc(Rbdc { gamma: Fraction::new(gamma).expect("gamma is a fraction"), cra })
        }),
    ];
    (rate(), proptest::option::of(dama)).prop_map(|(rate, dama)| Direction { rate, dama })
}

fn network() -> impl Strategy<Value = Network> {
    prop_oneof![
        ([word(), word()], rate(), 0.0..=1.0).prop_map(|(nodes, rate, loss)| {
            let loss = Fraction::new(loss).expect("a loss is a fraction");
            Network::PointToPoint(PointToPoint { nodes, rate, loss })
        }),
        (word(), words(), direction(), direction()).prop_map(|(gateway, terminals, forward, r#return)| {
            Network::DvbRcs(DvbRcs { gateway, terminals, forward, r#return })
        }),
    ]
}

fn flow() -> impl Strategy<Value = Flow> {
    let app = prop_oneof![
        proptest::option::of((0u64..1 << 53).prop_map(Size::from_bytes))
            .prop_map(|size| App::Bulk(Bulk { size })),
        (rate(), any::<bool>()).prop_map(|(rate, exponential)| {
            let distribution = if exponential { Distribution::Exponential } else { Distribution::Constant };
            App::Cbr(Cbr { rate, distribution })
        }),
    ];
    let transport = prop_oneof![
        Just(Transport::Udp(Udp {})),
        (any::<bool>(), 2u64..=1_000_000, any::<bool>()).prop_map(|(vegas, ssthresh, sack)| {
            let congestion = if vegas { Congestion::Vegas } else { Congestion::Reno };
            Transport::Tcp(Tcp { congestion, initial_ssthresh: Count::new(ssthresh), sack })
        }),
    ];
    (word(), word(), word(), app, transport).prop_map(|(name, from, to, app, transport)| Flow {
        name,
        from,
        to,
        app,
        transport,
    })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    (
        word(),
        0u64..1 << 50,
        0u64..=1_000_000,
        proptest::collection::btree_map(word(), network(), 0..4),
        proptest::collection::vec(flow(), 0..4),
        words(),
    )
        .prop_map(|(name, nanos, seed, network, flow, record)| Scenario {
            name,
            duration: Span::from_nanos(nanos),
            seed: Count::new(seed),
            network,
            flow,
            record,
        })
}

/// Generates text that is similar enough to a scenario to pass the first checks.
fn nearly_toml() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,3}",
        Just("=".to_owned()),
        Just(" = \"400 s\"\n".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just("[[flow]]\n".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just(".".to_owned()),
        Just(",".to_owned()),
        Just("\n".to_owned()),
        Just("'''".to_owned()),
        Just("\"".to_owned()),
        Just("kind".to_owned()),
        Just("network".to_owned()),
        "[-+]?[0-9]{1,25}(\\.[0-9]{1,3})?(e[0-9]{1,4})?",
        "\\PC",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn resolved_scenario_loads_to_the_same_value(scenario in scenario()) {
        let text = to_toml(&scenario).expect("TOML can hold it");
        let again = reload(&text);
        prop_assert_eq!(&again, &scenario);
        prop_assert_eq!(to_toml(&again).expect("TOML can hold it"), text);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in any::<Vec<u8>>()) {
        let _ = parse_bytes(&bytes);
    }

    #[test]
    fn arbitrary_text_and_overrides_do_not_panic(text in nearly_toml(), over in nearly_toml(), preset in nearly_toml()) {
        let presets = Presets::from([("a".to_owned(), preset)]);
        let overrides = [over, "flow.x=".to_owned() + &text];
        let text = format!("preset = \"a\"\n{text}");
        let source = Source::Text { name: "a.toml", text: &text };
        for overrides in [&overrides[..], &overrides[..1], &[]] {
            if let Err(error) = load::<Scenario>(source, &presets, overrides) {
                prop_assert!(!error.problems.is_empty());
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
