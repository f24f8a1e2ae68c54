//! Programs as flows of an emulation. Needs namespaces and TUN, and iperf3 for one test; on
//! machines without them, prints a message and passes.

use bentpipe_emu::{emulate, EmulateError, Emulated, Namespace};
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_runs::Options;
use bentpipe_scenario::Source;
use bentpipe_testing::skipped;
use serde_json::Value;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("bentpipe-commands-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the run's notes on its programs.
    fn notes(&self) -> Vec<Value> {
        let provenance: Value = serde_json::from_str(&self.text("provenance.json")).unwrap();
        provenance["notes"]["commands"].as_array().unwrap().clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(
    folder: &Folder,
    duration: &str,
    flows: &[&str],
    allow_commands: bool,
) -> Result<Emulated, EmulateError> {
    let link = "[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"5 Mbit/s\"\ndelay = \"10 ms\"\n\
                queue = { kind = \"drop-tail\", bytes = \"50 kB\" }\n";
    let scenario = format!("name = \"t\"\nduration = \"{duration}\"\n{link}{}", flows.concat());
    let source = Source::Text { name: "test", text: &scenario };
    let loaded =
        bentpipe_scenario::load::<Scenario>(source, &presets::all(), &[]).unwrap_or_else(|e| panic!("{e}"));
    let options = Options { allow_commands, ..Options::default() };
    emulate(&loaded.value, &loaded.to_toml(), &folder.0, &options, &mut |_| ControlFlow::Continue(()))
}

fn flow(name: &str, app: &str) -> String {
    let ends = "from = \"a\"\nto = \"b\"\ntransport = { kind = \"tcp\", congestion = \"linux-cubic\" }\n";
    format!("[[flow]]\nname = \"{name}\"\napp = {{ kind = \"command\", {app} }}\n{ends}")
}

fn without(program: Option<&str>) -> bool {
    if let Err(error) = Namespace::new() {
        skipped(format!("no network namespaces: {error}"));
        return true;
    }
    let missing = program.filter(|program| Command::new(program).arg("--version").output().is_err());
    if let Some(program) = missing {
        skipped(format!("{program} is not installed"));
    }
    missing.is_some()
}

/// Returns the number of processes whose command line contains this word.
fn processes(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes())).count()
}

#[test]
fn programs_that_are_not_allowed_do_not_run() {
    let folder = Folder::new("refused");
    let app = "run = \"touch 'a file' {to}\", serve = \"cat\"";
    let refused = run(&folder, "1 s", &[&flow("f", app)], false).err().expect("it was not allowed");
    let text = refused.to_string();
    for words in [
        "--allow-commands",
        "flow \"f\" at host \"a\": touch \"a file\" 198.18.",
        "flow \"f\" at host \"b\": cat",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert!(!folder.0.exists());
}

#[test]
fn results_of_iperf3_are_in_the_tables() {
    if without(Some("iperf3")) {
        return;
    }
    let folder = Folder::new("iperf3");
    let app = "run = \"iperf3 -c {to} -p {port} -t 4 -J\", serve = \"iperf3 -s -1 -p {port}\"";
    let run = run(&folder, "7 s", &[&flow("up load", app)], true).unwrap();
    let value = |table: &str, column: &str| run.report.value(table, "up load", column);
    let notes = folder.notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    let stderr = folder.text("commands/up_load.stderr");
    assert!(notes.iter().all(|note| note["exit_code"] == 0), "{notes:?}\n{stderr}");
    let (start, last) = (value("flow_source", "start"), value("flow_destination", "last_delivery"));
    let seconds = last.unwrap() - start.unwrap();
    let goodput = value("flow_destination", "delivered_bytes").unwrap() * 8.0 / seconds;
    println!("goodput {:.3} Mbit/s", goodput / 1e6);
    // 5 Mbit/s carry 4.87 Mbit/s of payload.
    assert!((4.3e6..4.88e6).contains(&goodput), "{goodput} bit/s");
    // 10 ms each way, plus the time in the queue.
    let rtt = [value("flow_source", "rtt_min").unwrap(), value("flow_source", "rtt_mean").unwrap()];
    assert!(rtt[0] >= 0.02 && rtt[1] >= rtt[0], "{rtt:?}");
    assert!(value("flow_source", "retransmissions").is_some());
    let document: Value = serde_json::from_str(&folder.text("commands/up_load.stdout")).unwrap();
    assert_eq!(document["end"]["sender_tcp_congestion"], "cubic");
    assert_eq!(document["end"]["receiver_tcp_congestion"], "cubic");
}

#[test]
fn remaining_programs_and_daemons_end_with_the_run() {
    if without(None) {
        return;
    }
    let folder = Folder::new("ended");
    // A daemon in its own session whose starter ignores SIGTERM, and a daemon whose starter ended
    // long ago.
    let word = format!("86{}", std::process::id());
    let daemon = flow("deaf", &format!("run = \"sh -c 'trap : TERM; setsid sleep {word} & wait; wait'\""));
    let gone =
        flow("gone", &format!("run = \"sh -c 'setsid sleep {word} & echo {{from}} a b >&2; exit 3'\""));
    let named = flow("named", "run = \"getent hosts b\"");
    let missing = flow("missing", "run = \"/nowhere/program\"");
    run(&folder, "1 s", &[&daemon, &gone, &named, &missing], true).unwrap();
    let notes = folder.notes();
    let outcome = |flow: &str| {
        let note = notes.iter().find(|note| note["flow"] == flow).expect("there is a note");
        note["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome("deaf"), "ended with the run");
    assert_eq!(outcome("gone"), "exit code 3");
    assert!(folder.text("commands/gone.stderr").starts_with("198.18."));
    assert_eq!(outcome("named"), "exit code 0");
    assert!(folder.text("commands/named.stdout").contains("198.18."));
    assert!(outcome("missing").starts_with("could not be started"), "{}", outcome("missing"));
    assert_eq!(processes(&word), 0);
}
