//! Handovers between links while flows run: times of arrival, serving links, and losses.

use crate::bad_scenarios::{loaded, GOOD};
use crate::conservation::sums;
use crate::golden;
use crate::run::{results, scenario, value, Results, Run, TraceRow};
use bentpipe_core::Time;
use proptest::prelude::*;
use std::fmt::Write as _;

/// Returns a scenario with two links. A datagram of 972 bytes with 28 bytes of headers takes 8 ms
/// to transmit on the slow link, and 2 ms on the quick link.
fn links(duration: &str, more: &str) -> String {
    format!(
        r#"
name = "handover"
duration = "{duration}"
[[link]]
name = "slow"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "250 ms"
[[link]]
name = "quick"
from = "a"
to = "b"
rate = "4 Mbit/s"
delay = "20 ms"
[[multilink]]
name = "both"
links = ["slow", "quick"]
{more}"#
    )
}

/// Returns a flow that sends a datagram every 10 ms.
fn datagrams(name: &str, from: &str, to: &str) -> String {
    format!(
        r#"
[[flow]]
name = "{name}"
from = "{from}"
to = "{to}"
app = {{ kind = "cbr", rate = "777.6 kbit/s", datagram = "972 B" }}
transport = "udp"
"#
    )
}

/// Returns the time of arrival in ms, the number, and the delay in ms of each arrived datagram.
fn arrivals(results: &Results, flow: &str) -> Vec<(f64, u64, f64)> {
    let rows = results.traces["datagram"].iter().filter(|row| row.entity == flow);
    rows.map(|row| (row.time as f64 / 1e6, row.values[0] as u64, row.values[1] * 1e3)).collect()
}

fn dropped(results: &Results) -> Vec<(&'static str, u64)> {
    let mut dropped: Vec<_> =
        results.totals.dropped.iter().map(|((_, reason), held)| (reason.words(), held.packets)).collect();
    dropped.sort_unstable();
    dropped
}

fn run(more: &str) -> Results {
    results(&scenario(&links("3 s", more)))
}

#[test]
fn make_before_break_delivers_over_both_links_and_reorders() {
    let back = datagrams("back", "b", "a");
    let there = datagrams("there", "a", "b");
    let results = run(&format!("[[handover]]\nat = \"1001 ms\"\nto = \"quick\"\n{there}{back}"));
    assert_eq!(dropped(&results), []);
    for flow in ["there", "back"] {
        // Datagram n is sent at 10 n ms. Its delay is 258 ms over the slow link and 22 ms over the
        // quick link. Datagram 100 has been in transmission for 1 ms when its link is cut. It is
        // then sent over the quick link, so its delay is 1 + 22 ms.
        let mut found = arrivals(&results, flow);
        assert_eq!(found.len(), 298, "all datagrams that were sent until 22 ms before the end");
        let order: Vec<u64> = found.iter().map(|(_, number, _)| *number).collect();
        let overtaken = order.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(overtaken > 20, "only {overtaken} of the last 24 datagrams of the slow link are overtaken");
        found.sort_by_key(|(_, number, _)| *number);
        for (at, number, delay) in found {
            let expected = match number {
                ..100 => 258.0,
                100 => 23.0,
                _ => 22.0,
            };
            assert!((delay - expected).abs() < 1e-6, "{flow} {number} at {at} took {delay}");
        }
    }
}

#[test]
fn with_an_overlap_the_old_link_delivers_its_packets() {
    let there = datagrams("there", "a", "b");
    let more = format!("[[handover]]\nat = \"1001 ms\"\nto = \"quick\"\noverlap = \"100 ms\"\n{there}");
    let results = run(&more);
    let delay = |number| arrivals(&results, "there").iter().find(|row| row.1 == number).map(|row| row.2);
    let rounded = |number| delay(number).map(f64::round);
    assert_eq!([99, 100, 101].map(rounded), [Some(258.0), Some(258.0), Some(22.0)]);
}

#[test]
fn break_before_make_loses_packets_on_the_link_and_in_the_gap() {
    let there = datagrams("there", "a", "b");
    let gap = "interruption = \"500 ms\"";
    let more = |packets: &str| {
        format!("[[handover]]\nat = \"1001 ms\"\nto = \"quick\"\n{gap}\npackets = \"{packets}\"\n{there}")
    };
    let lost = run(&more("lose"));
    // At the handover, datagrams 75 to 99 are in flight and 100 is in transmission. Datagrams 101
    // to 150 are sent during the interruption.
    assert_eq!(dropped(&lost), [("link cut in a handover", 26), ("no link during a handover", 50)]);
    let numbers: Vec<u64> = arrivals(&lost, "there").iter().map(|row| row.1).collect();
    assert_eq!(numbers, (0..75).chain(151..298).collect::<Vec<_>>());
    let held = run(&more("forward"));
    assert_eq!(dropped(&held), []);
    let found = arrivals(&held, "there");
    assert_eq!(found.iter().map(|row| row.1).collect::<Vec<_>>(), (0..298).collect::<Vec<_>>());
    // Datagram 100 waits from 1001 ms to 1501 ms. The datagrams of the interruption then follow
    // without gaps.
    for (number, at) in [(99, 1248.0), (100, 1523.0), (101, 1525.0), (150, 1623.0)] {
        assert!((found[number].0 - at).abs() < 1e-6, "{number} at {} instead of {at}", found[number].0);
    }
}

/// RFC 9000, section 9.4: a migration resets the window. The end of a handover to another link
/// causes the migration.
#[test]
fn quic_migrates_at_the_end_of_a_handover_to_another_link() {
    let windows = |to: &str, migration: bool| -> [f64; 2] {
        let more = format!(
            "[[handover]]\nat = \"2001 ms\"\nto = \"{to}\"\ninterruption = \"500 ms\"\npackets = \"forward\"\n\
             [[flow]]\nname = \"up\"\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\n\
             transport = {{ kind = \"quic\", congestion = \"reno\", migration = {migration} }}\n"
        );
        let results = results(&scenario(&links("4 s", &more)));
        let rows = results.traces["quic"].iter().filter(|row| row.entity == "up");
        let first = |from: u64| rows.clone().find(|row| row.time >= from * 1_000_000).unwrap().values[0];
        [1900, 2501].map(first)
    };
    for (to, migration, resets) in [("quick", true, true), ("quick", false, false), ("slow", true, false)] {
        let [before, after] = windows(to, migration);
        assert!(before >= 20.0, "{before}");
        assert_eq!(after <= 12.0, resets, "{to}, {migration}: {before} and {after}");
    }
}

#[test]
fn directions_are_handed_over_separately() {
    let flows = datagrams("there", "a", "b") + &datagrams("back", "b", "a");
    let more =
        "return = \"quick\"\n[[handover]]\nat = \"1001 ms\"\nto = \"quick\"\ndirection = \"forward\"\n\
                [[handover]]\nat = \"2001 ms\"\nto = \"slow\"\ndirection = \"return\"\n";
    let results = run(&format!("{more}{flows}"));
    let delays = |flow, at: f64| {
        let found = arrivals(&results, flow);
        found.iter().find(|row| row.0 > at).map(|row| row.2.round())
    };
    assert_eq!([900.0, 1500.0, 2500.0].map(|at| delays("there", at)), [Some(258.0), Some(22.0), Some(22.0)]);
    assert_eq!([900.0, 1500.0, 2500.0].map(|at| delays("back", at)), [Some(22.0), Some(22.0), Some(258.0)]);
    let rows: Vec<_> =
        results.traces["selection"].iter().map(|row| (row.time, row.values[..3].to_vec())).collect();
    assert_eq!(rows, [(1_001_000_000, vec![0.0, 0.0, 1.0]), (2_001_000_000, vec![1.0, 1.0, 0.0])]);
}

#[test]
fn an_outage_is_a_handover_to_the_same_link() {
    let more =
        "[[handover]]\nat = \"1001 ms\"\nto = \"slow\"\ninterruption = \"200 ms\"\npackets = \"lose\"\n";
    let results = run(&format!("{more}{}", datagrams("there", "a", "b")));
    assert_eq!(dropped(&results), [("link cut in a handover", 26), ("no link during a handover", 20)]);
    assert!(arrivals(&results, "there").iter().all(|row| (row.2 - 258.0).abs() < 1e-6));
}

#[test]
fn changes_reach_links_of_a_multilink() {
    let flows = datagrams("there", "a", "b") + &datagrams("back", "b", "a");
    let more = "[[change]]\nat = \"1001 ms\"\nset.link.slow.delay = \"100 ms\"\nset.link.quick.return.rate = \"1 Mbit/s\"\n\
                [[handover]]\nat = \"2001 ms\"\nto = \"quick\"\n";
    let results = run(&format!("{more}{flows}"));
    let delays = |flow| {
        let found = arrivals(&results, flow);
        [50, 150, 250].map(|number| found.iter().find(|row| row.1 == number).map(|row| row.2.round()))
    };
    assert_eq!(delays("there"), [Some(258.0), Some(108.0), Some(22.0)]);
    assert_eq!(delays("back"), [Some(258.0), Some(108.0), Some(28.0)]);
}

/// Returns the fraction of time that each link serves, and the times in seconds at which handovers
/// begin.
fn stays(results: &Results, duration: f64) -> (Vec<f64>, Vec<f64>) {
    let rows: Vec<&TraceRow> =
        results.traces["selection"].iter().filter(|row| row.values[0] == 0.0).collect();
    let (mut shares, mut at, mut link) = (vec![0.0; 2], 0.0, 0);
    for row in &rows {
        let time = row.time as f64 / 1e9;
        shares[link] += (time - at) / duration;
        (at, link) = (time, row.values[2] as usize);
    }
    shares[link] += (duration - at) / duration;
    (shares, rows.iter().map(|row| row.time as f64 / 1e9).collect())
}

#[test]
fn random_handovers_divide_the_time_in_proportion_to_the_mean_stays() {
    let more = "policy = { kind = \"random\", stay = [\"3 s\", \"1 s\"] }\n";
    let flow =
        "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"cbr\", rate = \"1 kbit/s\" }\n\
                transport = \"udp\"\n";
    let scenario = scenario(&links("20000 s", &format!("{more}{flow}")));
    let run = |seed| Run::new(&scenario, seed, 0).finished().results();
    let (shares, moments) = stays(&run(1), 20_000.0);
    // There are about 5000 cycles with a mean of 4 s. The standard error of the share is about 0.75
    // * 0.25 * sqrt(2 / 5000) = 0.004.
    assert!((shares[0] - 0.75).abs() < 0.02, "{shares:?}");
    assert!((moments.len() as f64 - 10_000.0).abs() < 450.0, "{}", moments.len());
    assert_eq!(moments, stays(&run(1), 20_000.0).1, "the same seed, the same handovers");
    assert_ne!(moments, stays(&run(2), 20_000.0).1);
}

#[test]
fn the_stronger_signal_takes_over_after_the_time_to_trigger() {
    let more = "policy = { kind = \"signal\", hysteresis = 3.0, time_to_trigger = \"640 ms\", samples = \"\"\"\n\
                time,slow,quick\n0,10,0\n1,10,12\n1.2,10,15\n1.5,10,11\n1.7,10,14\n3,10,14\n5,14,10\n\"\"\" }\n";
    let text = links("8 s", &format!("{more}{}", datagrams("there", "a", "b")));
    let (_, moments) = stays(&results(&scenario(&text)), 8.0);
    // At 1.2 s the quick link is 5 dB stronger, but only briefly; from 1.7 s on it stays stronger.
    assert_eq!(moments, [2.34, 5.64]);
}

#[test]
fn high_load_selects_the_next_link_and_low_load_the_first() {
    let more = "policy = { kind = \"load\", period = \"1 s\", high = 0.9, low = 0.5 }\n";
    let rates = [("low", "300 kbit/s", "0 s"), ("high", "1500 kbit/s", "2500 ms")];
    let flows: String = rates
        .iter()
        .map(|(name, rate, start)| {
            format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nstart = \"{start}\"\n\
                 app = {{ kind = \"cbr\", rate = \"{rate}\", on = \"3 s\", off = \"100 s\" }}\ntransport = \"udp\"\n"
            )
        })
        .collect();
    let (_, moments) = stays(&results(&scenario(&links("9 s", &format!("{more}{flows}")))), 9.0);
    // Datagrams of 1000 bytes have headers of 28 bytes. The load is 0.31 Mbit/s until 3 s, plus
    // 1.54 Mbit/s from 2.5 s to 5.5 s. It uses 108 % of the slow link in the third second, 77 % in
    // the sixth, and 0 % in the seventh.
    assert_eq!(moments, [3.0, 7.0]);
}

#[test]
fn a_trace_sets_rate_delay_and_loss() {
    let text = r#"
name = "trace"
duration = "5 s"
[[link]]
name = "l"
from = "a"
to = "b"
rate = "8 Mbit/s"
delay = "10 ms"
trace = { repeat = "2 s", samples = """
# One packet each 10 ms, of 1000 bytes.
time, rate, delay, loss
0.5, 4000000, 0.05, 0
1.0, 2000000, 0.05, 1
1.5, 0, 0.05, 0
""" }
return = { rate = "8 Mbit/s", delay = "10 ms" }
"#;
    let results = results(&scenario(&format!("{text}{}", datagrams("there", "a", "b"))));
    let found = arrivals(&results, "there");
    let delay = |number: u64| found.iter().find(|row| row.1 == number).map(|row| (row.2 * 1e3).round() / 1e3);
    // A datagram takes 1 ms at 8 Mbit/s and 2 ms at 4 Mbit/s. From 1 s to 1.5 s all datagrams are
    // lost. Then the rate is 0 until the series restarts with 4 Mbit/s at 2.5 s, so datagram 150
    // waits for 1000 ms, datagram 151 for 990 ms, and so on.
    assert_eq!([40, 80, 120].map(delay), [Some(11.0), Some(52.0), None]);
    assert_eq!([150, 151, 249].map(delay), [Some(1052.0), Some(1044.0), Some(260.0)]);
    assert_eq!(delay(340), None, "lost again");
}

/// Refused scenarios: the name of the case, and the text that is added to [`GOOD`]. A first letter
/// X stands for a multilink, P for a multilink with a policy, and T for a link with a trace.
const REFUSED: &[(&str, &str)] = &[
    ("no multilink", "[[handover]]\nat = \"2 s\"\nto = \"first\""),
    ("a link that does not exist", "[[multilink]]\nname = \"x\"\nlinks = [\"first\", \"third\"]"),
    ("links between other nodes", "[[multilink]]\nname = \"x\"\nlinks = [\"first\", \"second\"]"),
    ("no links", "[[multilink]]\nname = \"x\"\nlinks = []"),
    ("a link of two", "[[multilink]]\nname = \"x\"\nlinks = [\"first\"]\n[[multilink]]\nname = \"y\"\nlinks = [\"first\"]"),
    ("a link twice", "[[multilink]]\nname = \"x\"\nlinks = [\"first\", \"first\"]"),
    ("a start that is none", "[[multilink]]\nname = \"x\"\nlinks = [\"first\"]\nreturn = \"second\""),
    ("a name that is taken", "[[multilink]]\nname = \"first\"\nlinks = [\"first\"]"),
    ("a multilink that does not exist", "X[[handover]]\nmultilink = \"y\"\nat = \"2 s\"\nto = \"first\""),
    ("no link of it", "X[[handover]]\nat = \"2 s\"\nto = \"second\""),
    ("to itself", "X[[handover]]\nat = \"2 s\"\nto = \"first\""),
    ("to itself with an overlap", "X[[handover]]\nat = \"2 s\"\nto = \"first\"\noverlap = \"1 s\"\ninterruption = \"1 s\""),
    ("after the end", "X[[handover]]\nat = \"11 s\"\nto = \"other\""),
    ("a break longer than the run", "X[[handover]]\nat = \"2 s\"\nto = \"other\"\ninterruption = \"20 s\""),
    (
        "overlapping schedules",
        "X[[handover]]\nat = \"4 s\"\nto = \"first\"\n[[handover]]\nat = \"2 s\"\nto = \"other\"\noverlap = \"3 s\"",
    ),
    (
        "a plan beside a policy",
        "P{ kind = \"random\", stay = [\"1 s\", \"1 s\"] }\n[[handover]]\nat = \"2 s\"\nto = \"other\"",
    ),
    ("a mean too few", "P{ kind = \"random\", stay = [\"1 s\"] }"),
    ("no stay", "P{ kind = \"random\", stay = [\"1 s\", \"0 s\"] }"),
    ("a signal of another link", "P{ kind = \"signal\", samples = \"time,first,second\\n0,1,2\" }"),
    ("a load that falls above where it rises", "P{ kind = \"load\", high = 0.4 }"),
    ("no table", "T\"\""),
    ("no time", "T\"rate,delay\\n1,2\""),
    ("another column", "T\"time,rtt\\n1,2\""),
    ("too few values", "T\"time,rate,loss\\n1,2,0\\n2,3\""),
    ("no number", "T\"time,rate\\n1,2\\n2,fast\""),
    ("time that goes back", "T\"time,rate\\n1,2\\n1,3\""),
    ("a loss above one", "T\"time,loss\\n1,1.5\""),
    ("a rate below zero", "T\"time,rate\\n1,-5\""),
    ("a change of what the trace sets", "T\"time,rate\\n1,2\" }\n[[change]]\nat = \"1 s\"\nset.link.other = { rate = \"1 Mbit/s\""),
    ("a period that is too short", "T\"time,rate\\n1,2\\n2,3\", repeat = \"2 s\""),
];

#[test]
fn impossible_handovers_are_refused_with_the_reason() {
    let mut text = "Refused handovers, multilinks and traces, and their messages\n".to_owned();
    let other =
        "[[link]]\nname = \"other\"\nfrom = \"a\"\nto = \"b\"\nrate = \"2 Mbit/s\"\ndelay = \"1 ms\"\n";
    let multilink = format!("{other}[[multilink]]\nname = \"x\"\nlinks = [\"first\", \"other\"]\n");
    for (what, added) in REFUSED {
        let added = match added.split_at(1) {
            ("X", rest) => format!("{multilink}{rest}"),
            ("P", rest) => format!("{multilink}policy = {rest}"),
            ("T", rest) => format!("{}trace = {{ samples = {rest} }}", other),
            _ => (*added).to_owned(),
        };
        let error =
            loaded(&format!("{GOOD}\n{added}\n")).err().unwrap_or_else(|| panic!("{what} is accepted"));
        let _ = writeln!(text, "\n{what}\n  {}", error.replace('\n', "\n  "));
    }
    golden::check("handovers.txt", &text);
}

/// Generates a random sequence of handovers. Each handover has a pause before it, a new link, an
/// interruption, an overlap, a treatment of the packets on the old link, and a direction.
fn plans() -> impl Strategy<Value = String> {
    let one = (1..3000u32, 0..3usize, 0..1500u32, 0..1500u32, any::<bool>(), 0..4usize);
    prop::collection::vec(one, 1..9).prop_map(|plans| {
        let (mut text, mut at, mut serving) = (String::new(), 100, [0, 0]);
        for (pause, to, interruption, overlap, lose, direction) in plans {
            at += pause;
            let direction = ["both", "both", "forward", "return"][direction];
            let same = match direction {
                "both" => serving.contains(&to),
                "forward" => serving[0] == to,
                _ => serving[1] == to,
            };
            let (interruption, overlap) = if same { (interruption + 1, 0) } else { (interruption, overlap) };
            let packets = if lose { "lose" } else { "forward" };
            let to_name = ["satellite", "wired", "thin"][to];
            let _ = write!(
                text,
                "[[handover]]\nat = \"{at} ms\"\nto = \"{to_name}\"\ninterruption = \"{interruption} ms\"\n\
                 overlap = \"{overlap} ms\"\npackets = \"{packets}\"\ndirection = \"{direction}\"\n"
            );
            at += interruption.max(overlap);
            if direction != "return" {
                serving[0] = to;
            }
            if direction != "forward" {
                serving[1] = to;
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_byte_is_lost_or_duplicated_over_any_sequence_of_handovers(
        plan in plans(),
        congestion in prop::sample::select(vec!["reno", "cubic", "hybla", "compound", "bbr"]),
        profile in prop::sample::select(vec!["linux", "classic", "freebsd"]),
        seed in 0..1000u64,
    ) {
        let text = format!(
            r#"
name = "any handovers"
# Long enough for time-outs of two minutes after repeated back-off.
duration = "20000 s"
[[link]]
name = "satellite"
from = "a"
to = "b"
rate = "512 kbit/s"
delay = "250 ms"
queue = {{ kind = "drop-tail", packets = 40 }}
error = {{ kind = "packet", probability = 0.01 }}
[[link]]
name = "wired"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "25 ms"
queue = {{ kind = "drop-tail", packets = 20 }}
[[link]]
name = "thin"
from = "a"
to = "b"
rate = "256 kbit/s"
delay = "1 ms"
queue = {{ kind = "drop-tail", packets = 4 }}
framing = "ule"
[[multilink]]
name = "hybrid"
links = ["satellite", "wired", "thin"]
{plan}
[[flow]]
name = "there"
from = "a"
to = "b"
app = {{ kind = "bulk", size = "600 kB" }}
transport = {{ kind = "tcp", congestion = "{congestion}", profile = "{profile}" }}
[[flow]]
name = "back"
from = "b"
to = "a"
app = {{ kind = "bulk", size = "150 kB" }}
transport = {{ kind = "tcp", congestion = "{congestion}", profile = "{profile}" }}
"#
        );
        let mut run = Run::new(&scenario(&text), seed, 0);
        for second in 1..=25 {
            run.network.run_until(Time::from_nanos(second * 1_000_000_000));
            sums(&mut run.network)?;
        }
        let run = run.finished();
        let report = run.report();
        for (flow, bytes) in [("there", 600_000.0), ("back", 150_000.0)] {
            prop_assert_eq!(value(&report, "flow_destination", flow, "delivered_bytes"), bytes, "{}", &plan);
            prop_assert!(value(&report, "flow_source", flow, "completed") < 20_000.0);
        }
    }
}
