//! Transports for satellites, end to end: Quick-Start (RFC 4782) and SCPS-TP (CCSDS 714.0-B-2) with
//! Vegas.

use crate::run::{self, goodput, untraced, value};

/// Returns one upload over a geostationary link of 10 Mbit/s.
fn geo(link: &str, app: &str, transport: &str) -> String {
    format!(
        r#"
name = "special"
duration = "60 s"
[[link]]
name = "sat"
from = "user"
to = "server"
rate = "10 Mbit/s"
delay = "250 ms"
queue = {{ kind = "drop-tail", packets = 420 }}
{link}
[[flow]]
name = "up"
from = "user"
to = "server"
app = {app}
transport = {{ kind = "tcp", {transport} }}
"#
    )
}

/// Runs an upload of 1 MB. Returns the time until all data was acknowledged, in seconds, and the
/// number of retransmitted segments.
fn upload(link: &str, transport: &str) -> (f64, f64) {
    let text = geo(link, r#"{ kind = "bulk", size = "1 MB" }"#, transport);
    let report = run::report(&untraced(&text), 1);
    let of = |column| value(&report, "flow_source", "up", column);
    (of("completed"), of("retransmissions"))
}

#[test]
fn quick_start_saves_round_trips_of_slow_start_if_every_router_grants_it() {
    let reno = r#"congestion = "reno""#;
    let asks = r#"congestion = "reno", quick_start = "5 Mbit/s""#;
    let understands = "quick_start = 0.9";
    let (plain, _) = upload("", reno);
    // The grant of 5.12 Mbit/s (40 kbit/s times 2^7; RFC 4782, section 3.1) is a window of about
    // 210 segments (section 4.4). The window of a SYN-ACK, which is not scaled (RFC 7323, section
    // 2.2), permits 44 of them, which slow start from 10 reaches two round trips later.
    let (quick, again) = upload(understands, asks);
    assert!((plain - 1.1..plain - 0.9).contains(&quick), "{quick} instead of {plain}");
    assert_eq!(again, 0.0);
    // If a router on the path of the data does not understand the option, nothing is granted
    // (section 4.3), independent of the report of the reverse path: only the options' bytes remain.
    let only_back = r#"return = { rate = "10 Mbit/s", delay = "250 ms", quick_start = 0.9 }"#;
    assert!((upload(only_back, asks).0 - plain).abs() < 1e-3);
}

#[test]
fn scps_tp_with_vegas_fills_the_link() {
    let report =
        run::report(&untraced(&geo("", r#""bulk""#, r#"profile = "scps", congestion = "vegas""#)), 1);
    // Segments of 1460 bytes are in packets of 1500 bytes plus options, so the maximum goodput is
    // 96 % of the link's rate. Slow start lowers the mean.
    let rate = goodput(&report, "up", 60.0);
    assert!(rate > 0.85 * 10e6, "{rate}");
    assert_eq!(value(&report, "flow_source", "up", "timeouts"), 0.0);
}

/// RFC 9959 with the observations of the run: a later flow between the same ends saves round trips,
/// over TCP and over QUIC, also from an observation over the other transport. Data from the other
/// end follows another path.
#[test]
fn a_later_flow_resumes_from_the_path_of_an_earlier_one() {
    let took = |[first, later]: [&str; 2], ends: &str, key: &str| {
        let text = geo("", r#"{ kind = "bulk", size = "5 MB" }"#, &format!(r#"congestion = "cubic"{key}"#))
            .replace("\"tcp\"", &format!("\"{first}\""));
        let later = format!(
            r#"
[[flow]]
name = "later"
{ends}
start = "30 s"
app = {{ kind = "bulk", size = "1 MB" }}
transport = {{ kind = "{later}", congestion = "cubic"{key} }}
"#
        );
        let report = run::report(&untraced(&(text + &later)), 1);
        let lost = value(&report, "flow_source", "later", "retransmissions");
        (value(&report, "flow_source", "later", "completed") - 30.0, lost)
    };
    let (there, back) = ("from = \"user\"\nto = \"server\"", "from = \"server\"\nto = \"user\"");
    let key = r#", careful_resume = "earlier""#;
    for kinds in [["tcp", "tcp"], ["quic", "quic"], ["tcp", "quic"], ["quic", "tcp"]] {
        let (plain, _) = took(kinds, there, "");
        let (resumed, lost) = took(kinds, there, key);
        // 1 MB are 685 segments. Slow start from 10 sends 630 in six round trips. Half of a window
        // of at least 417 segments (10 Mbit/s x 500 ms) is sent in the second round trip, so that
        // 10 + 208 + 416 segments take three. QUIC paces its start, which costs up to a round trip.
        assert!(resumed < plain - 1.0 && lost == 0.0, "{kinds:?}: {resumed} instead of {plain}, {lost}");
        assert_eq!(took(kinds, back, key), took(kinds, back, ""), "{kinds:?}");
    }
}
