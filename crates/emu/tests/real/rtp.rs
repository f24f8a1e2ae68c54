//! Recognition of RTP of any program in an emulation. A call on the real clock, together with
//! datagrams that cause jitter, passes a link that loses packets. The result is compared with
//! tshark's `rtp,streams` of the capture. Needs namespaces, TUN and tshark; on machines without
//! them, prints a message and passes.

use bentpipe_emu::{emulate, Namespace};
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_runs::Options;
use bentpipe_scenario::{load, Source};
use bentpipe_testing::skipped;
use std::ops::ControlFlow;
use std::process::Command;

const SCENARIO: &str = r#"
name = "call"
duration = "8 s"
record = { capture = ["b"] }
[[link]]
name = "sat"
from = "a"
to = "b"
rate = "400 kbit/s"
delay = "100 ms"
error = { kind = "list", packets = [40, 41, 90, 200, 301, 302, 303] }
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "udp"
app = { kind = "voice", codec = "G.711a", silence_suppression = false, rtcp = "2 s" }
[[flow]]
name = "beside"
from = "a"
to = "b"
transport = "udp"
app = { kind = "cbr", rate = "200 kbit/s", datagram = "1200 B", on = "200 ms", off = "100 ms", distribution = "exponential" }
"#;

/// Returns the numbers in a line of tshark's table `rtp,streams`: packets, lost, and mean and
/// largest jitter in ms.
fn of_tshark(line: &str) -> [f64; 4] {
    let words: Vec<&str> = line.split_whitespace().collect();
    // Times, addresses, ports, SSRC, codec, then packets, lost, (per cent), three deltas, three
    // jitters.
    let lost = words.iter().position(|word| word.starts_with('(')).expect("the share of lost packets");
    let number = |at: usize| words[at].parse::<f64>().unwrap();
    [number(lost - 2), number(lost - 1), number(lost + 5), number(lost + 6)]
}

#[test]
fn streams_have_the_loss_and_the_jitter_of_tshark() {
    if let Err(error) = Namespace::new() {
        return skipped(format!("no network namespaces: {error}"));
    }
    if Command::new("tshark").arg("--version").output().is_err() {
        return skipped("tshark is not installed");
    }
    let loaded =
        load::<Scenario>(Source::Text { name: "test", text: SCENARIO }, &presets::all(), &[]).unwrap();
    let folder = std::env::temp_dir().join(format!("bentpipe-rtp-{}", std::process::id()));
    let mut to_the_end = |_| ControlFlow::Continue(());
    let run =
        emulate(&loaded.value, &loaded.to_toml(), &folder, &Options::default(), &mut to_the_end).unwrap();
    let shown = Command::new("tshark")
        .args(["-q", "-z", "rtp,streams", "--enable-heuristic", "rtp_udp", "-r"])
        .arg(folder.join("packets.pcapng"))
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let table = String::from_utf8_lossy(&shown.stdout);
    let rows: Vec<_> = run.report.rows().iter().filter(|(table, ..)| table.name == "rtp").collect();
    assert_eq!(rows.len(), 2, "both directions of the call, and nothing else");
    // Packets are captured at b: packets from b before the link, and packets to b after the link,
    // where they are recognised.
    for (_, stream, _) in rows.into_iter().filter(|(_, stream, _)| stream.starts_with("198.18.0.1:")) {
        let value = |column| run.report.value("rtp", stream, column).unwrap();
        let ssrc = stream.rsplit('-').next().unwrap().to_uppercase();
        let line =
            table.lines().find(|line| line.contains(&ssrc)).unwrap_or_else(|| panic!("{ssrc}: {table}"));
        let [packets, lost, jitter, largest] = of_tshark(line);
        assert!((350.0..401.0).contains(&packets) && value("packets") == packets, "{stream}: {line}");
        assert_eq!(value("expected") - value("packets"), lost, "{line}");
        // Within 1 % and the last digit of tshark, a microsecond.
        let near = |found: f64, shown: f64| (found * 1e3 - shown).abs() < 0.01 * shown + 0.001;
        assert!(near(value("jitter"), jitter), "{stream}: {} s, {line}", value("jitter"));
        assert!(near(value("jitter_max"), largest), "{stream}: {} s, {line}", value("jitter_max"));
        assert!(value("mos") > 1.0 && value("delay") > 0.1);
    }
    // The call's own measurements of the packets that arrived.
    let voice = |column| run.report.value("flow_voice", "call", column).unwrap();
    assert!(voice("voice_lost") >= 2.0 && voice("voice_delay") > 0.18 && voice("voice_delay") < 0.4);
    assert!(voice("voice_round_trip") > 0.2);
}
