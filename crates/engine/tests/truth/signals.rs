//! Handover signals to the ends of TCP connections: Freeze-TCP and fast adaptation, compared with
//! plain TCP. The path changes from a satellite to a wire and back to the satellite.

use crate::bad_scenarios::loaded;
use crate::golden;
use crate::run::{self, goodput, untraced, value};
use std::fmt::Write as _;

/// Returns a scenario with a handover from the satellite to the wire at 20 s and back at 40 s. Each
/// handover interrupts the path for a second and drops all packets on the link.
fn hybrid(transport: &str) -> String {
    format!(
        r#"
name = "hybrid"
duration = "60 s"
[[link]]
name = "satellite"
from = "gateway"
to = "terminal"
rate = "2 Mbit/s"
delay = "250 ms"
queue = {{ kind = "drop-tail", packets = 100 }}
[[link]]
name = "wired"
from = "gateway"
to = "terminal"
rate = "8 Mbit/s"
delay = "20 ms"
queue = {{ kind = "drop-tail", packets = 100 }}
[[multilink]]
name = "access"
links = ["satellite", "wired"]
handover = {{ interruption = "1 s", packets = "lose" }}
[[handover]]
at = "20 s"
to = "wired"
[[handover]]
at = "40 s"
to = "satellite"
[[flow]]
name = "download"
from = "gateway"
to = "terminal"
app = "bulk"
transport = {{ kind = "tcp", congestion = "reno", profile = "classic", initial_ssthresh = 80{transport} }}
"#
    )
}

/// Measured results of the download.
struct Download {
    timeouts: f64,
    retransmissions: f64,
    /// Mean goodput in Mbit/s over the run.
    mbit: f64,
}

fn download(transport: &str) -> Download {
    let report = run::report(&untraced(&hybrid(transport)), 1);
    let of = |column| value(&report, "flow_source", "download", column);
    Download {
        timeouts: of("timeouts"),
        retransmissions: of("retransmissions"),
        mbit: goodput(&report, "download", 60.0) / 1e6,
    }
}

#[test]
fn handover_signals_avoid_time_outs_and_raise_the_goodput() {
    let variants = [
        ("plain", ""),
        ("freeze, a round trip before", ", on_handover = [\"freeze\"]"),
        ("freeze, 1.2 s before", ", on_handover = [\"freeze\"], freeze_warning = \"1.2 s\""),
        ("adapt", ", on_handover = [\"adapt\"]"),
        ("both, 1.2 s before", ", on_handover = [\"freeze\", \"adapt\"], freeze_warning = \"1.2 s\""),
    ];
    let mut text = "Handover signals to the ends of a download: over a satellite (2 Mbit/s), from 21 s on a wire (8 \
                    Mbit/s), from 41 s on the satellite again, with breaks of a second that drop all packets on the link\n\n"
        .to_owned();
    let _ = writeln!(text, "{:28} {:>9} {:>15} {:>7}", "variant", "time-outs", "retransmissions", "Mbit/s");
    let all = variants.map(|(name, transport)| {
        let download = download(transport);
        let Download { timeouts, retransmissions, mbit } = download;
        let _ = writeln!(text, "{name:28} {timeouts:>9} {retransmissions:>15} {mbit:>7.3}");
        download
    });
    golden::check("signals.txt", &text);
    let [plain, _, freeze, _, both] = &all;
    assert!(plain.timeouts >= 2.0, "{}", plain.timeouts);
    assert_eq!((freeze.timeouts, both.timeouts), (0.0, 0.0));
    assert!(freeze.mbit > plain.mbit && both.mbit > freeze.mbit, "{text}");
}

#[test]
fn signals_of_missing_handovers_are_refused() {
    let text = hybrid(", on_handover = [\"freeze\"]");
    loaded(&text).unwrap_or_else(|error| panic!("{error}"));
    let without = text.replace("[[handover]]\nat = \"20 s\"\nto = \"wired\"\n", "");
    let without = without.replace("[[handover]]\nat = \"40 s\"\nto = \"satellite\"\n", "");
    let error = loaded(&without).map(drop).unwrap_err();
    assert!(error.contains("on_handover") && error.contains("no [[handover]] on the flow's path"), "{error}");
    let quic = |text: &str| {
        let (before, _) = text.split_once("transport = ").unwrap();
        loaded(&format!("{before}transport = {{ kind = \"quic\", migration = true }}\n")).map(drop)
    };
    quic(&text).unwrap_or_else(|error| panic!("{error}"));
    let error = quic(&without).unwrap_err();
    assert!(error.contains("migration") && error.contains("no [[handover]] on the flow's path"), "{error}");
}
