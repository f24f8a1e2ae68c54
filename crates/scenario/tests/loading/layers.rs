//! Presets below the file, and overrides above it.

use crate::model::{App, Congestion, Dama, Distribution, Network, Scenario, Transport};
use bentpipe_scenario::{load, Loaded, Presets, Source};

const FILE: &str = r#"
name = "Upload"
duration = "400 s"
[network.sat]
kind = "dvb-rcs"
gateway = "gw"
terminals = ["st1", "st2"]
forward = { rate = "10 Mbit/s" }
return = { rate = "2048 kbit/s", dama = { kind = "rbdc", gamma = 0.4, cra = "64 kbit/s" } }
[[flow]]
name = "upload"
from = "st1"
to = "gw"
transport = "tcp"
[[flow]]
name = "call.1"
from = "st2"
to = "gw"
app = { kind = "cbr", rate = "64 kbit/s" }
transport = { kind = "tcp", congestion = "vegas", initial_ssthresh = 20 }
"#;

fn with(text: &str, presets: &[(&str, &str)], overrides: &[&str]) -> Loaded<Scenario> {
    let presets: Presets =
        presets.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let overrides: Vec<_> = overrides.iter().map(|text| (*text).to_owned()).collect();
    load(Source::Text { name: "a.toml", text }, &presets, &overrides)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn tcp(scenario: &Scenario, flow: usize) -> &crate::model::Tcp {
    match &scenario.flow[flow].transport {
        Transport::Tcp(tcp) => tcp,
        other => panic!("{other:?} is not TCP"),
    }
}

fn dama(scenario: &Scenario) -> &Dama {
    match &scenario.network["sat"] {
        Network::DvbRcs(star) => star.r#return.dama.as_ref().expect("the return link has a scheme"),
        other => panic!("{other:?} is not a star"),
    }
}

#[test]
fn overrides_reach_scalars_elements_by_name_and_variants_given_by_name_alone() {
    let scenario = with(
        FILE,
        &[],
        &[
            "duration=10 s",
            "name = Short run ",
            "flow.upload.transport.congestion=vegas",
            "flow.\"call.1\".app.distribution=exponential",
            "flow.'call.1'.transport.initial_ssthresh=30",
            "network.sat.terminals=[\"st1\", \"st2\", \"st3\"]",
            "network.sat.return={ rate = \"1 Mbit/s\" }",
        ],
    )
    .value;
    assert_eq!(scenario.duration.as_nanos(), 10_000_000_000);
    assert_eq!(scenario.name, "Short run");
    assert_eq!(tcp(&scenario, 0).congestion, Congestion::Vegas);
    assert_eq!(tcp(&scenario, 1).initial_ssthresh.value(), 30);
    let App::Cbr(cbr) = &scenario.flow[1].app else { panic!("the app stays") };
    assert_eq!(cbr.distribution, Distribution::Exponential);
    let Network::DvbRcs(star) = &scenario.network["sat"] else { panic!("the network stays") };
    assert_eq!(star.terminals.len(), 3);
    assert_eq!(star.r#return.rate.bits_per_second(), 1_000_000);
    // Tables are merged: keys that the override does not name are kept.
    assert!(matches!(dama(&scenario), Dama::Rbdc(_)));
}

#[test]
fn last_override_wins_and_unnamed_elements_are_addressed_by_position() {
    let scenario =
        with(FILE, &[], &["seed=2", "seed=3", "network.sat.terminals.1=st9", "flow.1.from=st9"]).value;
    assert_eq!(scenario.seed.value(), 3);
    let Network::DvbRcs(star) = &scenario.network["sat"] else { panic!("the network stays") };
    assert_eq!(star.terminals, ["st1", "st9"]);
}

#[test]
fn text_that_looks_like_another_type_is_quoted() {
    assert_eq!(with(FILE, &[], &["name=\"3\""]).value.name, "3");
    assert_eq!(with(FILE, &[], &["name=''"]).value.name, "");
    assert_eq!(with(FILE, &[], &["name=a=b # c"]).value.name, "a=b # c");
}

#[test]
fn another_kind_keeps_the_keys_it_knows_and_notes_the_others() {
    let loaded = with(FILE, &[], &["network.sat.return.dama.kind=cra"]);
    let Dama::Cra(cra) = dama(&loaded.value) else { panic!("the kind changed") };
    assert_eq!(cra.cra.bits_per_second(), 64_000);
    let notes: Vec<_> = loaded.notes.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(notes, ["network.sat.return.dama.gamma"]);

    let by_name = with(FILE, &[], &["network.sat.return.dama=cra"]);
    assert_eq!(by_name.value, loaded.value);
    let same = with(FILE, &[], &["network.sat.return.dama.kind=rbdc"]);
    assert!(same.notes.is_empty());
}

#[test]
fn keys_of_overrides_are_never_dropped_in_any_order() {
    for overrides in [
        ["network.sat.return.dama.gamma=0.5", "network.sat.return.dama.kind=cra"],
        ["network.sat.return.dama.kind=cra", "network.sat.return.dama.gamma=0.5"],
    ] {
        let overrides = overrides.map(str::to_owned);
        let source = Source::Text { name: "a.toml", text: FILE };
        let error = load::<Scenario>(source, &Presets::new(), &overrides).unwrap_err().to_string();
        assert!(error.contains("network.sat.return.dama.gamma: unknown key; allowed: cra"), "{error}");
    }
}

#[test]
fn file_overrides_presets_and_later_presets_override_earlier_ones() {
    let presets = [
        ("base", "duration = \"100 s\"\nseed = 7\nname = \"base\"\nrecord = [\"cwnd\", \"srtt\"]"),
        ("long", "preset = \"base\"\nduration = \"1000 s\""),
        (
            "traffic",
            "name = \"traffic\"\n[[flow]]\nname = \"a\"\nfrom = \"x\"\nto = \"y\"\napp = { kind = \"bulk\", size = \"1 MB\" }",
        ),
    ];
    let file = r#"
        preset = ["long", "traffic"]
        record = ["cwnd"]
        network.n = { kind = "point-to-point", nodes = ["x", "y"], rate = "1 Mbit/s" }
        [[flow]]
        name = "b"
        from = "y"
        to = "x"
        [[flow]]
        name = "a"
        app.size = "2 MB"
    "#;
    let scenario = with(file, &presets, &[]).value;
    assert_eq!(scenario.duration.as_nanos(), 1_000_000_000_000);
    assert_eq!(scenario.seed.value(), 7);
    assert_eq!(scenario.name, "traffic");
    assert_eq!(scenario.record, ["cwnd"]);
    let names: Vec<_> = scenario.flow.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let App::Bulk(bulk) = &scenario.flow[0].app else { panic!("the preset's app stays") };
    assert_eq!(bulk.size.map(|size| size.bytes()), Some(2_000_000));

    let scenario = with(file, &presets, &["preset=[\"base\", \"traffic\"]", "duration=5 s"]).value;
    assert_eq!(scenario.duration.as_nanos(), 5_000_000_000);
    assert_eq!(scenario.seed.value(), 7);
}

/// A key of any lower layer can be unset at every layer, and set again in a higher layer.
#[test]
fn unset_removes_what_lower_layers_set() {
    let below = "[network.sat.return.dama]\ncra = \"32 kbit/s\"\n[[flow]]\nname = \"upload\"\napp = { kind = \"cbr\", rate = \"64 kbit/s\" }";
    let above = FILE.replacen("name = \"Upload\"", "name = \"Upload\"\npreset = \"low\"", 1);
    let cra = |text: &str, overrides: &[&str]| {
        dama_of(&with(text, &[("low", below)], overrides).value).cra.map(|rate| rate.bits_per_second())
    };
    let in_file = above.replace("cra = \"64 kbit/s\"", "cra = \"unset\"");
    let (unset, again) = ("network.sat.return.dama.cra=unset", "network.sat.return.dama.cra=8 kbit/s");
    assert_eq!(cra(&above, &[]), Some(64_000));
    assert_eq!(cra(&in_file, &[]), None);
    assert_eq!(cra(&above, &[unset]), None);
    assert_eq!(cra(&in_file, &[again]), Some(8_000));
    assert_eq!([cra(&above, &[unset, again]), cra(&above, &[again, unset])], [Some(8_000), None]);
    // A table that follows an unset does not merge with the previous table.
    let whole = "network.sat.return.dama=unset";
    let scenario = with(&above, &[("low", below)], &[whole]);
    let Network::DvbRcs(star) = &scenario.value.network["sat"] else { panic!("it is a star") };
    assert_eq!(star.r#return.dama, None);
    assert_eq!(cra(&above, &[whole, "network.sat.return.dama={kind=\"rbdc\",gamma=0.1}"]), None);
    assert_eq!(
        cra(&above, &[whole, "network.sat.return.dama.kind=rbdc", "network.sat.return.dama.gamma=0.1"]),
        None
    );
    // The resolved scenario does not contain the unset key.
    assert!(!with(&above, &[("low", below)], &[unset]).to_toml().contains("unset"));
}

fn dama_of(scenario: &Scenario) -> &crate::model::Rbdc {
    match dama(scenario) {
        Dama::Rbdc(rbdc) => rbdc,
        other => panic!("{other:?} is not RBDC"),
    }
}
