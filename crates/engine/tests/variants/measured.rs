//! Measured Linux: CUBIC and BBR over a path of 10 Mbit/s with random loss both ways, 60 s, nine runs each
//! (authorities/tcp/PROVENANCE.md).
//!
//! What is known of the measurement: netem's rate counts Ethernet frames (1514 bytes for 1448 of payload, as CUBIC's
//! 9.559 Mbit/s without loss say), its queue is deep (netem's default of 1000 packets here), data and acknowledgments
//! are lost alike.

use crate::run::{goodput, report, untraced};
use std::collections::BTreeMap;

const ROWS: &str = include_str!("../../../../authorities/tcp/linux_tcp_netem_goodput_60s.csv");
const SECONDS: f64 = 60.0;

type Case = (String, u32, u32);

/// Goodputs by variant, delay in ms, loss in percent.
fn measured() -> BTreeMap<Case, Vec<f64>> {
    let mut cases: BTreeMap<Case, Vec<f64>> = BTreeMap::new();
    for row in ROWS.lines().skip(1) {
        let field: Vec<&str> = row.split(',').collect();
        let number = |index: usize| field[index].parse().expect("a number");
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

fn simulated((variant, delay, loss): &Case, seeds: u64) -> Vec<f64> {
    let offload = std::env::var("OFFLOAD").unwrap_or("true".to_owned());
    let extra = std::env::var("EXTRA").ok().filter(|_| variant == "cubic").unwrap_or_default();
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
        segment_size = 1448
        timestamps = true
        segmentation_offload = {offload}
        {extra}
        "#
    );
    let scenario = untraced(&text);
    (0..seeds).map(|seed| goodput(&report(&scenario, seed), "f", SECONDS)).collect()
}

/// Simulates the cases and says which of them are off.
fn compare(cases: impl Fn(&Case) -> bool) {
    let mut wrong = Vec::new();
    for (case, values) in measured().iter().filter(|(case, _)| cases(case)) {
        let (mean, deviation) = mean_and_deviation(values);
        let (ours, spread) = mean_and_deviation(&simulated(case, values.len() as u64));
        let allowed = (0.15 * mean).max(2.0 * deviation);
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
        if (ours - mean).abs() > allowed {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "off by more than 15 % and twice the deviation:\n{}", wrong.join("\n"));
}

#[test]
fn cubic_and_bbr_have_the_goodput_of_real_ones_with_little_loss() {
    compare(|(_, delay, loss)| *loss == 0 || (*loss == 1 && *delay == 50));
}

#[test]
#[ignore = "180 runs; `make measured`"]
fn cubic_and_bbr_have_the_goodput_of_real_ones() {
    compare(|_| true);
}
