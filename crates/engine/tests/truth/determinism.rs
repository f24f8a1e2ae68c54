//! Determinism: the same scenario and seed give equal results in a second run, in steps of any
//! length, with an unrelated part in the scenario, on any thread, and between the steps of other
//! networks. Another seed gives other results.

use crate::run::{results, scenario, Results, Run};
use bentpipe_core::{Span, Time};
use bentpipe_engine::scenario::Scenario;
use std::thread;

/// A scenario with models of every kind, with and without random numbers. [`BODY`] follows.
const HEAD: &str = r#"
name = "everything at once"
duration = "30 s"
"#;

const BODY: &str = r#"
[[link]]
name = "access"
from = "user"
to = "gw"
rate = "4 Mbit/s"
delay = "20 ms"
queue = { kind = "drop-tail", packets = 30 }
error = { kind = "packet", probability = 0.005 }

[[link]]
name = "backbone"
from = "gw"
to = "server"
rate = "6 Mbit/s"
delay = "35 ms"
queue = { kind = "drop-tail", bytes = "60 kB" }
error = { kind = "bit", rate = 1e-7 }

[network.sat]
kind = "dvb-rcs"
forward = { rate = "10 Mbit/s", error = { kind = "packet", probability = 0.002 } }
terminals = ["st1", { name = "st2", cra = "128 kbit/s" }, { name = "st3", logon = "2 s" }]
gateway = "gw"

[network.sat.return]
rate = "2048 kbit/s"
error = { kind = "packet", probability = 0.001 }
dama = { scheme = "rbdc", cra = "64 kbit/s" }

[[change]]
at = "12 s"
set.link.backbone = { rate = "2 Mbit/s", delay = "5 ms" }
set.network.sat.return.dama.scheme.gamma = 0.7

[[change]]
at = "21 s"
set.network.sat.forward.rate = "7 Mbit/s"
set.link.access.return.error.probability = 0.01

[[flow]]
name = "upload"
from = "st1"
to = "server"
app = "bulk"
transport = { kind = "tcp", congestion = "reno" }

[[flow]]
name = "late"
from = "st3"
to = "gw"
start = "1 s"
app = { kind = "bulk", size = "200 kB" }
transport = { kind = "tcp", congestion = "vegas", recovery = "newreno", delayed_ack = false }

[[flow]]
name = "download"
from = "server"
to = "user"
start = "500 ms"
app = "bulk"
transport = { kind = "tcp", congestion = "reno", timestamps = true }

[[flow]]
name = "pages"
from = "user"
to = "server"
app = { kind = "http", object = "10 kB", pages = 100, think = "300 ms" }
transport = "tcp"

[[flow]]
name = "files"
from = "gw"
to = "st2"
app = { kind = "ftp", size = "20 kB", distribution = "pareto", every = "400 ms", direction = "download" }
transport = "tcp"

[[flow]]
name = "voice"
from = "st2"
to = "user"
app = { kind = "cbr", rate = "64 kbit/s", datagram = "160 B", on = "1 s", off = "1.35 s", distribution = "exponential" }
transport = "udp"
"#;

/// A link that shares no node with the rest.
const ISLAND_LINK: &str = r#"
[[link]]
name = "island"
from = "robinson"
to = "friday"
rate = "500 kbit/s"
delay = "7 ms"
queue = { kind = "drop-tail", packets = 5 }
error = { kind = "packet", probability = 0.1 }
"#;

const ISLAND_NETWORK: &str = r#"
[network.another]
kind = "dvb-rcs"
forward = { rate = "1 Mbit/s", error = { kind = "bit", rate = 1e-6 } }
return = { rate = "2048 kbit/s", dama = { scheme = "vbdc" } }
terminals = [{ name = "hut", count = 3 }]
gateway = "palm"
"#;

const ISLAND_FLOWS: &str = r#"
[[flow]]
name = "drums"
from = "robinson"
to = "friday"
app = { kind = "cbr", rate = "400 kbit/s", on = "300 ms", off = "200 ms", distribution = "exponential" }
transport = "udp"

[[flow]]
name = "bottles"
from = "hut2"
to = "palm"
app = "bulk"
transport = { kind = "tcp", congestion = "reno" }
"#;

fn everything() -> Scenario {
    scenario(&format!("{HEAD}{BODY}"))
}

#[test]
fn two_runs_are_equal_byte_for_byte() {
    let mut scenario = everything();
    let results = [results(&scenario), results(&scenario)];
    // Check that the results contain enough rows to compare.
    assert!(results[0].traces.len() == 8 && results[0].traces.values().all(|rows| rows.len() > 20));
    assert!(results[0].totals.dropped.len() >= 4, "{:?}", results[0].totals.dropped);
    assert!(results[0] == results[1]);
    scenario.record.capture = scenario.nodes();
    let captured = [crate::run::results(&scenario), crate::run::results(&scenario)];
    assert!(captured[0].captured.len() > 10_000);
    assert!(captured[0] == captured[1]);
    // A capture changes nothing. (It does cost calls: a captured node is not bypassed.)
    assert!(captured[0].report == results[0].report && captured[0].traces == results[0].traces);
}

#[test]
fn another_seed_or_replication_changes_random_results() {
    let scenario = everything();
    let all: Vec<Results> = [(1, 0), (2, 0), (1, 1)]
        .map(|(seed, run)| Run::new(&scenario, seed, run).finished().results())
        .into_iter()
        .collect();
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        for table in ["tcp", "delivery", "datagram", "link", "dama", "ncc"] {
            assert!(all[a].traces[table] != all[b].traces[table], "{table} of {a} and {b}");
        }
    }
}

#[test]
fn without_randomness_the_seed_does_not_matter() {
    let scenario = scenario(
        r#"
        name = "clean"
        duration = "20 s"
        preset = "dvb-rcs"
        [[flow]]
        name = "upload"
        from = "st1"
        to = "gw"
        app = "bulk"
        transport = "tcp"
        [[flow]]
        name = "tone"
        from = "gw"
        to = "st1"
        app = { kind = "cbr", rate = "100 kbit/s" }
        transport = "udp"
        "#,
    );
    let run = |seed| Run::new(&scenario, seed, seed).finished().results();
    assert!(run(1) == run(77));
}

/// Returns the results without the rows of the island. Also removes the numbers of stages and flows
/// and the counts of calls, because an additional part changes them.
fn without_the_island(mut results: Results) -> Results {
    let island = |entity: &String| {
        ["island", "drums", "bottles", "another", "hut"].iter().any(|name| entity.starts_with(name))
    };
    results.report.retain(|(_, entity, _)| !island(entity));
    for (table, _, values) in &mut results.report {
        if ["tcp_connection", "tfrc"].contains(table) {
            // The column of_flow: the index of the flow in the scenario, which differs.
            let at = values.len() - 2;
            values[at] = 0;
        }
    }
    for (table, rows) in &mut results.traces {
        rows.retain(|row| !island(&row.entity));
        if *table == "waits" {
            // The index of the flow in the scenario, which differs.
            rows.iter_mut().for_each(|row| row.values[0] = 0.0);
        }
    }
    results.totals = Default::default();
    (results.events, results.receives, results.held) = Default::default();
    results
}

#[test]
fn an_unrelated_part_does_not_change_other_results() {
    let alone = without_the_island(results(&everything()));
    // Stages and flows are numbered in the order of the lists. The island is therefore added once
    // before and once after the other parts.
    let after = format!("{HEAD}{BODY}{ISLAND_LINK}{ISLAND_NETWORK}{ISLAND_FLOWS}");
    let before = format!("{HEAD}{ISLAND_LINK}{ISLAND_FLOWS}{BODY}{ISLAND_NETWORK}");
    for text in [after, before] {
        let both = results(&scenario(&text));
        let of_island =
            |table: &str, entity: &str| both.traces[table].iter().filter(|row| row.entity == entity).count();
        assert!(of_island("datagram", "drums") > 100 && of_island("tcp", "bottles") > 100);
        let both = without_the_island(both);
        assert_eq!(both.report, alone.report);
        for (table, rows) in &alone.traces {
            assert!(both.traces[table] == *rows, "{table} changed");
        }
    }
}

#[test]
fn another_flow_of_the_network_does_not_change_random_draws() {
    // The flow has its own link, but starts at a node with other flows. Only flows that share a
    // queue with it may change.
    let more = r#"
        [[link]]
        name = "cable"
        from = "user"
        to = "printer"
        rate = "100 Mbit/s"
        delay = "1 ms"
        error = { kind = "packet", probability = 0.3 }
        [[flow]]
        name = "paper"
        from = "user"
        to = "printer"
        app = "bulk"
        transport = "tcp"
    "#;
    let mut results = results(&scenario(&format!("{HEAD}{BODY}{more}")));
    results.report.retain(|(_, entity, _)| !entity.starts_with("paper") && !entity.starts_with("cable"));
    for rows in results.traces.values_mut() {
        rows.retain(|row| !row.entity.starts_with("paper") && !row.entity.starts_with("cable"));
    }
    let alone = crate::run::results(&everything());
    assert_eq!(results.report, alone.report);
    assert!(results.traces == alone.traces);
}

#[test]
fn the_length_of_the_steps_does_not_matter() {
    let scenario = everything();
    let once = results(&scenario);
    let mut stepped = Run::new(&scenario, scenario.seed.value(), 0);
    let mut now = Time::ZERO;
    for number in 0u64.. {
        stepped.network.run_until(now);
        assert!(stepped.network.next_wake().is_none_or(|wake| wake > now));
        if now == stepped.end {
            break;
        }
        // Pseudo-random steps from 1 ns to about 90 ms.
        let step = Span::from_nanos(1 + number * number * 7_919 % 90_000_011);
        now = (now + step).min(stepped.end);
    }
    assert!(stepped.results() == once);
    let mut woken = Run::new(&scenario, scenario.seed.value(), 0);
    while let Some(wake) = woken.network.next_wake().filter(|wake| *wake <= woken.end) {
        woken.network.step(wake);
    }
    assert!(woken.results() == once);
    let mut counted = Run::new(&scenario, scenario.seed.value(), 0);
    let (mut now, mut stops) = (Time::ZERO, 0);
    while now < counted.end {
        let before = counted.network.events();
        now = counted.network.run_some(counted.end, 100);
        assert!(now == counted.end || counted.network.events() - before >= 100);
        assert!(counted.network.next_wake().is_none_or(|wake| wake > now));
        stops += 1;
    }
    assert!(stops > counted.network.events() / 200, "{stops} stops");
    assert!(counted.results() == once);
}

#[test]
fn a_constellation_stops_after_the_requested_number_of_events() {
    // A packet every second: nothing else happens while a packet crosses the satellites.
    let scenario = scenario(
        r#"
name = "one packet at a time"
duration = "10 s"
preset = "starlink-shell1"

[[flow]]
name = "probe"
from = "user"
to = "server"
app = { kind = "cbr", rate = "8 kbit/s", datagram = "1000 B" }
transport = { kind = "udp" }
"#,
    );
    let once = results(&scenario);
    let mut counted = Run::new(&scenario, scenario.seed.value(), 0);
    let mut now = Time::ZERO;
    while now < counted.end {
        let before = counted.network.events();
        now = counted.network.run_some(counted.end, 1);
        assert!(counted.network.events() - before <= 2, "{} at {now:?}", counted.network.events() - before);
    }
    assert!(counted.network.events() > 50, "each packet has many hops");
    assert!(counted.results() == once);
}

#[test]
fn one_thread_and_two_give_the_same() {
    let scenario = everything();
    let replications = 4;
    let run = |replication| Run::new(&scenario, 1, replication).finished().results();
    let one: Vec<Results> = (0..replications).map(run).collect();
    let two: Vec<Results> = thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let run = &run;
                let work = move || (worker..replications).step_by(2).map(run).collect::<Vec<_>>();
                thread::Builder::new().spawn_scoped(scope, work).expect("the system can start two threads")
            })
            .collect();
        let mut halves: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().expect("a run does not panic").into_iter())
            .collect();
        (0..replications as usize)
            .map(|replication| halves[replication % 2].next().expect("the worker has run this replication"))
            .collect()
    });
    assert!(one == two);
}

#[test]
fn a_network_may_move_between_threads_halfway() {
    let scenario = everything();
    let mut run = Run::new(&scenario, 1, 0);
    run.network.run_until(Time::from_nanos(run.end.as_nanos() / 2));
    let moved = thread::scope(|scope| {
        let worker = thread::Builder::new().spawn_scoped(scope, move || run.finished().results());
        worker.expect("the system can start a thread").join().expect("a run does not panic")
    });
    assert!(moved == results(&scenario));
}

#[test]
fn interleaved_networks_do_not_affect_each_other() {
    let scenarios =
        [everything(), scenario(&format!("{HEAD}{BODY}{ISLAND_LINK}{ISLAND_FLOWS}{ISLAND_NETWORK}"))];
    let mut runs: Vec<Run> =
        (0..4).map(|number| Run::new(&scenarios[number % 2], 1, number as u64 / 2)).collect();
    for tick in 1..=100 {
        for run in &mut runs {
            run.network.run_until(Time::from_nanos(run.end.as_nanos() / 100 * tick));
        }
    }
    for (number, run) in runs.into_iter().enumerate() {
        let alone = Run::new(&scenarios[number % 2], 1, number as u64 / 2).finished().results();
        assert!(run.results() == alone, "network {number}");
    }
}

#[test]
fn stages_have_unique_names() {
    let scenario = everything();
    let run = Run::new(&scenario, 1, 0);
    let mut names = run.network.names().to_vec();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
