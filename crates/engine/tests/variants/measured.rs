//! Compares CUBIC and BBR with measurements of Linux over a path of 10 Mbit/s with random loss in
//! both directions, for 60 s (tests/authorities/tcp/PROVENANCE.md).
//!
//! In the campaign of LANMAN 2023, the path consists of a server, netem with rate and delay, a
//! router, netem with loss, and a client. All are containers on one machine. veth pairs with
//! segmentation offloads join them, so bursts are never split into packets of one segment. At these
//! rates, TCP sends bursts of two segments. Each burst is sent, lost and acknowledged as one packet
//! (`segmentation_offload`). netem counts Ethernet frames, which have 1514 bytes for 1448 bytes of
//! payload, and queues up to 1000 packets.
//!
//! A second measurement used packets of one segment. CUBIC's goodput was a third lower, because
//! twice as many loss events occurred. The simulation is compared with both measurements.

use crate::run::{goodput, report, untraced};
use std::collections::BTreeMap;

const CAMPAIGN: &str = include_str!("../../../../tests/authorities/tcp/linux_tcp_netem_goodput_60s.csv");
const SINGLE: &str = include_str!("../../../../tests/authorities/tcp/linux_cubic_single_packets_60s.csv");
const SECONDS: f64 = 60.0;
/// Number of simulated runs per case. With 30 seeds, the standard error of the mean is a fifth of
/// the standard deviation of a run. With nine seeds, the choice of seeds decided if a row passed.
const SEEDS: u64 = 30;

/// A measured case: congestion control, delay in ms, and loss in percent.
type Case = (String, u32, u32);

/// Parses a table of measurements and returns the goodputs of each case.
fn measured(rows: &str) -> BTreeMap<Case, Vec<f64>> {
    let mut cases: BTreeMap<Case, Vec<f64>> = BTreeMap::new();
    for row in rows.lines().skip(1) {
        let field: Vec<&str> = row.split(',').collect();
        let number = |index: usize| field[index].parse().expect("the table contains numbers");
        let case = (field[1].to_owned(), number(3) as u32, number(4) as u32);
        cases.entry(case).or_default().push(number(5));
    }
    cases
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (values.len() - 1) as f64).sqrt())
}

fn simulated((variant, delay, loss): &Case, offload: bool) -> Vec<f64> {
    let probability = f64::from(*loss) / 100.0;
    let direction = format!(
        "rate = \"{} bit/s\"\ndelay = \"{delay} ms\"\nqueue = {{ kind = \"drop-tail\", packets = 1000 }}\n\
         error = {{ kind = \"packet\", probability = {probability} }}\n",
        10_000_000_u64 * 1500 / 1514
    );
    let text = format!(
        r#"
        name = "measured"
        duration = "{SECONDS} s"
        [[link]]
        name = "netem"
        from = "a"
        to = "b"
        {direction}
        [link.return]
        {direction}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        app = "bulk"
        [flow.transport]
        kind = "tcp"
        congestion = "{variant}"
        profile = "linux-6.1"
        segment_size = 1448
        timestamps = true
        segmentation_offload = {offload}
        "#
    );
    let scenario = untraced(&text);
    (0..SEEDS).map(|seed| goodput(&report(&scenario, seed), "f", SECONDS)).collect()
}

/// Checks that the simulated mean goodput of each case differs from the measured mean by at most
/// 15 % or two standard deviations of the measurements, whichever is larger.
fn compare(rows: &str, offload: bool) {
    let mut wrong = Vec::new();
    for (case, values) in &measured(rows) {
        let (mean, deviation) = mean_and_deviation(values);
        let (ours, spread) = mean_and_deviation(&simulated(case, offload));
        let line = format!(
            "{:<6} {:>3} ms {} %: measured {:>5.0} +- {:>3.0} kbit/s, simulated {:>5.0} +- {:>3.0}: {:+.1} %",
            case.0,
            case.1,
            case.2,
            mean / 1e3,
            deviation / 1e3,
            ours / 1e3,
            spread / 1e3,
            100.0 * (ours / mean - 1.0)
        );
        println!("{line}");
        if (ours - mean).abs() > (0.15 * mean).max(2.0 * deviation) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "off by more than 15 % and twice the deviation:\n{}", wrong.join("\n"));
}

#[test]
fn cubic_and_bbr_have_the_goodput_of_the_campaign() {
    compare(CAMPAIGN, true);
}

#[test]
fn cubic_has_the_goodput_of_linux_with_independent_losses() {
    compare(SINGLE, false);
}
