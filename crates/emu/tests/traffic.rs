//! Properties of flows over real sockets that hold on any machine. Needs namespaces and TUN; on
//! machines without them, prints a message and passes.

use bentpipe_emu::{emulate, Emulated, Namespace};
use bentpipe_engine::presets;
use bentpipe_engine::scenario::Scenario;
use bentpipe_runs::Options;
use bentpipe_scenario::Source;
use bentpipe_testing::{repeated, skipped};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Serialises the runs, because they share the files of this process, which [`run`] counts. Every
/// test of this program must lock it.
static TURN: Mutex<()> = Mutex::new(());

/// The result of a run, and the notes in its provenance.
struct Outcome {
    run: Emulated,
    notes: String,
}

impl Outcome {
    fn value(&self, table: &str, flow: &str, column: &str) -> f64 {
        let value = self.run.report.value(table, flow, column);
        value.unwrap_or_else(|| panic!("{table}.{column} of {flow} has no value"))
    }

    fn sent(&self, flow: &str, column: &str) -> f64 {
        self.value("flow_source", flow, column)
    }

    fn delivered(&self, flow: &str, column: &str) -> f64 {
        self.value("flow_destination", flow, column)
    }
}

/// Runs a scenario and checks the outcome. Repeats a run that the machine disturbed.
fn test(name: &str, link: &str, seconds: u32, flows: &str, check: impl Fn(&Outcome)) {
    repeated(|| run(name, link, seconds, flows), |outcome| outcome.run.fidelity.reasons.clone(), check);
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn run(name: &str, link: &str, seconds: u32, flows: &str) -> Option<Outcome> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = Namespace::new() {
        skipped(format!("no network namespaces: {error}"));
        return None;
    }
    let text = format!(
        "name = \"t\"\nduration = \"{seconds} s\"\nrecord.traces = [\"tcp\", \"delivery\", \"datagram\"]\n\
         [[link]]\nname = \"sat\"\nfrom = \"a\"\nto = \"b\"\n{link}\n{flows}"
    );
    let folder = std::env::temp_dir().join(format!("bentpipe-traffic-{name}-{}", std::process::id()));
    let loaded =
        bentpipe_scenario::load::<Scenario>(Source::Text { name: "test", text: &text }, &presets::all(), &[])
            .unwrap();
    let before = open_files();
    let run = emulate(&loaded.value, &loaded.to_toml(), &folder, &Options::default(), &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(open_files(), before, "files are left open");
    let notes = std::fs::read_to_string(folder.join("provenance.json")).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    assert!(run.complete);
    Some(Outcome { run, notes })
}

fn flow(name: &str, ways: (&str, &str), app: &str, transport: &str) -> String {
    let (from, to) = ways;
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\napp = {{ {app} }}\ntransport = {{ {transport} }}\n"
    )
}

const THERE: (&str, &str) = ("a", "b");
const BACK: (&str, &str) = ("b", "a");
const LINK: &str = "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"";

#[test]
fn a_transfer_is_complete_when_its_last_byte_is_acknowledged() {
    let flows = flow("f", THERE, "kind = \"bulk\", size = \"500 kB\"", "kind = \"tcp\"");
    test("last-byte", LINK, 4, &flows, |run| {
        assert_eq!(run.delivered("f", "delivered_bytes"), 500e3);
        // 342 full segments and a short one. The kernel sends its SYN and FIN separately.
        assert_eq!(run.sent("f", "sent_packets"), 343.0);
        assert_eq!(run.sent("f", "retransmissions"), 0.0);
        // The acknowledgment of the last byte comes 50 ms after its delivery, plus the lateness of
        // this machine.
        let (last, completed) = (run.delivered("f", "last_delivery"), run.sent("f", "completed"));
        assert!(
            (0.049..0.090).contains(&(completed - last)),
            "delivered at {last} s, completed at {completed} s"
        );
    });
}

#[test]
fn transfers_in_both_directions_deliver_each_byte_once() {
    let sizes = [300_000, 1_000_000, 77_777, 1];
    let mut flows = String::new();
    for (number, size) in sizes.iter().enumerate() {
        let ways = if number % 2 == 0 { THERE } else { BACK };
        flows += &flow(
            &format!("f{number}"),
            ways,
            &format!("kind = \"bulk\", size = \"{size} B\""),
            "kind = \"tcp\"",
        );
    }
    let Some(run) = run("both", LINK, 6, &flows) else { return };
    for (number, size) in sizes.iter().enumerate() {
        let name = format!("f{number}");
        assert_eq!(run.delivered(&name, "delivered_bytes"), f64::from(*size), "{name}");
        assert_eq!(run.sent(&name, "sent_bytes"), f64::from(*size), "{name}");
        // At least three crossings of the path: SYN, SYN-ACK, data.
        assert!(run.delivered(&name, "last_delivery") >= 0.15, "{name}");
        assert!(run.sent(&name, "completed") >= 0.2, "{name}");
    }
}

#[test]
fn a_thousand_connections_at_once_deliver_their_bytes() {
    let mut flows = String::new();
    for number in 0..1000 {
        let ways = if number % 2 == 0 { THERE } else { BACK };
        flows += &flow(&format!("f{number}"), ways, "kind = \"bulk\", size = \"20 kB\"", "kind = \"tcp\"");
    }
    let Some(run) = run("thousand", "rate = \"100 Mbit/s\"\ndelay = \"20 ms\"", 15, &flows) else { return };
    for number in 0..1000 {
        let name = format!("f{number}");
        assert_eq!(run.delivered(&name, "delivered_bytes"), 20e3, "{name}");
        assert!(run.sent(&name, "completed") >= 0.08, "{name}");
    }
    println!("{:.2} s of processor time for 15 s", run.run.cost.cpu_seconds);
}

#[test]
fn a_receive_window_limits_a_flow_to_a_window_each_round_trip() {
    // A small window in small segments, and a window that takes several round trips to fill.
    for (window, segment) in [(64e3, 300), (1e6, 1460)] {
        let transport = format!("kind = \"tcp\", receive_window = \"{window} B\", segment_size = {segment}");
        let flows = flow("f", THERE, "kind = \"bulk\"", &transport);
        // The first window arrives in bursts that would overflow a queue of the default length.
        let link = "rate = \"150 Mbit/s\"\ndelay = \"50 ms\"\nqueue.kind = \"unlimited\"";
        test("window", link, 6, &flows, |run| {
            // One window per 100 ms. The first window is full after at most a second.
            let limit = window * (6.0 - 0.15) / 0.1;
            let delivered = run.delivered("f", "delivered_bytes");
            let range = 0.8 * limit..=1.02 * limit;
            assert!(
                range.contains(&delivered),
                "{delivered} bytes of at most {limit} with a window of {window}"
            );
        });
    }
}

#[test]
fn segments_have_the_configured_size_with_and_without_timestamps() {
    for (name, timestamps) in [("without", false), ("with", true)] {
        let transport = format!("kind = \"tcp\", segment_size = 1000, timestamps = {timestamps}");
        let flows = flow("f", THERE, "kind = \"bulk\", size = \"200 kB\"", &transport);
        let Some(run) = run(name, LINK, 3, &flows) else { return };
        assert_eq!(run.sent("f", "sent_packets"), 200.0, "{name} timestamps");
    }
}

#[test]
fn many_datagrams_arrive_once_after_the_delay_of_the_link() {
    // 20 000 datagrams a second for 3 s, in bursts of 4000, and a few datagrams without room for a
    // number.
    let bursts =
        "kind = \"cbr\", rate = \"16 Mbit/s\", datagram = \"100 B\", on = \"200 ms\", off = \"100 ms\"";
    let mut flows = flow("f", THERE, bursts, "kind = \"udp\"");
    flows +=
        &flow("small", BACK, "kind = \"cbr\", rate = \"8 kbit/s\", datagram = \"10 B\"", "kind = \"udp\"");
    test("datagrams", "rate = \"100 Mbit/s\"\ndelay = \"30 ms\"", 3, &flows, |run| {
        let (sent, delivered) = (run.sent("f", "sent_packets"), run.delivered("f", "delivered_packets"));
        assert!((39_990.0..=40_010.0).contains(&sent), "{sent} datagrams sent");
        assert_eq!(sent, delivered);
        assert_eq!(run.delivered("f", "delivered_bytes"), 100.0 * sent);
        // 128 bytes take 10 us after at least 30 ms.
        let delay = run.delivered("f", "delay_mean");
        assert!((0.030_010..0.040).contains(&delay), "mean delay {delay} s");
        assert!((296.0..=301.0).contains(&run.delivered("small", "delivered_packets")));
        assert_eq!(run.run.report.value("flow_destination", "small", "delay_mean"), None);
    });
}

#[test]
fn an_unanswered_connection_fails_and_is_in_the_notes() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nerror = { kind = \"packet\", probability = 1 }";
    let flows = flow("f", THERE, "kind = \"bulk\", size = \"1 kB\"", "kind = \"tcp\", syn_retries = 1");
    let Some(run) = run("nobody", link, 5, &flows) else { return };
    assert_eq!(run.run.report.value("flow_source", "f", "completed"), None);
    assert_eq!(run.value("tcp_connection", "f.source", "failure"), 2.0);
    assert!(run.notes.contains("timed out"), "{}", run.notes);
}

#[test]
fn an_application_measures_wrong_bytes_of_datagrams_from_real_sockets() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
                error = { kind = \"packet\", probability = 0.1, effect = \"valid-checksum\" }";
    let app = "kind = \"cbr\", rate = \"800 kbit/s\", datagram = \"1 kB\"";
    let Some(outcome) = run("measuring", link, 3, &flow("f", THERE, app, "kind = \"udp\"")) else { return };
    let measured = |column: &str| outcome.value("flow_datagrams", "f", column);
    // A tenth of 300, standard deviation 5. All arrive, except for those in flight at the end.
    let corrupted = measured("datagrams_corrupted");
    assert!((5.0..60.0).contains(&corrupted), "{corrupted}");
    assert_eq!((measured("datagrams_missing"), measured("datagrams_overtaken")), (0.0, 0.0));
}
