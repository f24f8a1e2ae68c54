//! Changes of parameters while a network runs. Every changeable key has an effect. All other keys
//! are refused with a message that lists the changeable keys. A change in the scenario has the same
//! effect as a call of `Network::change`.

use crate::bad_scenarios::{loaded, GOOD};
use crate::golden;
use crate::run::{results, scenario, value, Run};
use bentpipe_core::{Span, Time};
use bentpipe_engine::scenario::Scenario;
use bentpipe_engine::{changeable, presets};
use bentpipe_link::jitter;
use bentpipe_link::{channel, queue};
use bentpipe_scenario::{assignment, changed, load, Source};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A scenario with a link and a star, which has most changeable keys and enough traffic to show
/// their effects.
const BUSY: &str = r#"
name = "busy"
duration = "20 s"

[[link]]
name = "wire"
from = "gw"
to = "server"
rate = "1 Mbit/s"
delay = "20 ms"
queue = { kind = "drop-tail", packets = 40 }
return = { rate = "2 Mbit/s", delay = "30 ms", queue = { kind = "drop-tail", packets = 20 } }

[network.sat]
kind = "dvb-rcs"
forward = { rate = "1 Mbit/s" }
return = { rate = "2048 kbit/s", error = { kind = "packet", probability = 0.02 }, dama = { scheme = "rbdc", cra = "64 kbit/s" } }
terminals = ["st1", { name = "st2", cra = "0 bit/s" }]
gateway = "gw"

[[flow]]
name = "up"
from = "st1"
to = "server"
app = "bulk"
transport = { kind = "tcp", initial_sequence = 0 }

[[flow]]
name = "bursts"
from = "st2"
to = "server"
app = { kind = "cbr", rate = "1 Mbit/s", on = "1 s", off = "3 s" }
transport = "udp"

[[flow]]
name = "down"
from = "server"
to = "st1"
app = { kind = "cbr", rate = "900 kbit/s", on = "1 s", off = "1 s" }
transport = "udp"

[[flow]]
name = "back"
from = "server"
to = "gw"
app = { kind = "cbr", rate = "3 Mbit/s", on = "200 ms", off = "2 s" }
transport = "udp"
"#;

/// A new value for each changeable key, different from the value in [`BUSY`].
const NEW_VALUES: &[(&str, &str)] = &[
    ("link.NAME.rate", "\"600 kbit/s\""),
    ("link.NAME.delay", "\"50 ms\""),
    ("link.NAME.queue", "{ packets = 3 }"),
    ("link.NAME.error", "{ kind = \"packet\", probability = 0.1 }"),
    ("link.NAME.jitter", "{ kind = \"uniform\", most = \"9 ms\" }"),
    ("link.NAME.return.jitter", "{ kind = \"exponential\", mean = \"9 ms\" }"),
    ("link.NAME.return.rate", "\"1 Mbit/s\""),
    ("link.NAME.return.delay", "\"1 ms\""),
    ("link.NAME.return.queue", "{ packets = 2 }"),
    ("link.NAME.return.error", "{ kind = \"bit\", rate = 1e-4 }"),
    ("link.NAME.acm.esn0_db", "3.0"),
    ("link.NAME.acm.feeder_esn0_db", "5.0"),
    ("link.NAME.acm.hysteresis_db", "0.0"),
    ("link.NAME.acm.margin_db", "5.0"),
    ("link.NAME.return.acm.esn0_db", "3.0"),
    ("link.NAME.return.acm.feeder_esn0_db", "5.0"),
    ("link.NAME.return.acm.hysteresis_db", "0.0"),
    ("link.NAME.return.acm.margin_db", "5.0"),
    (
        "network.NAME.legs",
        "[{ rate = \"1500 kbit/s\", delay = \"30 ms\", error = { kind = \"bit\", rate = 1e-5 } }]",
    ),
    ("network.NAME.access", "{ rate = \"10 Mbit/s\", delay = \"3 ms\" }"),
    ("network.NAME.contract", "{ peak = \"600 kbit/s\", shaping = true }"),
    ("network.NAME.others", "[{ ends = [\"c\", \"d\"], contract = { peak = \"500 kbit/s\" } }]"),
    ("network.NAME.forward.rate", "\"800 kbit/s\""),
    ("network.NAME.forward.queue", "{ packets = 5 }"),
    ("network.NAME.forward.error", "{ kind = \"packet\", probability = 0.3 }"),
    ("network.NAME.forward.acm.esn0_db", "3.0"),
    ("network.NAME.forward.acm.feeder_esn0_db", "5.0"),
    ("network.NAME.forward.acm.hysteresis_db", "0.0"),
    ("network.NAME.forward.acm.margin_db", "5.0"),
    ("network.NAME.return.acm.esn0_db", "1.0"),
    ("network.NAME.return.acm.feeder_esn0_db", "5.0"),
    ("network.NAME.return.acm.hysteresis_db", "0.0"),
    ("network.NAME.return.acm.margin_db", "5.0"),
    ("network.NAME.return.queue", "{ packets = 2 }"),
    ("network.NAME.return.error", "{ kind = \"packet\", probability = 0.2 }"),
    ("network.NAME.return.dama.scheme.gamma", "0.9"),
    ("network.NAME.return.dama.scheme.timeout", "20"),
    ("network.NAME.return.dama.scheme.rbdc.gamma", "0.9"),
    ("network.NAME.return.dama.scheme.rbdc.timeout", "1"),
];

/// Returns the key with NAME replaced by the name of the link or network in [`BUSY`].
fn named(key: &str) -> String {
    key.replace("link.NAME", "link.wire").replace("network.NAME", "network.sat")
}

/// A scenario with two connections over an ATM leg.
const CELLS: &str = r#"
name = "cells"
duration = "20 s"

[network.sat]
kind = "atm"
ends = ["a", "b"]
access = { rate = "20 Mbit/s" }
legs = [{ rate = "2 Mbit/s", delay = "100 ms" }]
others = [{ ends = ["c", "d"] }]

[[flow]]
name = "up"
from = "a"
to = "b"
app = "bulk"
transport = { kind = "tcp", initial_sequence = 0 }

[[flow]]
name = "bursts"
from = "c"
to = "d"
app = { kind = "cbr", rate = "1 Mbit/s", on = "1 s", off = "2 s" }
transport = "udp"
"#;

/// Returns [`BUSY`] with ACM in both directions of the link and the star. The signals fade, and
/// then recover by less than the hysteresis.
fn adaptive() -> String {
    let of = |names: &str, more: &str| {
        format!(
            r#"acm = {{ esn0_db = 9.5, feeder_esn0_db = 25.0, hysteresis_db = 2.0{more}, fade = {{ samples = "time,{names}\n0,0,0\n5,3,3\n6,0.4,0.4\n8,0.3,0.3\n9,0.2,0.2\n" }} }}"#
        )
    };
    let acm = |more: &str| of("st1,st2", more);
    let wire = of("gw,server", "");
    let forward = format!(r#"forward = {{ rate = "400 kBIT", {} }}"#, acm("")).replace("kBIT", "kbit/s");
    BUSY.replace(r#"forward = { rate = "1 Mbit/s" }"#, &forward)
        .replace(
            r#"error = { kind = "packet", probability = 0.02 }, dama"#,
            &format!("{}, dama", acm(", burst = 536")),
        )
        .replace(
            r#"rate = "1 Mbit/s"
delay = "20 ms""#,
            &format!("rate = \"400 kbit/s\"\n{wire}\ndelay = \"20 ms\""),
        )
        .replace(
            r#"return = { rate = "2 Mbit/s", delay"#,
            &format!("return = {{ rate = \"100 kbit/s\", {wire}, delay"),
        )
}

/// Returns a scenario that has the key: [`CELLS`] for keys of an ATM network, [`adaptive`] for keys
/// of ACM, and otherwise [`BUSY`], with the scheme `mix` if the key needs it.
fn busy(key: &str) -> String {
    if ["legs", "access", "contract", "others"].iter().any(|own| key.ends_with(&format!("network.sat.{own}")))
    {
        return CELLS.to_owned();
    }
    if key.contains(".acm.") {
        return adaptive();
    }
    let scheme = "scheme = \"rbdc\"";
    assert!(BUSY.contains(scheme));
    match key.contains(".scheme.rbdc.") {
        true => BUSY.replace(scheme, "scheme = { kind = \"mix\", rbdc = { max = \"2048 kbit/s\" } }"),
        false => BUSY.to_owned(),
    }
}

/// The time of the change. No other event has the same time.
const CHANGE_TIME: Time = Time::from_nanos(7_000_000_123);

#[test]
fn every_changeable_key_has_an_effect_by_scenario_and_by_call() {
    let keys: BTreeSet<String> = changeable().into_iter().collect();
    let covered: BTreeSet<String> = NEW_VALUES.iter().map(|(key, _)| (*key).to_owned()).collect();
    assert_eq!(keys, covered, "NEW_VALUES needs a value for each changeable key");
    for (key, other) in NEW_VALUES.iter().map(|(key, other)| (named(key), other)) {
        let busy = busy(&key);
        let unchanged = results(&scenario(&busy));
        let planned = format!("{busy}\n[[change]]\nat = \"7.000000123 s\"\nset.{key} = {other}\n");
        let planned = results(&scenario(&planned));
        assert!(planned.traces != unchanged.traces, "{key} changes nothing");
        for table in planned.traces.keys() {
            let before = |rows: &[crate::run::TraceRow]| {
                rows.iter().filter(|row| row.time < CHANGE_TIME.as_nanos()).cloned().collect::<Vec<_>>()
            };
            // The row of a superframe has the time of its start and is written at its end.
            if *table != "dama" {
                let both = [&planned, &unchanged].map(|results| before(&results.traces[table]));
                assert!(both[0] == both[1], "{key} changes the past of {table}");
            }
        }
        let mut asked = Run::new(&scenario(&busy), 1, 0);
        asked.network.run_until(CHANGE_TIME);
        asked.network.change(CHANGE_TIME, &key, other).unwrap_or_else(|error| panic!("{error}"));
        assert!(asked.finished().results() == planned, "{key} set by hand");
    }
}

#[test]
fn changes_precede_events_of_the_same_time() {
    // A datagram of 1000 bytes with 28 bytes of headers takes 8 ms to transmit. Datagrams are sent
    // every 8 ms and arrive at whole nanoseconds. The channel fails exactly when the third datagram
    // arrives, at 34 ms.
    let text = |at: &str| {
        format!(
            r#"
            name = "moment"
            duration = "1 s"
            [[link]]
            name = "l"
            from = "a"
            to = "b"
            rate = "1028 kbit/s"
            delay = "10 ms"
            [[flow]]
            name = "f"
            from = "a"
            to = "b"
            app = {{ kind = "cbr", rate = "1 Mbit/s" }}
            transport = "udp"
            [[change]]
            at = "{at}"
            set.link.l.error = {{ kind = "packet", probability = 1.0 }}
            "#
        )
    };
    for (at, delivered) in [("33999999 ns", 2.0), ("34 ms", 2.0), ("34000001 ns", 3.0)] {
        let report = Run::new(&scenario(&text(at)), 1, 0).finished().report();
        assert_eq!(value(&report, "flow_destination", "f", "delivered_packets"), delivered, "{at}");
    }
}

#[test]
fn the_later_of_two_changes_at_one_time_applies() {
    let with = |changes: &str| results(&scenario(&format!("{BUSY}{changes}")));
    let change =
        |at: u32, rate: u32| format!("[[change]]\nat = \"{at} s\"\nset.link.wire.rate = \"{rate} kbit/s\"\n");
    // Each change computes the end of the packet in transmission again. A change from 1 Mbit/s to
    // 250 kbit/s needs no rounding.
    let two = with(&(change(9, 500) + &change(5, 250) + &change(5, 700)));
    let one = with(&(change(5, 700) + &change(9, 500)));
    assert!(two == one);
}

#[test]
fn goodput_follows_the_rate() {
    let text = r#"
        name = "rate change"
        duration = "90 s"
        [[link]]
        name = "l"
        from = "a"
        to = "b"
        rate = "4 Mbit/s"
        delay = "50 ms"
        queue = { kind = "drop-tail", packets = 60 }
        return = { rate = "4 Mbit/s", delay = "50 ms" }
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        app = "bulk"
        transport = "tcp"
        [[change]]
        at = "30 s"
        set.link.l.rate = "1 Mbit/s"
        [[change]]
        at = "60 s"
        set.link.l.rate = "3 Mbit/s"
    "#;
    let mut run = Run::new(&scenario(text), 1, 0);
    let mut delivered = |seconds: u64| {
        let now = Time::ZERO + Span::from_secs(seconds);
        run.network.run_until(now);
        value(&run.network.report(now), "flow_destination", "f", "delivered_bytes") * 8.0
    };
    // Segments have 1460 bytes of payload and 40 bytes of headers, so a full link delivers 97.33 %
    // of its rate. The measurement begins ten seconds after each change.
    for (from, to, rate) in [(10, 30, 4e6), (40, 60, 1e6), (70, 90, 3e6)] {
        let goodput = (-delivered(from) + delivered(to)) / f64::from((to - from) as u32);
        assert!((0.95..0.974).contains(&(goodput / rate)), "{goodput} at {rate}");
    }
    // The link is busy for the whole run except for the first and last round trips.
    let report = run.finished().report();
    let utilisation = value(&report, "link", "l", "utilisation");
    assert!(utilisation > 0.98 && utilisation <= 1.0, "{utilisation}");
}

/// Returns a scenario with one link that has this value of a key.
fn wire(key: &str, value: &str) -> String {
    format!(
        "name = \"kinds\"\nduration = \"1 s\"\nlink = [{{ name = \"l\", from = \"a\", to = \"b\", rate = \"1 Mbit/s\", \
         delay = \"1 ms\", {key} = {value} }}]\n"
    )
}

/// Returns the keys of a link that can change to another kind, with a sample of each kind.
fn kinded() -> [(&'static str, Vec<String>); 3] {
    [
        ("queue", queue::Config::samples()),
        ("error", channel::Config::samples()),
        ("jitter", jitter::Config::samples()),
    ]
}

/// Keys that have different meanings in two kinds, as old kind, new kind and key. The `burst` of a
/// shaper is a size, but the `burst` of PIE is a time. The `rate` of bit errors is a probability,
/// but the `rate` of signal states is a bit rate.
const OTHER_MEANING: [(&str, &str, &str); 3] =
    [("shaper", "pie", "burst"), ("shaper", "red-bytes", "burst"), ("bit", "snr-states", "rate")];

#[test]
fn a_change_to_another_kind_equals_the_loaders_result() {
    // The loader merges the written keys of both layers. A running network knows only values, and
    // treats values equal to the default as not written.
    for (key, samples) in kinded() {
        for before in &samples {
            let text = wire(key, before);
            let link = scenario(&text).link.remove(0);
            for after in &samples {
                let what = format!("{before} to {after}");
                let set = assignment("set", key, after).unwrap_or_else(|error| panic!("{what}: {error}"));
                let changed = changed(&link, &set);
                let layers = [format!("link.l.{key}={after}")];
                let loaded = load::<Scenario>(
                    Source::Text { name: "test.toml", text: &text },
                    &presets::all(),
                    &layers,
                );
                // A key that is written for the old kind, and has another meaning in the new kind,
                // must be part of the change.
                let other = OTHER_MEANING.iter().find(|(one, another, _)| {
                    before.contains(&format!("\"{one}\"")) && after.contains(&format!("\"{another}\""))
                });
                if let Some((.., key)) = other {
                    let problems = changed.expect_err("another meaning");
                    assert!(
                        problems.iter().all(|problem| problem.path.last().unwrap() == key),
                        "{what}: {problems:?}"
                    );
                    assert!(loaded.is_err());
                    continue;
                }
                let changed = changed.unwrap_or_else(|problems| panic!("{what}: {problems:?}"));
                let loaded = loaded.unwrap_or_else(|error| panic!("{what}: {error}")).value.link.remove(0);
                assert_eq!(changed, loaded, "{what}");
            }
        }
    }
}

#[test]
fn a_change_to_another_kind_ignores_the_defaults_of_the_old_kind() {
    let bare = |samples: Vec<String>, key: &str| -> Vec<String> {
        // Kinds without required keys.
        let names = samples.iter().map(|sample| sample.split('"').nth(1).expect("a kind").to_owned());
        names.map(|name| format!("\"{name}\"")).filter(|name| loaded(&wire(key, name)).is_ok()).collect()
    };
    for (key, samples) in kinded() {
        let starts = bare(samples.clone(), key);
        assert!(key != "queue" || starts.len() > 8, "{starts:?}");
        for before in &starts {
            let link = scenario(&wire(key, before)).link.remove(0);
            for after in samples.iter().chain(&starts).filter(|after| !after.contains(before)) {
                let set = assignment("set", key, after).unwrap_or_else(|error| panic!("{error}"));
                let changed = changed(&link, &set)
                    .unwrap_or_else(|problems| panic!("{before} to {after}: {problems:?}"));
                assert_eq!(changed, scenario(&wire(key, after)).link.remove(0), "{before} to {after}");
            }
        }
    }
}

/// Refused changes: the name of the case, and the keys of a `[[change]]` that is added to [`GOOD`].
const REFUSED: &[(&str, &str)] = &[
    ("a key that does not exist", "at = \"2 s\"\nset.link.first.rat = \"5 Mbit/s\""),
    ("a key that cannot change", "at = \"2 s\"\nset.link.first.from = \"d\""),
    ("a key of the network that cannot change", "at = \"2 s\"\nset.network.sat.return.slots_per_frame = 16"),
    ("another scheme", "at = \"2 s\"\nset.network.sat.return.dama.scheme = \"vbdc\""),
    ("terminals", "at = \"2 s\"\nset.network.sat.terminals = [\"st1\"]"),
    ("a flow", "at = \"2 s\"\nset.flow.bulk.start = \"3 s\""),
    ("a link that does not exist", "at = \"2 s\"\nset.link.third.rate = \"5 Mbit/s\""),
    ("no name", "at = \"2 s\"\nset.link = \"5 Mbit/s\""),
    ("a link that is a number", "at = \"2 s\"\nset.link.first = 5"),
    ("a wrong unit", "at = \"2 s\"\nset.link.first.rate = \"5 ms\""),
    ("no unit", "at = \"2 s\"\nset.link.first.delay = 5"),
    ("a value out of range", "at = \"2 s\"\nset.link.first.error = { kind = \"packet\", probability = 2.0 }"),
    ("a parameter that is missing", "at = \"2 s\"\nset.link.first.error = \"packet\""),
    ("a parameter of another kind", "at = \"2 s\"\nset.link.first.error.probability = 0.1"),
    ("a queue for less than a packet", "at = \"2 s\"\nset.link.first.queue.bytes = \"1 kB\""),
    ("no weight", "at = \"2 s\"\nset.network.sat.return.dama.scheme.gamma = 0"),
    ("plans that come late", "at = \"2 s\"\nset.network.sat.forward.rate = \"8 kbit/s\""),
    ("nothing", "at = \"2 s\"\nset = {}"),
    ("nothing of a link", "at = \"2 s\"\nset.link.first = {}"),
    ("no time", "set.link.first.rate = \"5 Mbit/s\""),
    ("a time after the end", "at = \"11 s\"\nset.link.first.rate = \"5 Mbit/s\""),
    ("an old form", "at = \"2 s\"\nset = { \"link.first.rate\" = \"5 Mbit/s\" }"),
    (
        "what an earlier change has made wrong",
        "at = \"3 s\"\nset.link.first.error.probability = 0.1\n[[change]]\nat = \"2 s\"\n\
         set.link.first.error = { kind = \"bit\", rate = 1e-6 }",
    ),
    (
        "several things at once",
        "at = \"3 s\"\nset.link.first.rate = \"5\"\nset.link.second.to = \"a\"\nset.network.sat.gamma = 1",
    ),
];

#[test]
fn refusals_name_position_key_value_and_changeable_keys() {
    let mut text = "Refused changes and their messages\n".to_owned();
    for (what, change) in REFUSED {
        let error = loaded(&format!("{GOOD}\n[[change]]\n{change}\n"))
            .err()
            .unwrap_or_else(|| panic!("{what} is accepted"));
        let _ = writeln!(text, "\n{what}\n  {}", error.replace('\n', "\n  "));
    }
    text.push_str("\nChanges by call\n");
    let good = loaded(&format!(
        "{GOOD}\n[[change]]\nat = \"5 s\"\nset.link.first.error = {{ kind = \"packet\", probability = 0.5 }}\n\
         [[change]]\nat = \"8 s\"\nset.link.first.error.probability = 0.1\n"
    ));
    let scenario = good.expect("the changes are valid").value;
    let mut run = Run::new(&scenario, 1, 0);
    let now = Time::from_nanos(6_000_000_000);
    for (key, value) in [
        ("link.first.rat", "5 Mbit/s"),
        ("link.first.rate", "5 ms"),
        ("link.first.rate", ""),
        ("link..rate", "5 Mbit/s"),
        ("link.first.to", "c"),
        ("link.\"first.return\".rate", "5 Mbit/s"),
        ("duration", "1 s"),
        ("link.first.error", "none"),
    ] {
        let error = run.network.change(now, key, value).expect_err(key);
        let _ = writeln!(text, "  {}", error.to_string().replace('\n', "\n  "));
    }
    golden::check("changes.txt", &text);
    let untouched = Run::new(&scenario, 1, 0).finished().results();
    assert!(run.finished().results() == untouched, "a refused change has an effect");
}

#[test]
fn equal_directions_change_together_until_one_is_named() {
    let text = |changes: &str, back: &str| {
        format!(
            r#"
            name = "both"
            duration = "5 s"
            [[link]]
            name = "l"
            from = "a"
            to = "b"
            rate = "1 Mbit/s"
            delay = "10 ms"
            {back}
            [[flow]]
            name = "there"
            from = "a"
            to = "b"
            app = {{ kind = "cbr", rate = "800 kbit/s" }}
            transport = "udp"
            [[flow]]
            name = "back"
            from = "b"
            to = "a"
            app = {{ kind = "cbr", rate = "800 kbit/s" }}
            transport = "udp"
            {changes}
            "#
        )
    };
    let run = |changes: &str, back: &str| results(&scenario(&text(changes, back)));
    let back = "return = { rate = \"1 Mbit/s\", delay = \"10 ms\" }";
    let change = |keys: &str| format!("[[change]]\nat = \"1 s\"\n{keys}\n");
    let (there, here) = ("set.link.l.rate = \"500 kbit/s\"", "set.link.l.return.rate = \"500 kbit/s\"");
    let both = change(&format!("{there}\n{here}"));
    assert!(run(&change(there), "") == run(&both, back));
    assert!(run(&change(here), "") == run(&change(here), back));
    assert!(run(&both, "") == run(&both, back));
    assert!(run(&change(here), "") != run(&both, ""));
}
