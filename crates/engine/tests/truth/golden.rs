//! Golden tables, to catch unintended changes of models. Review them as diffs; each change has its
//! line under "Results changed" in CHANGELOG.md. `BLESS=1` rewrites them.

pub use crate::table::check;

use crate::run::{goodput, report, untraced, value};
use bentpipe_core::Report;
use std::fmt::Write as _;

/// Formats a value, multiplied by `factor`, with one decimal. A missing value becomes a dash.
fn tenths(value: Option<f64>, factor: f64) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.1}", value * factor))
}

struct Row<'a> {
    report: &'a Report,
    flow: &'a str,
    seconds: f64,
}

impl Row<'_> {
    fn source(&self, column: &str) -> Option<f64> {
        self.report.value("flow_source", self.flow, column)
    }

    /// Returns three cells of the table: the goodput in kbit/s, and the mean and the 95th
    /// percentile of the round-trip time in ms.
    fn common(&self) -> [String; 3] {
        [
            format!("{:.1}", goodput(self.report, self.flow, self.seconds) / 1e3),
            tenths(self.source("rtt_mean"), 1e3),
            tenths(self.source("rtt_p95"), 1e3),
        ]
    }

    /// Returns two cells of the table: the numbers of retransmissions and of time-outs.
    fn repairs(&self) -> [String; 2] {
        ["retransmissions", "timeouts"]
            .map(|column| value(self.report, "flow_source", self.flow, column).to_string())
    }
}

#[test]
fn dvb_rcs_by_scheme_variant_and_direction() {
    let mut table = "\
TCP over the preset dvb-rcs: one endless flow, 100 s
initial_ssthresh = 20 and no delayed acknowledgments; the terminal's slots are all
constant (cra full), or one constant slot of 64 kbit/s and the others on demand

direction: data to the terminal (forward) or to the gateway (return)
return eff.: used share of the terminal's slots; forward util.: busy share of the link

scheme    variant  direction   goodput      RTT      p95  return forward  retr.  time-
                                                            eff.   util.          outs
                                kbit/s       ms       ms       %       % packets
"
    .to_owned();
    for (name, dama) in [
        ("cra full", r#"scheme = "cra", cra = "2048 kbit/s""#),
        ("rbdc", r#"scheme = "rbdc", cra = "64 kbit/s""#),
        ("vbdc", r#"scheme = "vbdc", cra = "64 kbit/s""#),
    ] {
        for variant in ["reno", "vegas"] {
            for (direction, from, to) in [("forward", "gw", "st1"), ("return", "st1", "gw")] {
                let text = format!(
                    r#"
                    name = "golden"
                    duration = "100 s"
                    preset = "dvb-rcs"
                    network.sat.return.dama = {{ {dama}, response = 11 }}
                    [[flow]]
                    name = "f"
                    from = "{from}"
                    to = "{to}"
                    app = "bulk"
                    [flow.transport]
                    kind = "tcp"
                    congestion = "{variant}"
                    initial_ssthresh = 20
                    delayed_ack = false
                    "#
                );
                let report = report(&untraced(&text), 0);
                let row = Row { report: &report, flow: "f", seconds: 100.0 };
                let ([goodput, mean, p95], [resent, timeouts]) = (row.common(), row.repairs());
                let efficiency = tenths(report.value("terminal", "st1", "efficiency"), 100.0);
                let utilisation = tenths(report.value("link", "sat.forward", "utilisation"), 100.0);
                let _ = writeln!(
                    table,
                    "{name:<9} {variant:<8} {direction:<9} {goodput:>9} {mean:>8} {p95:>8} {efficiency:>7} \
                     {utilisation:>7} {resent:>6} {timeouts:>6}"
                );
            }
        }
    }
    check("dvb-rcs.txt", &table);
}

#[test]
fn links_by_condition_and_recovery() {
    let mut table = "\
TCP Reno over a GEO link: 10 Mbit/s, 250 ms one way, drop-tail queue of one
bandwidth-delay product (417 packets), endless flows, 100 s, default options

recovery   condition             flow   goodput      RTT      p95  util.  retr.  time-
                                                                                  outs
                                         kbit/s       ms       ms      % packets
"
    .to_owned();
    for recovery in ["rack", "sack", "newreno"] {
        for (condition, error, flows) in [
            ("clean", "none", 1),
            ("packet loss 1e-3", r#"{ kind = "packet", probability = 1e-3 }"#, 1),
            ("packet loss 1e-2", r#"{ kind = "packet", probability = 1e-2 }"#, 1),
            ("bit errors 1e-7", r#"{ kind = "bit", rate = 1e-7 }"#, 1),
            ("clean, two flows", "none", 2),
        ] {
            let error = if error == "none" { "\"none\"" } else { error };
            let mut text = format!(
                r#"
                name = "golden"
                duration = "100 s"
                [[link]]
                name = "sat"
                from = "a"
                to = "b"
                rate = "10 Mbit/s"
                delay = "250 ms"
                queue = {{ kind = "drop-tail", packets = 417 }}
                error = {error}
                return = {{ rate = "10 Mbit/s", delay = "250 ms" }}
                "#
            );
            for flow in 0..flows {
                let _ = write!(
                    text,
                    r#"
                    [[flow]]
                    name = "{flow}"
                    from = "a"
                    to = "b"
                    start = "{flow} s"
                    app = "bulk"
                    transport = {{ kind = "tcp", congestion = "reno", recovery = "{recovery}" }}
                    "#
                );
            }
            let report = report(&untraced(&text), 0);
            for flow in 0..flows {
                let row = Row { report: &report, flow: &flow.to_string(), seconds: 100.0 - f64::from(flow) };
                let ([goodput, mean, p95], [resent, timeouts]) = (row.common(), row.repairs());
                let utilisation = tenths(report.value("link", "sat", "utilisation"), 100.0);
                let number = flow + 1;
                let _ = writeln!(
                    table,
                    "{recovery:<10} {condition:<21} {number:>4} {goodput:>9} {mean:>8} {p95:>8} {utilisation:>6} \
                     {resent:>6} {timeouts:>6}"
                );
            }
        }
    }
    check("links.txt", &table);
}
