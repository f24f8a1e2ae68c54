//! Tests of the service categories at a port, and of ABR flow control over both directions, by
//! comparison with times and rates that were worked out by hand.

use super::abr;
use super::stage::{connection_name, Direction};
use super::Config;
use crate::AccessNetwork;
use bentpipe_core::{Problems, Span, Time};
use bentpipe_stage::{Port, Sent, Stage, Supply};
use bentpipe_testing::bench::{packet, stream, Bench, Network, Supplies, Wires};

fn config(keys: &str) -> Config {
    serde_json::from_str(&format!(r#"{{"ends": ["a", "b"], "encapsulation": "vc", {keys}}}"#)).unwrap()
}

fn micros(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// Both directions of a network, which exchange RM cells.
struct Both {
    directions: [Direction; 2],
    connections: u16,
}

impl Network for Both {
    fn stages(&self) -> usize {
        2
    }

    fn stage(&mut self, index: usize) -> &mut dyn Stage {
        &mut self.directions[index]
    }

    fn carry(&mut self, from: usize, sent: Vec<Sent>, wires: &mut Wires<'_>) {
        for sent in sent {
            match sent.port.0 < self.connections {
                true => wires.leave(sent),
                false => wires.to(1 - from, sent.port, sent.packet),
            }
        }
    }
}

fn both(config: &Config) -> Bench<Both> {
    let mut problems = Problems::default();
    config.check(&mut problems);
    assert_eq!(problems.count(), 0);
    let mut supplies = Supplies::traced();
    let connections = config.connections();
    let directions = ["forward", "back"].map(|name| {
        let probes = (0..connections).map(|index| supplies.probe(&abr::TRACE, &connection_name(name, index)));
        let probes = probes.collect();
        Direction::new(name, config, name == "back", stream(name), probes)
    });
    let mut bench = Bench::supplied(Both { directions, connections: connections as u16 }, supplies);
    bench.audited = true;
    bench
}

/// Returns the rates in the trace of an ABR source, in kbit/s.
fn rates(bench: &mut Bench<Both>, name: &str) -> Vec<f64> {
    let rows = bench.rows("abr").into_iter().filter(|(entity, _)| entity == name);
    rows.map(|(_, values)| values[0] / 1e3).collect()
}

/// A cell takes 1 us on the access lines and 4 us on the shared leg. Ten cells of UBR reach the
/// port at 1 to 10 us, one of VBR at 2 us and one of CBR at 3 us. The port sends the first cell of
/// UBR until 5 us, CBR until 9 us, VBR until 13 us, and the other nine cells of UBR until 49 us.
/// The far access line adds 1 us.
#[test]
fn a_port_sends_the_highest_category_first() {
    let config = config(
        r#""access": {"rate": "424 Mbit/s"}, "legs": [{"rate": "106 Mbit/s"}],
           "others": [
               {"ends": ["c", "d"], "contract": {"category": "vbr", "peak": "424 Mbit/s", "sustainable": "1 Mbit/s", "burst": 9}},
               {"ends": ["e", "f"], "contract": {"category": "cbr", "peak": "424 Mbit/s"}}]"#,
    );
    let mut bench = both(&config);
    bench.offer(micros(0), 0, Port(0), packet(0, 472));
    bench.offer(micros(1), 0, Port(1), packet(1, 40));
    bench.offer(micros(2), 0, Port(2), packet(2, 40));
    bench.run(Time::MAX);
    let left: Vec<_> =
        bench.left.iter().map(|left| (left.packet.number, left.at.as_nanos() / 1000)).collect();
    assert_eq!(left, [(2, 10), (1, 14), (0, 50)]);
}

/// A CBR connection sends one cell in 20 us over a leg on which a cell takes 4 us. Without load, a
/// cell needs 1 + 4 + 1 us. UBR fills its own buffer of 50 cells and loses packets. A cell of CBR
/// then waits at most for the cell in transmission, 4 us, and none is lost.
#[test]
fn ubr_load_does_not_affect_cbr() {
    let config = config(
        r#""access": {"rate": "424 Mbit/s"}, "legs": [{"rate": "106 Mbit/s", "buffer": 50}],
           "contract": {"category": "cbr", "peak": "21200 kbit/s"}, "others": [{"ends": ["c", "d"]}]"#,
    );
    let mut bench = both(&config);
    let mut offered = vec![0u64; 1000];
    for slot in 0..1000u64 {
        offered[slot as usize] = 20 * slot + 20;
        bench.offer(micros(20 * slot), 0, Port(1), packet(9999, 472));
        bench.offer(micros(20 * slot + 20), 0, Port(0), packet(slot as u32, 40));
    }
    bench.run(Time::MAX);
    let (cbr, ubr): (Vec<_>, Vec<_>) = bench.left.iter().partition(|left| left.port == Port(0));
    assert_eq!(cbr.len(), 1000);
    let delays = cbr.iter().map(|left| left.at.as_nanos() - 1000 * offered[left.packet.number as usize]);
    assert!(delays.clone().all(|delay| (6000..=10_000).contains(&delay)));
    assert!(delays.max() > Some(6000));
    assert!(ubr.len() < 1000 && ubr.len() + bench.dropped.len() == 1000);
}

/// PCR is 42.4 Mbit/s and ICR 4.24 Mbit/s, one cell in 100 us. The forward RM cell starts at 0 and
/// arrives after 1 us + 1 ms. The other direction has not sent yet, so its first cell, at 1001 us,
/// is a forward RM cell, and the returned cell follows at 1101 us. It arrives at the source at 2102
/// us. Each returned cell then raises ACR by 42.4 / 16 = 2.65 Mbit/s.
#[test]
fn each_returned_rm_cell_raises_the_rate() {
    let config = config(
        r#""legs": [{"rate": "424 Mbit/s", "delay": "1 ms", "marking": {"efci": {"threshold": 100000}}}],
           "contract": {"category": "abr", "peak": "42400 kbit/s", "abr": {"initial": "4240 kbit/s"}}"#,
    );
    let mut bench = both(&config);
    (0..100).for_each(|number| bench.offer(micros(0), 0, Port(0), packet(number, 1480)));
    bench.run(micros(2101));
    assert_eq!(rates(&mut bench, "forward"), Vec::<f64>::new());
    bench.run(micros(2102));
    assert_eq!(rates(&mut bench, "forward"), [6890.0]);
    bench.run(Time::MAX);
    let rates = rates(&mut bench, "forward");
    let expected = |index: usize| (4240.0 + 2650.0 * (index + 1) as f64).min(42_400.0);
    assert!(rates.len() > 15 && rates.iter().enumerate().all(|(index, rate)| *rate == expected(index)));
    assert_eq!(bench.left.len(), 100);
}

/// A port that marks every forward RM cell with CI lowers ACR by 1/16 with each returned cell, down
/// to MCR. A port that marks data cells (EFCI) does so from the second forward RM cell on, as no
/// data cell precedes the first one. NI alone leaves ACR unchanged.
#[test]
fn congestion_lowers_the_rate() {
    let run = |marking: &str| {
        let config = config(&format!(
            r#""legs": [{{"rate": "424 Mbit/s", "delay": "1 ms", "marking": {{{marking}}}}}],
               "contract": {{"category": "abr", "peak": "42400 kbit/s", "abr": {{"initial": "4240 kbit/s", "minimum": "2 Mbit/s"}}}}"#
        ));
        let mut bench = both(&config);
        (0..100).for_each(|number| bench.offer(micros(0), 0, Port(0), packet(number, 1480)));
        bench.run(Time::MAX);
        rates(&mut bench, "forward").into_iter().map(f64::round).collect::<Vec<_>>()
    };
    // 4240 x (15/16)^k
    let steps =
        [3975.0, 3727.0, 3494.0, 3275.0, 3071.0, 2879.0, 2699.0, 2530.0, 2372.0, 2224.0, 2085.0, 2000.0];
    assert_eq!(run(r#""relative-rate": {"decrease": 0}"#)[..12], steps);
    let efci = run(r#""efci": {"threshold": 0}"#);
    assert_eq!(efci[..3], [6890.0, 6459.0, 6056.0]);
    let unchanged = run(r#""relative-rate": {"decrease": 1000, "no_increase": 0}"#);
    assert!(unchanged.len() > 50 && unchanged.iter().all(|rate| *rate == 4240.0));
}

/// A leg of 10 Mbit/s with a utilization of 0.9 carries 2.12 Mbit/s of CBR (5 cells/ms) and two ABR
/// connections, which always have data: 9 - 2.12 = 6.88 Mbit/s remain, 3.44 Mbit/s for each. If PCR
/// limits one of them to 1 Mbit/s, the other gets x = x / z with z = (1 + x) / 6.88, so x = 5.88
/// Mbit/s.
#[test]
fn abr_connections_share_the_rate_that_cbr_leaves() {
    let run = |second_peak: &str| {
        let config = config(&format!(
            r#""access": {{"rate": "424 Mbit/s"}},
               "legs": [{{"rate": "10 Mbit/s", "delay": "5 ms", "marking": {{"explicit-rate": {{"utilization": 0.9, "interval": "50 ms"}}}}}}],
               "contract": {{"category": "abr", "peak": "10 Mbit/s", "abr": {{"initial": "500 kbit/s", "buffer": 100000}}}},
               "others": [
                   {{"ends": ["c", "d"], "contract": {{"category": "abr", "peak": "{second_peak}", "abr": {{"buffer": 100000}}}}}},
                   {{"ends": ["e", "f"], "contract": {{"category": "cbr", "peak": "4 Mbit/s"}}}}]"#
        ));
        let mut bench = both(&config);
        for number in 0..1500 {
            bench.offer(micros(0), 0, Port(0), packet(number, 1480));
            bench.offer(micros(0), 0, Port(1), packet(number, 1480));
        }
        (0..10_000).for_each(|slot| bench.offer(micros(200 * slot), 0, Port(2), packet(0, 40)));
        bench.run(micros(2_000_000));
        ["forward", "forward.2"].map(|name| *rates(&mut bench, name).last().unwrap() / 1e3)
    };
    let near = |rates: [f64; 2], expected: [f64; 2]| {
        let close = rates.iter().zip(expected).all(|(rate, expected)| (rate / expected - 1.0).abs() < 0.02);
        assert!(close, "{rates:?}, expected {expected:?}");
    };
    near(run("10 Mbit/s"), [3.44, 3.44]);
    near(run("1 Mbit/s"), [5.88, 1.0]);
}

/// The adapter of an ABR source holds 64 cells, so the third packet of 32 cells is dropped.
#[test]
fn a_full_adapter_drops_packets() {
    let config = config(
        r#""legs": [{"rate": "424 Mbit/s"}],
           "contract": {"category": "abr", "peak": "42400 kbit/s", "abr": {"buffer": 64}}"#,
    );
    let mut bench = both(&config);
    (0..3).for_each(|number| bench.offer(micros(0), 0, Port(0), packet(number, 1480)));
    bench.run(Time::MAX);
    assert_eq!(bench.drops(), [(super::transit::CELLS_FULL, 1)]);
    assert_eq!(bench.left.len(), 2);
}
