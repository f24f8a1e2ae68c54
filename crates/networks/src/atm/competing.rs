//! Tests of connections that share legs, by comparison with a cell-by-cell calculation, and tests
//! of changes during a run.

use super::config::Config;
use super::connection::EXCESS;
use super::leaf::MERGED;
use super::stage::Direction;
use crate::{AccessNetwork, Changing};
use bentpipe_core::{Problems, Span, Time};
use bentpipe_link::channel::CORRUPTED;
use bentpipe_stage::{DropReason, Held, Port, Stage};
use bentpipe_testing::bench::{packet, stream, Bench};
use proptest::prelude::*;
use std::sync::Arc;

fn config(keys: &str) -> Config {
    serde_json::from_str(&format!(r#"{{"ends": ["a", "b"], "encapsulation": "vc", {keys}}}"#)).unwrap()
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// Results of one direction: the deliveries (connection, number of the packet, time in
/// nanoseconds), and the number of dropped packets by reason.
#[derive(Debug, Default, PartialEq)]
struct Delivered {
    packets: Vec<(u16, u32, u64)>,
    dropped: Vec<(DropReason, u64)>,
}

/// Sends packets in order of time. Each packet is its time in microseconds, its connection and its
/// size in bytes. Each change is the index of the packet before which it happens, and the new
/// configuration.
fn run(config: &Config, packets: &[(u64, u16, u32)], changes: &[(usize, &Config)]) -> Delivered {
    let mut bench = Bench::new(Direction::new("wan", config, false, stream("wan"), vec![None; 8]));
    let mut current = config;
    for (number, (time, connection, size)) in packets.iter().enumerate() {
        bench.run(at(*time));
        for (_, after) in changes.iter().filter(|(index, _)| *index == number) {
            bench.change(at(*time), 0, current, *after);
            current = after;
        }
        bench.offer(at(*time), 0, Port(*connection), packet(number as u32, *size));
    }
    bench.run(Time::MAX);
    assert_eq!(bench.held(), Held::default());
    let delivered = bench.left.iter().map(|left| (left.port.0, left.packet.number, left.at.as_nanos()));
    Delivered { packets: delivered.collect(), dropped: bench.drops() }
}

/// Applies the rules of one shared leg to the list of all cells in order of arrival. An access line
/// sends one cell per microsecond, and the shared leg one cell in 4 us. Returns the arrival time of
/// each packet that arrives.
fn account(
    packets: &[(u64, u16, u32)],
    buffer: usize,
    early: Option<usize>,
    partial: bool,
) -> Vec<(u16, u32, u64)> {
    // The cells of all connections at the switch.
    let mut cells = Vec::new();
    for connection in 0..3u16 {
        let mut free = 0;
        for (number, (time, _, size)) in
            packets.iter().enumerate().filter(|(_, packet)| packet.1 == connection)
        {
            let count = (size + 8).div_ceil(48);
            for cell in 1..=count {
                free = free.max(time * 1000) + 1000;
                cells.push((free, connection, number, cell == count));
            }
        }
    }
    cells.sort();
    let mut starts: Vec<u64> = Vec::new();
    let mut line_free = 0;
    // By connection, three flags: the next cell begins a frame, the current frame has lost a cell,
    // the current frame is refused.
    let mut frames = [(true, false, false); 3];
    let mut fates: Vec<(usize, Option<u64>, bool)> = Vec::new();
    for (time, connection, number, last) in cells {
        let waiting = starts.iter().filter(|start| **start > time).count();
        let (at_start, broken, refused) = &mut frames[usize::from(connection)];
        if *at_start {
            (*broken, *refused) = (false, early.is_some_and(|early| waiting >= early));
        }
        *at_start = last;
        let full = line_free > time && waiting >= buffer;
        let arrival = if *refused || full || (partial && *broken && !last) {
            *broken = *broken || !*refused;
            None
        } else {
            let start = line_free.max(time);
            starts.push(start);
            line_free = start + 4000;
            Some(line_free)
        };
        fates.push((number, arrival, last));
    }
    // Reassembly. The far access line adds one cell time, 1 us.
    let mut arrived = Vec::new();
    let mut stale = [false; 3];
    for (number, (_, connection, _)) in packets.iter().enumerate() {
        let own: Vec<_> = fates.iter().filter(|fate| fate.0 == number).collect();
        let whole = own.iter().all(|fate| fate.1.is_some());
        let end = own.iter().any(|fate| fate.2 && fate.1.is_some());
        let some = own.iter().any(|fate| fate.1.is_some());
        let before = &mut stale[usize::from(*connection)];
        if whole && !*before {
            arrived.push((*connection, number as u32, own.last().unwrap().1.unwrap() + 1000));
        }
        *before = !end && (*before || some);
    }
    arrived.sort_by_key(|(connection, number, time)| (*time, *connection, *number));
    arrived
}

proptest! {
    /// Deliveries and their times agree with a calculation of all cells at once, for any arrival
    /// pattern of three connections.
    #[test]
    fn cells_compete_in_order_of_arrival(
        gaps in prop::collection::vec((0u64..300, 0u16..3, 20u32..1500), 1..60),
        buffer in 5usize..120, early in prop::option::of(0usize..5), partial: bool,
    ) {
        let mut time = 0;
        let packets: Vec<(u64, u16, u32)> =
            gaps.iter().map(|(gap, connection, size)| { time += gap; (time, *connection, *size) }).collect();
        let early = early.map(|tenths| buffer * tenths / 5);
        let key = early.map_or(String::new(), |early| format!(r#", "early": {early}"#));
        let config = config(&format!(
            r#""access": {{"rate": "424 Mbit/s", "buffer": 100000}},
               "legs": [{{"rate": "106 Mbit/s", "buffer": {buffer}, "partial": {partial}{key}}}],
               "others": [{{"ends": ["c", "d"]}}, {{"ends": ["e", "f"]}}]"#
        ));
        let mut delivered = run(&config, &packets, &[]).packets;
        delivered.sort_by_key(|(connection, number, time)| (*time, *connection, *number));
        prop_assert_eq!(delivered, account(&packets, buffer, early, partial));
    }

    /// A second connection that sends nothing does not change the results. With the same category,
    /// the stage has to process cells in order of time at the first leg, and with another category
    /// with an event per cell at each port.
    #[test]
    fn an_idle_connection_changes_nothing(
        gaps in prop::collection::vec((0u64..2000, 20u32..1500), 1..60), buffer in 5u32..200, shaping: bool,
    ) {
        let mut time = 0;
        let packets: Vec<(u64, u16, u32)> = gaps.iter().map(|(gap, size)| { time += gap; (time, 0, *size) }).collect();
        let keys = format!(
            r#""access": {{"rate": "424 Mbit/s"}}, "lan": "100 Mbit/s",
               "contract": {{"category": "vbr", "peak": "106 Mbit/s", "sustainable": "20 Mbit/s", "burst": 100, "tolerance": "10 us", "shaping": {shaping}}},
               "legs": [{{"rate": "53 Mbit/s", "buffer": {buffer}}}, {{"rate": "30 Mbit/s", "delay": "1 ms", "partial": true}}]"#
        );
        let alone = run(&config(&keys), &packets, &[]);
        let idle = |contract: &str| config(&format!(r#"{keys}, "others": [{{"ends": ["c", "d"]{contract}}}]"#));
        let vbr = r#", "contract": {"category": "vbr", "peak": "2 Mbit/s", "sustainable": "1 Mbit/s", "burst": 9}"#;
        prop_assert_eq!(&alone, &run(&idle(vbr), &packets, &[]));
        prop_assert_eq!(&alone, &run(&idle(""), &packets, &[]));
    }
}

/// Two connections offer 42.4 and 106 Mbit/s of cells to a leg of 84.8 Mbit/s. The first connection
/// conforms to its contract. Cells of the second connection above 10 Mbit/s are tagged.
#[test]
fn conforming_cells_are_not_displaced_by_tagged_cells() {
    let shared = |low_priority: &str| {
        config(&format!(
            r#""access": {{"rate": "424 Mbit/s"}},
               "legs": [{{"rate": "84800 kbit/s", "buffer": 100{low_priority}}}],
               "contract": {{"category": "cbr", "peak": "42400 kbit/s", "tolerance": "100 us"}},
               "others": [{{"ends": ["c", "d"], "contract": {{"category": "cbr", "peak": "10 Mbit/s", "excess": "tag", "tolerance": "0 s"}}}}]"#
        ))
    };
    // The first connection sends one cell in 10 us, the second five cells in 20 us.
    let mut packets: Vec<(u64, u16, u32)> =
        (0..2000).map(|slot| (10 * slot + 3 * slot % 10, 0, 40)).collect();
    packets.extend((0..1000).map(|slot| (20 * slot + 7 * slot % 20, 1, 230)));
    packets.sort();
    let arrived = |config: &Config| {
        run(config, &packets, &[]).packets.iter().filter(|(connection, ..)| *connection == 0).count()
    };
    // With a threshold, the tagged cells leave room for all conforming cells. Without a threshold,
    // they fill the buffer.
    assert_eq!(arrived(&shared(r#", "low_priority": 60"#)), 2000);
    assert!(arrived(&shared("")) < 1900);
}

#[test]
fn delay_errors_and_contracts_change_during_a_run() {
    let keys = |delay: &str, error: f64, peak: &str| {
        config(&format!(
            r#""access": {{"rate": "424 Mbit/s"}}, "legs": [{{"rate": "424 Mbit/s", "delay": "{delay}", "error": {{"packet": {{"probability": {error:?}}}}}}}],
               "contract": {{"category": "cbr", "peak": "{peak}"}}, "others": [{{"ends": ["c", "d"]}}]"#
        ))
    };
    let start = keys("1 ms", 0.0, "42400 kbit/s");
    let packets = [(0, 0, 40), (100, 0, 40), (200, 0, 41), (300, 0, 40), (2000, 0, 40)];
    let times =
        |delivered: Delivered| delivered.packets.iter().map(|(.., time)| time / 1000).collect::<Vec<_>>();
    // A cell takes 1 us on each of three lines. The third packet has two cells, and the second of
    // these exceeds the contract.
    let unchanged = run(&start, &packets, &[]);
    assert_eq!(unchanged.dropped, [(EXCESS, 1), (MERGED, 1)]);
    assert_eq!(times(unchanged), [1003, 1103, 3003]);
    // With half the delay, the second packet arrives earlier, but not before the first packet.
    let near = keys("500 us", 0.0, "42400 kbit/s");
    assert_eq!(times(run(&start, &packets, &[(1, &near)])), [1003, 1004, 2503]);
    let lossy = keys("1 ms", 1.0, "42400 kbit/s");
    let lost = run(&start, &packets, &[(1, &lossy), (4, &start)]);
    assert_eq!(lost.dropped, [(CORRUPTED, 3)]);
    assert_eq!(times(lost), [1003, 3003]);
    let wide = keys("1 ms", 0.0, "424 Mbit/s");
    assert_eq!(times(run(&start, &packets, &[(2, &wide)])), [1003, 1103, 1204, 1303, 3003]);
}

#[test]
fn invalid_values_and_changes_are_refused() {
    let problems = |before: &str, after: &str| -> Vec<String> {
        let mut problems = Problems::default();
        let start = Changing { stages: Vec::new(), config: Arc::new(config(before)) };
        config(after).check(&mut problems);
        config(after).check_change(&start, &mut problems);
        problems.into_vec().into_iter().map(|problem| problem.path.join(".")).collect()
    };
    let line = |keys: &str| format!(r#"{{"rate": "2 Mbit/s"{keys}}}"#);
    let legs = |keys: &str| format!(r#""legs": [{}]"#, line(keys));
    assert_eq!(problems(&legs(""), &legs(r#", "delay": "1 s", "buffer": 9"#)), Vec::<String>::new());
    assert_eq!(problems(&legs(""), &format!(r#""legs": [{0}, {0}]"#, line(""))), ["legs"]);
    let tdma = |carrier: &str| legs(&format!(r#", "tdma": {{"frame": "20 ms", "carrier": "{carrier}"}}"#));
    assert_eq!(problems(&tdma("8 Mbit/s"), &tdma("9 Mbit/s")), ["legs.0.tdma"]);
    let slower = tdma("8 Mbit/s").replace("2 Mbit/s", "1 Mbit/s");
    assert_eq!(problems(&tdma("8 Mbit/s"), &slower), ["legs.0.rate"]);
    let access = format!(r#"{}, "access": {}"#, legs(""), line(""));
    assert_eq!(problems(&legs(""), &access), ["access"]);
    let other = |ends: &str| format!(r#"{access}, "others": [{{"ends": [{ends}]}}]"#);
    assert_eq!(problems(&access, &other(r#""c", "d""#)), ["others"]);
    assert_eq!(problems(&other(r#""b", "a""#), &other(r#""b", "a""#)), ["others.0.ends"]);
    let bare = format!(r#"{}, "others": [{{"ends": ["c", "d"]}}]"#, legs(""));
    assert_eq!(problems(&bare, &bare), ["access"]);
    // The category of a connection is fixed if others depend on it, and all of an ABR contract.
    let contract = |keys: &str| format!(r#"{}, "contract": {{{keys}}}"#, legs(""));
    let (cbr, abr) = (r#""category": "cbr", "peak": "1 Mbit/s""#, r#""category": "abr", "peak": "1 Mbit/s""#);
    assert_eq!(problems(&contract(""), &contract(cbr)), Vec::<String>::new());
    assert_eq!(problems(&contract(cbr), &contract(abr)), ["contract.category"]);
    let faster = contract(&abr.replace('1', "2"));
    assert_eq!(problems(&contract(abr), &faster), ["contract.peak"]);
    let slower = contract(&format!(r#"{abr}, "abr": {{"initial": "1 kbit/s"}}"#));
    assert_eq!(problems(&contract(abr), &slower), ["contract.abr"]);
    let with =
        |keys: &str| format!(r#"{access}, "others": [{{"ends": ["c", "d"], "contract": {{{keys}}}}}]"#);
    assert_eq!(problems(&with(""), &with(cbr)), ["others.0.contract.category"]);
    let efci = |threshold| legs(&format!(r#", "marking": {{"efci": {{"threshold": {threshold}}}}}"#));
    assert_eq!(problems(&efci(1), &efci(2)), ["legs.0.marking"]);
    let marks = access.replace(r#""access": {"#, r#""access": {"marking": {"explicit-rate": {}}, "#);
    assert_eq!(problems(&marks, &marks), ["access.marking"]);
}
