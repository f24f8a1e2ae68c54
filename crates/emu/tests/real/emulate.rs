//! Whole runs on the real clock. Needs namespaces and TUN; on machines without them, prints a
//! message and passes.

use bentpipe_emu::{emulate, Emulated, Namespace, Timing, Variants};
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_runs::Options;
use bentpipe_scenario::Source;
use bentpipe_testing::{repeated, skipped};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("bentpipe-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(name: &str, scenario: &str) -> Option<Emulated> {
    if let Err(error) = Namespace::new() {
        skipped(format!("no network namespaces: {error}"));
        return None;
    }
    let folder = Folder::new(name);
    let source = Source::Text { name: "test", text: scenario };
    let loaded = bentpipe_scenario::load::<Scenario>(source, &presets::all(), &[]).unwrap();
    let mut progress = |_| ControlFlow::Continue(());
    let options = Options::default();
    Some(emulate(&loaded.value, &loaded.to_toml(), &folder.0, &options, &mut progress).unwrap())
}

/// Runs a scenario and checks the outcome. Repeats a run that the machine disturbed.
fn test(name: &str, scenario: &str, check: impl Fn(&Emulated)) {
    repeated(|| run(name, scenario), |run| run.fidelity.reasons.clone(), check);
}

const LINK: &str = r#"
name = "t"
duration = "8 s"
[[link]]
name = "sat"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "50 ms"
"#;

#[test]
fn a_transfer_delivers_its_bytes_once_and_no_faster_than_the_link() {
    let flow = r#"
[[flow]]
name = "f"
from = "a"
to = "b"
app = { kind = "bulk", size = "2 MB" }
transport = "tcp"
"#;
    test("transfer", &format!("{LINK}{flow}"), |run| {
        let value = |table: &str, column: &str| run.report.value(table, "f", column);
        assert!(run.complete);
        assert_eq!(value("flow_destination", "delivered_bytes"), Some(2e6));
        assert_eq!(value("flow_source", "sent_bytes"), Some(2e6));
        // 2 MB in segments of 1460 bytes and 40 of headers take 1.644 s at 10 Mbit/s. The handshake
        // and the last acknowledgment take 0.1 s each, and slow start from ten segments takes a few
        // more round trips.
        let completed = value("flow_source", "completed").unwrap();
        assert!((1.84..4.0).contains(&completed), "completed at {completed} s");
        let (rtt_min, start) =
            (value("flow_source", "rtt_min").unwrap(), value("flow_source", "start").unwrap());
        assert!((0.1..0.13).contains(&rtt_min) && start < 0.05, "rtt_min {rtt_min} s, start {start} s");
        assert_eq!(run.totals.dropped.values().map(|held| held.packets).sum::<u64>(), 0);
    });
}

#[test]
fn datagrams_have_the_delay_of_the_link_and_none_is_lost() {
    let flow = r#"
[[flow]]
name = "f"
from = "a"
to = "b"
app = { kind = "cbr", rate = "800 kbit/s", datagram = "972 B" }
transport = "udp"
"#;
    test("datagrams", &format!("{LINK}{flow}"), |run| {
        let value = |table: &str, column: &str| run.report.value(table, "f", column).unwrap();
        let (sent, delivered) =
            (value("flow_source", "sent_packets"), value("flow_destination", "delivered_packets"));
        // One datagram per 9.72 ms for 8 s. The datagrams of the last 50.8 ms are still in flight.
        assert!((822.0..=824.0).contains(&sent), "{sent} datagrams sent");
        assert!((5.0..=7.0).contains(&(sent - delivered)), "{sent} sent, {delivered} delivered");
        // 1000 bytes take 0.8 ms.
        let delay = value("flow_destination", "delay_mean");
        assert!((0.0508..0.0550).contains(&delay), "mean delay {delay} s");
    });
}

#[test]
fn congestion_controls_of_the_kernel_fill_the_link() {
    let mut compared = 0;
    for name in ["linux-cubic", "linux-bbr"] {
        let flow = format!(
            r#"
[[flow]]
name = "f"
from = "a"
to = "b"
app = "bulk"
transport = {{ kind = "tcp", congestion = "{name}" }}
"#
        );
        let link = LINK.replace("50 ms", "10 ms").replace("8 s", "4 s");
        let config = serde_json::from_value(serde_json::json!({ "congestion": name })).unwrap();
        if let Err(missing) = Variants::load([&config].into_iter(), Timing::Real) {
            skipped(missing);
            continue;
        }
        test(name, &format!("{link}{flow}"), |run| {
            let bytes = run.report.value("flow_destination", "f", "delivered_bytes").unwrap();
            // 10 Mbit/s carry 4.87 MB of payload in 4 s. BBR sometimes drains the pipe to measure
            // the round-trip time.
            let share = bytes / (4.0 * 10e6 / 8.0 * 1460.0 / 1500.0);
            println!("{name}: {:.1} % of the link", 100.0 * share);
            assert!((0.85..=1.0).contains(&share), "{name} had {share} of the link");
        });
        compared += 1;
    }
    assert!(compared > 0 || Namespace::new().is_err(), "no kernel is without cubic");
}
