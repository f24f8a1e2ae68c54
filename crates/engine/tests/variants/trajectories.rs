//! Golden table of the congestion window of every congestion control under four link conditions.

use crate::run::{goodput, scenario, value, Run};
use crate::table;
use std::fmt::Write as _;

/// Times at which the table shows the window, in seconds after the start.
const SAMPLE_SECONDS: [u64; 9] = [1, 2, 3, 5, 10, 20, 30, 45, 60];

/// Link conditions by name, with the key `error` of the link. The GEO link has 4 Mbit/s, 250 ms one
/// way and a queue of one bandwidth-delay product (167 packets). The LEO link has 20 Mbit/s and 16
/// to 30 ms one way; its delay changes as satellites move.
const CONDITIONS: [(&str, &str); 4] = [
    ("GEO, clean", ""),
    ("GEO, bit errors 1e-6", "error = { kind = \"bit\", rate = 1e-6 }"),
    ("GEO, loss 1 %", "error = { kind = \"packet\", probability = 0.01 }"),
    ("LEO, varying delay", ""),
];

fn text(variant: &str, condition: &str) -> String {
    let error = CONDITIONS.iter().find(|(name, _)| *name == condition).map_or("", |(_, error)| error);
    let (rate, delay, packets) =
        if condition.starts_with("GEO") { ("4 Mbit/s", "250 ms", 167) } else { ("20 Mbit/s", "20 ms", 67) };
    let mut text = format!(
        r#"
        name = "trajectory"
        duration = "60 s"
        record = {{ traces = ["tcp"] }}
        [[link]]
        name = "sat"
        from = "a"
        to = "b"
        rate = "{rate}"
        delay = "{delay}"
        queue = {{ kind = "drop-tail", packets = {packets} }}
        {error}
        return = {{ rate = "{rate}", delay = "{delay}" }}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        app = "bulk"
        transport = {{ kind = "tcp", congestion = "{variant}", timestamps = true }}
        "#
    );
    if condition.starts_with("LEO") {
        // The satellite approaches and departs. Every 15 s, the next satellite takes over.
        for (second, delay) in [
            (5, 16),
            (10, 20),
            (15, 26),
            (20, 20),
            (25, 16),
            (30, 24),
            (35, 18),
            (40, 22),
            (45, 30),
            (50, 24),
            (55, 19),
        ] {
            let _ = write!(
                text,
                "[[change]]\nat = \"{second} s\"\nset.link.sat = {{ delay = \"{delay} ms\", return = {{ delay = \"{delay} \
                 ms\" }} }}\n"
            );
        }
    }
    text
}

/// Returns the congestion window in segments at each of the [`SAMPLE_SECONDS`].
fn windows(trace: &[crate::run::TraceRow]) -> Vec<u32> {
    SAMPLE_SECONDS
        .iter()
        .map(|second| {
            let until = trace.partition_point(|row| row.time <= second * 1_000_000_000);
            trace[..until].last().map_or(0, |row| row.values[0] as u32)
        })
        .collect()
}

#[test]
fn every_congestion_control_keeps_its_window_trajectories() {
    let mut table = "\
Congestion windows in segments, 60 s of one endless flow, seed 1
GEO: 4 Mbit/s, 250 ms one way, a queue of one bandwidth-delay product (167 packets)
LEO: 20 Mbit/s, 16 to 30 ms one way, changed every 5 s, a queue of 67 packets

"
    .to_owned();
    let _ = write!(table, "{:<11}{:<22}", "variant", "condition");
    for second in SAMPLE_SECONDS {
        let _ = write!(table, "{:>6}", format!("{second} s"));
    }
    let _ = writeln!(
        table,
        "{:>8} {:>6} {:>5}\n{:>95} {:>6} {:>5}",
        "goodput", "resent", "time-", "kbit/s", "", "outs"
    );
    for variant in bentpipe_congestion::variants() {
        for (condition, _) in CONDITIONS {
            let scenario = scenario(&text(variant.name, condition));
            let run = Run::new(&scenario, 1, 0).finished();
            let report = run.report();
            let traces = run.results().traces;
            let windows = windows(&traces["tcp"]);
            let _ = write!(table, "{:<11}{condition:<22}", variant.name);
            for window in windows {
                let _ = write!(table, "{window:>6}");
            }
            let source = |column| value(&report, "flow_source", "f", column);
            let _ = writeln!(
                table,
                "{:>8.0} {:>6} {:>5}",
                goodput(&report, "f", 60.0) / 1e3,
                source("retransmissions"),
                source("timeouts")
            );
        }
    }
    table::check("variants.txt", &table);
}
