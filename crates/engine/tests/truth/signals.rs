//! The benefit of informing the ends of handovers: Freeze-TCP and fast adaptation over a satellite,
//! a wire and the satellite again, compared with plain TCP.

use crate::bad_scenarios::loaded;
use crate::golden;
use crate::run::{self, goodput, untraced, value};
use std::fmt::Write as _;

/// Returns a handover from the satellite to the wire at 20 s and back at 40 s, each time with a
/// break of a second that loses all packets on the link.
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

struct Seen {
    timeouts: f64,
    retransmissions: f64,
    mbit: f64,
}

fn seen(transport: &str) -> Seen {
    let report = run::report(&untraced(&hybrid(transport)), 1);
    let of = |column| value(&report, "flow_source", "download", column);
    Seen {
        timeouts: of("timeouts"),
        retransmissions: of("retransmissions"),
        mbit: goodput(&report, "download", 60.0) / 1e6,
    }
}

#[test]
fn ends_with_handover_signals_lose_less_and_start_at_once() {
    let variants = [
        ("plain", ""),
        ("freeze, a round trip before", ", on_handover = [\"freeze\"]"),
        ("freeze, 1.2 s before", ", on_handover = [\"freeze\"], freeze_warning = \"1.2 s\""),
        ("adapt", ", on_handover = [\"adapt\"]"),
        ("both, 1.2 s before", ", on_handover = [\"freeze\", \"adapt\"], freeze_warning = \"1.2 s\""),
    ];
    let mut text = "What ends make of knowing that handovers come: a download over a satellite (2 Mbit/s), from 21 s on a wire (8 \
                    Mbit/s), from 41 s on the satellite again, with breaks of a second that lose what is on the link\n\n"
        .to_owned();
    let _ = writeln!(text, "{:28} {:>9} {:>15} {:>7}", "variant", "time-outs", "retransmissions", "Mbit/s");
    let all = variants.map(|(name, transport)| {
        let seen = seen(transport);
        let Seen { timeouts, retransmissions, mbit } = seen;
        let _ = writeln!(text, "{name:28} {timeouts:>9} {retransmissions:>15} {mbit:>7.3}");
        seen
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
}
