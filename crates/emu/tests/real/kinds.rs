//! Runs every application and every transport on the real clock, by their samples, including
//! additions of `scripts/new`. If the kernel has the transport, the flow uses sockets of real
//! hosts; otherwise models are its ends. The packets of both share the link. Needs namespaces and
//! TUN; on machines without them, prints a message and passes.
//!
//! `ONLY=toy` runs the kinds whose name contains this text.

use bentpipe_emu::{emulate, Namespace};
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_runs::Options;
use bentpipe_scenario::{load, Source};
use bentpipe_testing::skipped;
use bentpipe_transport::{self as transport, app};
use std::ops::ControlFlow;

/// Returns the flow of a variant, with another flow of datagrams.
fn scenario(keys: &str) -> String {
    format!(
        r#"name = "kinds"
duration = "2 s"
[[link]]
name = "l"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "20 ms"
queue = {{ kind = "drop-tail", packets = 40 }}
[[flow]]
name = "f"
from = "a"
to = "b"
{keys}
[[flow]]
name = "beside"
from = "a"
to = "b"
app = {{ kind = "cbr", rate = "64 kbit/s", datagram = "160 B" }}
transport = "udp"
"#
    )
}

/// Returns the accepted scenarios with samples of a list, each with its kind.
fn accepted(kinds: &[&'static str], samples: &[String], flows: &[String]) -> Vec<(&'static str, String)> {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut accepted = Vec::new();
    for (kind, sample) in kinds.iter().zip(samples).filter(|(kind, _)| kind.contains(&only)) {
        let texts: Vec<_> = flows.iter().map(|flow| scenario(&flow.replace("SAMPLE", sample))).collect();
        let valid: Vec<_> = texts.into_iter().filter(|text| read(text).is_some()).collect();
        assert!(!valid.is_empty(), "{sample} is accepted nowhere");
        accepted.extend(valid.into_iter().map(|text| (*kind, text)));
    }
    accepted
}

fn read(text: &str) -> Option<Scenario> {
    let loaded = load::<Scenario>(Source::Text { name: "test", text }, &presets::all(), &[]).ok()?;
    loaded.refuse(loaded.value.check_emulated(false)).ok()?;
    Some(loaded.value)
}

#[test]
fn every_application_and_transport_runs_on_the_real_clock() {
    if let Err(error) = Namespace::new() {
        return skipped(format!("no network namespaces: {error}"));
    }
    let over = ["tcp", "udp", "sip"].map(|transport| format!("app = SAMPLE\ntransport = \"{transport}\""));
    let with = [
        "app = \"bulk\"\ntransport = SAMPLE",
        "app = { kind = \"cbr\", rate = \"300 kbit/s\" }\ntransport = SAMPLE",
        // Ten calls a second, answered immediately.
        "app = { kind = \"calls\", codec = \"GSM-FR\", load = 5, holding = \"500 ms\", answer = \"100 ms\" }\ntransport = SAMPLE",
    ]
    .map(str::to_owned);
    let apps = accepted(app::Config::KINDS, &app::Config::samples(), &over);
    let transports = accepted(transport::Config::KINDS, &transport::Config::samples(), &with);
    for (kind, text) in apps.into_iter().chain(transports) {
        let scenario = read(&text).expect("it was accepted");
        // The tests in `commands.rs` cover programs.
        if scenario.flow.iter().any(|flow| flow.is_command()) {
            continue;
        }
        let folder = std::env::temp_dir().join(format!("bentpipe-kinds-{kind}-{}", std::process::id()));
        let mut to_the_end = |_| ControlFlow::Continue(());
        let run = emulate(&scenario, &text, &folder, &Options::default(), &mut to_the_end).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        assert!(run.complete, "{kind}");
        assert_eq!(run.fidelity.measured.lost, 0, "{kind}: packets were lost that no model dropped");
        let delivered = |flow| run.report.value("flow_destination", flow, "delivered_bytes").unwrap_or(0.0);
        assert!(delivered("f") > 0.0, "{kind}: nothing arrives\n{text}");
        // 50 datagrams per second; the last few are in flight, and some found the queue full.
        assert!(delivered("beside") > 30.0 * 160.0, "{kind}: {} bytes beside it", delivered("beside"));
    }
}
