//! TCP connections that share a leg of an ATM network, under each frame discard policy of a full
//! switch.

use crate::golden::check;
use crate::run::{goodput, untraced, value, Run};
use std::fmt::Write as _;

/// Number of pairs of nodes. Each pair has an ATM connection over the shared leg and a TCP flow.
const PAIRS: usize = 10;
const SECONDS: f64 = 20.0;
/// Maximum goodput of the leg in bit/s. With LLC/SNAP, a segment of 1460 bytes takes 32 cells, and
/// the leg carries 20 Mbit/s of cells.
const MAX_GOODPUT: f64 = 20e6 * 1460.0 / (32.0 * 53.0);

fn pairs(leg: &str) -> String {
    let other = |pair| format!(r#"{{ ends = ["a{pair}", "b{pair}"] }}"#);
    let others: Vec<String> = (1..PAIRS).map(other).collect();
    let mut text = format!(
        r#"
        name = "pairs"
        duration = "{SECONDS} s"
        [network.wan]
        kind = "atm"
        ends = ["a0", "b0"]
        access = {{ rate = "149.76 Mbit/s", delay = "5 ms" }}
        legs = [{{ rate = "20 Mbit/s", buffer = 300, {leg} }}]
        others = [{}]
        "#,
        others.join(", ")
    );
    for pair in 0..PAIRS {
        let _ = write!(
            text,
            r#"
            [[flow]]
            name = "f{pair}"
            from = "a{pair}"
            to = "b{pair}"
            start = "{} ms"
            app = "bulk"
            transport = {{ kind = "tcp", congestion = "reno" }}
            "#,
            37 * pair
        );
    }
    text
}

/// Without frame discard, the leg also carries cells of frames that have already lost a cell.
/// Partial packet discard drops the remaining cells of such frames. Early packet discard drops
/// whole frames instead. Source: A. Romanow and S. Floyd, "Dynamics of TCP Traffic over ATM
/// Networks", 1995.
#[test]
fn goodput_by_frame_discard_on_a_shared_leg() {
    let policies = [
        ("none", "partial = false"),
        ("partial", "partial = true"),
        ("early", "early = 150"),
        ("early, partial", "early = 150, partial = true"),
    ];
    let mut table = "\
Ten TCP flows between ten pairs of nodes over an ATM leg of 20 Mbit/s with 300 cells of buffer

                goodput            cells    cells   frames
discard          kbit/s  share   dropped    early     lost
"
    .to_owned();
    let mut shares = Vec::new();
    for (name, leg) in policies {
        let report = Run::new(&untraced(&pairs(leg)), 1, 0).finished().report();
        let total: f64 = (0..PAIRS).map(|pair| goodput(&report, &format!("f{pair}"), SECONDS)).sum();
        let connection = |pair| match pair {
            0 => "wan.forward".to_owned(),
            _ => format!("wan.forward.{}", pair + 1),
        };
        let lost: f64 = (0..PAIRS).map(|pair| value(&report, "atm", &connection(pair), "lost")).sum();
        let leg = |column| value(&report, "atm_leg", "wan.forward.1", column);
        shares.push(total / MAX_GOODPUT);
        let _ = writeln!(
            table,
            "{name:14} {:8.0} {:6.3} {:9.0} {:8.0} {lost:8.0}",
            total / 1e3,
            total / MAX_GOODPUT,
            leg("dropped"),
            leg("dropped_early"),
        );
    }
    check("atm.txt", &table);
    let [none, partial, early, both] = shares[..] else { panic!("four policies") };
    assert!(none < partial && partial < early.max(both) && none < 0.95 * both, "{shares:?}");
}
