//! Tests of a complete connection, by comparison with times that were worked out by hand and with a
//! cell-by-cell calculation.

use super::connection::EXCESS;
use super::leaf::MERGED;
use super::stage::Direction;
use super::transit::CELLS_FULL;
use super::Config;
use crate::AccessNetwork;
use bentpipe_core::{Problems, Span, Time};
use bentpipe_link::channel::CORRUPTED;
use bentpipe_stage::{DropReason, Port, Stage};
use bentpipe_testing::bench::{packet, stream, Bench};

fn config(keys: &str) -> Config {
    let text = format!(r#"{{"ends": ["a", "b"], {keys}}}"#);
    serde_json::from_str(&text).unwrap()
}

/// Sends packets, each given by its time in microseconds and its size in bytes. Returns, for each
/// packet, its arrival time in nanoseconds or its drop reason.
fn run(config: &Config, packets: &[(u64, u32)]) -> Vec<Result<u64, DropReason>> {
    let mut bench = Bench::new(Direction::new("wan.forward", config, false, stream("wan"), vec![None]));
    for (time, size) in packets {
        bench.offer(Time::ZERO + Span::from_micros(*time), 0, Port(0), packet(0, *size));
    }
    bench.run(Time::MAX);
    assert_eq!(bench.held().packets, 0);
    let arrived = bench.left.iter().map(|left| (left.at, Ok(left.at.as_nanos())));
    let dropped = bench.dropped.iter().map(|dropped| (dropped.at, Err(dropped.reason)));
    let mut fates: Vec<_> = arrived.chain(dropped).collect();
    fates.sort_by_key(|(at, _)| *at);
    fates.into_iter().map(|(_, fate)| fate).collect()
}

#[test]
fn switches_forward_cells_and_ethernet_forwards_whole_frames() {
    // With LANE, a packet of 1500 bytes takes 1516 + 8 bytes, or 32 cells. A cell takes 1 us on the
    // fast legs and 4 us on the slow leg.
    let keys = r#""lan": "10 Mbit/s", "encapsulation": "lane", "legs": [{"rate": "424 Mbit/s"}, {"rate": "106 Mbit/s", "delay": "1 ms"}, {"rate": "424 Mbit/s"}]"#;
    let ethernet = 1538 * 800;
    let first = ethernet + 1000 + 32 * 4000 + 1_000_000 + 1000 + ethernet;
    // The second packet waits for the first only on the Ethernet segment, which is the slowest
    // line.
    assert_eq!(run(&config(keys), &[(0, 1500), (0, 1500)]), [Ok(first), Ok(first + ethernet)]);
    // Without Ethernet, two frames follow each other on the slow leg.
    let keys = r#""encapsulation": "vc", "legs": [{"rate": "424 Mbit/s"}, {"rate": "106 Mbit/s"}]"#;
    assert_eq!(run(&config(keys), &[(0, 40), (0, 40)]), [Ok(5000), Ok(9000)]);
}

#[test]
fn a_lost_last_cell_corrupts_the_next_frame_except_after_a_frame_of_one_cell() {
    // Frames have two cells: 41 bytes without a header, and a trailer of 8 bytes.
    let lose = |cells: &str| {
        let error = format!(r#""error": {{"list": {{"packets": [{cells}]}}}}"#);
        config(&format!(r#""encapsulation": "vc", "legs": [{{"rate": "424 Mbit/s", {error}}}]"#))
    };
    let fates = |config: &Config, size| -> Vec<Option<DropReason>> {
        run(config, &[(0, size), (100, size), (200, size)]).into_iter().map(Result::err).collect()
    };
    assert_eq!(fates(&lose("1"), 41), [Some(CORRUPTED), None, None]);
    assert_eq!(fates(&lose("2"), 41), [Some(CORRUPTED), Some(MERGED), None]);
    assert_eq!(fates(&lose("1, 2"), 41), [Some(CORRUPTED), None, None]);
    assert_eq!(fates(&lose("1"), 40), [Some(CORRUPTED), None, None]);
}

#[test]
fn a_buffer_that_is_too_small_for_a_burst_loses_its_end() {
    // The required buffer is (input rate - output rate) / input rate x burst. A burst of 10 x 32
    // cells from a leg that is four times as fast requires 240 cells.
    let small = |cells: u32| {
        config(&format!(
            r#""encapsulation": "vc", "legs": [{{"rate": "424 Mbit/s", "buffer": 1000}}, {{"rate": "106 Mbit/s", "buffer": {cells}}}]"#
        ))
    };
    let lost =
        |cells| run(&small(cells), &[(0, 1500); 10]).iter().filter(|fate| **fate == Err(CELLS_FULL)).count();
    assert_eq!([lost(238), lost(239), lost(240)], [1, 1, 0]);
}

#[test]
fn a_policer_discards_excess_cells_and_a_shaper_delays_them() {
    let contract = |shaping: bool| {
        config(&format!(
            r#""encapsulation": "vc", "legs": [{{"rate": "424 Mbit/s"}}], "contract": {{"category": "cbr", "peak": "42400 kbit/s", "shaping": {shaping}}}"#
        ))
    };
    // Two cells arrive back to back, but the contract allows only one cell in 10 us.
    assert_eq!(run(&contract(false), &[(0, 41)]), [Err(EXCESS)]);
    assert_eq!(run(&contract(true), &[(0, 41), (0, 41)]), [Ok(11_000), Ok(31_000)]);
}

#[test]
fn certain_cell_loss_is_a_remark_and_nothing_arrives() {
    let config = config(r#""legs": [{"rate": "2 Mbit/s", "error": {"packet": {"probability": 1.0}}}]"#);
    let mut remarks = Problems::default();
    config.remark(Span::from_secs(10), &mut remarks);
    let remarks: Vec<String> = remarks.into_vec().into_iter().map(|remark| remark.path.join(".")).collect();
    assert_eq!(remarks, ["legs.0.error"]);
    assert_eq!(run(&config, &[(0, 1500), (5, 40)]), [Err(CORRUPTED), Err(CORRUPTED)]);
}

#[test]
fn invalid_networks_are_refused() {
    let problems = |keys: &str| -> Vec<String> {
        let mut problems = Problems::default();
        config(keys).check(&mut problems);
        problems.into_vec().into_iter().map(|problem| problem.path.join(".")).collect()
    };
    assert_eq!(problems(r#""legs": []"#), ["legs"]);
    let tdma = |tdma: &str| problems(&format!(r#""legs": [{{"rate": "2 Mbit/s", "tdma": {tdma}}}]"#));
    assert_eq!(tdma(r#"{"frame": "20 ms", "carrier": "1 Mbit/s"}"#), ["legs.0.tdma.carrier"]);
    assert_eq!(tdma(r#"{"frame": "100 us", "carrier": "2 Mbit/s"}"#), ["legs.0.tdma.frame"]);
    assert_eq!(tdma(r#"{"frame": "20 ms", "carrier": "2 Mbit/s"}"#), Vec::<String>::new());
    let buffer = |keys: &str| problems(&format!(r#""legs": [{{"rate": "2 Mbit/s", "buffer": 10, {keys}}}]"#));
    assert_eq!(buffer(r#""early": 11, "low_priority": 12"#), ["legs.0.low_priority", "legs.0.early"]);
}
