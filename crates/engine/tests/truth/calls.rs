//! Calls between exchanges: blocking by Erlang's B formula, set-up times, and reasons of failures.

use crate::run::{untraced, Run};
use bentpipe_core::Report;
use bentpipe_transport::app::calls::blocking;

fn text(duration: &str, error: &str, app: &str, transport: &str) -> String {
    format!(
        r#"
name = "calls"
duration = "{duration}"
link = [{{ name = "l", from = "a", to = "b", rate = "10 Mbit/s", delay = "200 ms"{error} }}]
[[flow]]
name = "f"
from = "a"
to = "b"
app = {{ kind = "calls", {app} }}
transport = {transport}
"#
    )
}

const TRANSPORTS: [&str; 3] =
    [r#""sip""#, r#""iax2""#, r#"{ kind = "iax2", trunk = "20 ms", timestamps = true }"#];

/// The offered load is 5 erlangs on 8 lines. A call occupies its line for a round trip, the
/// ringing, and the holding time.
#[test]
fn calls_are_blocked_as_by_erlang_b() {
    let cases = [
        ("200000 s", r#"load = 5, holding = "20 s", lines = 8, local = 1"#, 5.0, 5e4),
        (
            "8000 s",
            r#"load = 5, holding = "20 s", lines = 8, answer = "0 s", codec = "G.729A", frames = 16"#,
            5.0 * 20.4 / 20.0,
            2e3,
        ),
    ];
    for (duration, app, load, calls) in cases {
        for transport in TRANSPORTS {
            let run = Run::new(&untraced(&text(duration, "", app, transport)), 1, 0).finished();
            let report = run.report();
            let value = |column| report.value("calls", "f.source", column).unwrap();
            let expected = blocking(load, 8);
            let share = value("blocked") / value("attempts");
            // Blocked calls come in clusters, so the share has about twice the standard deviation
            // of independent calls. The tolerance is four of these deviations.
            let error = 8.0 * (expected * (1.0 - expected) / calls).sqrt();
            assert!(value("attempts") > 0.9 * calls, "{transport}: {}", value("attempts"));
            assert!(
                (share - expected).abs() < error,
                "{transport} {app}: {share}, expected {expected} +- {error}"
            );
        }
    }
}

/// Over a path without loss, a call rings after a round trip and is answered a second later. Both
/// ends receive all speech.
#[test]
fn a_call_is_set_up_in_a_round_trip_and_heard_at_both_ends() {
    for transport in TRANSPORTS {
        let app = r#"calls = 3, answer = "1 s", codec = "GSM-FR""#;
        let run = Run::new(&untraced(&text("60 s", "", app, transport)), 1, 0).finished();
        let report = run.report();
        for end in ["f.source", "f.destination"] {
            let value = |column| report.value("calls", end, column).unwrap();
            assert_eq!(
                (value("attempts"), value("answered"), value("failed")),
                (3.0, 3.0, 0.0),
                "{transport} {end}"
            );
            assert_eq!((value("loss"), value("late")), (0.0, 0.0), "{transport} {end}");
            // The delay is the sum of 200 ms of propagation, 20 ms to fill a packet, 60 ms in the
            // playout buffer, and up to 20 ms for a trunk frame.
            let delay = value("delay_mean");
            assert!((0.28..0.305).contains(&delay), "{transport} {end}: {delay}");
            assert!(value("mos_mean") > 2.0, "{transport} {end}");
        }
        let ringing = report.value("calls", "f.source", "post_dial_delay_mean").unwrap();
        assert!((0.4..0.41).contains(&ringing), "{transport}: {ringing}");
        let answered = report.value("calls", "f.source", "answer_mean").unwrap();
        assert!((1.4..1.41).contains(&answered), "{transport}: {answered}");
        assert_eq!(report.value("calls", "f.source", "retransmissions"), Some(0.0), "{transport}");
        // All packets arrive, except those in flight at the end.
        let sent = report.value("flow_source", "f", "sent_bytes").unwrap();
        let delivered = report.value("flow_destination", "f", "delivered_bytes").unwrap();
        assert!((0.98 * sent..=sent).contains(&delivered), "{transport}: {delivered} of {sent}");
    }
}

/// A call is refused if the destination has no free line. It is not answered if there is no path.
/// The row of the call contains the reason.
#[test]
fn a_failed_call_reports_its_reason() {
    let app = r#"calls = 2, load = 4, holding = "20 s", lines = 4"#;
    for (transport, busy, silence) in [(TRANSPORTS[0], 486.0, 408.0), (TRANSPORTS[1], 17.0, 102.0)] {
        let mut scenario = crate::run::scenario(&text("300 s", "", app, transport));
        scenario.record.traces = vec!["call".to_owned()];
        let results = Run::new(&scenario, 1, 0).finished().results();
        let rows = &results.traces["call"];
        assert!(
            rows.iter().any(|row| row.entity == "f.source" && row.values[1] == 0.0),
            "{transport}: none blocked"
        );
        assert!(rows.iter().all(|row| row.values[1] != 1.0 || row.values[2] == busy), "{transport}");
        let dead = r#", error = { kind = "packet", probability = 1 }"#;
        let mut scenario = crate::run::scenario(&text("100 s", dead, "calls = 1", transport));
        scenario.record.traces = vec!["call".to_owned()];
        let results = Run::new(&scenario, 1, 0).finished().results();
        let row = &results.traces["call"][0];
        assert_eq!((&*row.entity, row.values[1], row.values[2]), ("f.source", 1.0, silence), "{transport}");
    }
}

/// With signalling over TCP, the first call waits for the connection, and later calls find it open.
/// TCP repairs the losses, so every call is set up, and both ends count the same calls.
#[test]
fn calls_over_tcp_share_a_connection() {
    let tcp = r#"{ kind = "sip", over = "tcp" }"#;
    let app = r#"calls = 1, load = 2, holding = "10 s", answer = "1 s", codec = "G.729A""#;
    let mut scenario = crate::run::scenario(&text("300 s", "", app, tcp));
    scenario.record.traces = vec!["call".to_owned()];
    let results = Run::new(&scenario, 1, 0).finished().results();
    let mut later = 0;
    for row in results.traces["call"].iter().filter(|row| &*row.entity == "f.source" && row.values[1] != 4.0)
    {
        // A round trip takes 400 ms: one for the connection, one for INVITE and 180.
        let (number, ringing) = (row.values[0], row.values[4]);
        let expected = if number == 1.0 { 0.8 } else { 0.4 };
        assert!((expected..expected + 0.01).contains(&ringing), "call {number}: {ringing}");
        later += u32::from(number > 1.0);
    }
    assert!(later > 30, "{later}");

    let lossy = r#", error = { kind = "packet", probability = 0.1 }"#;
    for seed in 1..=3 {
        let run = Run::new(&untraced(&text("600 s", lossy, app, tcp)), seed, 0).finished();
        let report = run.report();
        let value = |end, column| report.value("calls", end, column).unwrap();
        let [source, destination] = ["f.source", "f.destination"].map(|end| value(end, "answered"));
        assert!(source > 80.0 && (0.0..=2.0).contains(&(destination - source)), "{source} {destination}");
        assert_eq!(value("f.source", "failed"), 0.0);
        assert!(value("f.source", "retransmissions") > 20.0);
        // The loss of speech equals the loss of the link.
        assert!((value("f.source", "loss") - 0.1).abs() < 0.01);
    }
}

/// A call over a dead path is not answered with TCP either: the time-out of SIP ends the call.
#[test]
fn sip_gives_up_a_call_over_tcp_without_a_path() {
    let dead = r#", error = { kind = "packet", probability = 1 }"#;
    let tcp = r#"{ kind = "sip", over = "tcp" }"#;
    let mut scenario = crate::run::scenario(&text("400 s", dead, "calls = 1", tcp));
    scenario.record.traces = vec!["call".to_owned()];
    let results = Run::new(&scenario, 1, 0).finished().results();
    let [row] = &results.traces["call"][..] else { panic!("one call") };
    assert_eq!((row.values[1], row.values[2], row.time), (1.0, 408.0, 32_000_000_000));
}

/// Runs a conference for 100 s at the gateway, which the parties call at the start without silence
/// suppression over links of their own. A party has a name, further keys of its app, and a
/// transport.
fn conference(link: &str, parties: &[(&str, &str, &str)]) -> Report {
    let party = |(name, keys, transport): &(&str, &str, &str)| {
        format!(
            r#"
[[link]]
name = "l-{name}"
from = "{name}"
to = "gw"
{link}
[[flow]]
name = "{name}"
from = "{name}"
to = "gw"
app = {{ kind = "calls", calls = 1, answer = "0 s", suppression = false{keys} }}
transport = "{transport}"
"#
        )
    };
    let parties: String = parties.iter().map(party).collect();
    let text = format!(
        "name = \"conference\"\nduration = \"100 s\"\nservice = [{{ name = \"c\", node = \"gw\", role = \"bridge\" }}]\n{parties}"
    );
    Run::new(&untraced(&text), 1, 0).finished().report()
}

/// A party with GSM (packets of 20 ms) and one with iLBC (30 ms) meet at a bridge, which mixes
/// frames of 10 ms. Both links have a delay of 100 ms and no queue worth mentioning, and the
/// de-jitter buffer holds packets for 60 ms.
///
/// Packets: without silence suppression, the bridge answers 100 ms after the call and then sends
/// 1000 / 20 = 50 and 1000 / 30 = 33.33 packets per second until the end.
///
/// Delay: a frame is mixed at the next multiple of 10 ms after its playout. The speech of the GSM
/// party then waits for the next multiple of 30 ms: it is played every 20 ms at a fixed phase, so
/// the wait is 0, 20 or 10 ms in turn, 10 ms on average. The speech of the iLBC party, every 30 ms,
/// waits for the next multiple of 20 ms: 0 or 10 ms, 5 ms on average. Over 50 and 33.33 packets per
/// second, this is (50 x 10 + 33.33 x 5) / 83.33 = 8 ms. The wait for the mix is 0 to 10 ms for
/// each party.
#[test]
fn a_bridge_mixes_packets_of_different_durations() {
    let conference = |codecs: [&str; 2]| {
        let link = "rate = \"100 Mbit/s\"\ndelay = \"100 ms\"";
        let [a, b] = codecs.map(|codec| format!(r#", codec = "{codec}""#));
        conference(link, &[("a", &a, "sip"), ("b", &b, "sip")])
    };
    let report = conference(["GSM-FR", "iLBC-30"]);
    for (name, packets) in [("a", 50.0), ("b", 1000.0 / 30.0)] {
        let value = |column| report.value("calls", &format!("{name}.source"), column).unwrap();
        assert_eq!((value("answered"), value("loss"), value("late")), (1.0, 0.0, 0.0), "{name}");
        let sent = report.value("flow_source", &format!("{name}.reverse"), "sent_packets").unwrap();
        // Signalling takes a few packets.
        assert!((sent - packets * 99.9).abs() <= 4.0, "{name}: {sent}");
    }
    let wait = |report: &Report| report.value("bridge", "c", "delay_mean").unwrap();
    let mixed = wait(&report);
    assert!((0.068..=0.0785).contains(&mixed), "{mixed}");
    // With one duration, the additional wait is zero.
    let equal = wait(&conference(["GSM-FR", "GSM-FR"]));
    assert!((0.06..=0.0801).contains(&equal), "{equal}");
}

/// Three parties behind separate links are mixed at the gateway. Each party gets one stream,
/// regardless of the number of parties.
#[test]
fn a_bridge_sends_one_stream_to_each_party() {
    let link = "rate = \"1 Mbit/s\"\ndelay = \"250 ms\"";
    let report = conference(link, &[("a", "", "sip"), ("b", "", "sip"), ("d", "", "iax2")]);
    assert_eq!(report.value("bridge", "c", "parties"), Some(3.0));
    // A packet waits for 60 ms in the buffer, and for at most 20 ms until the next mix.
    let wait = report.value("bridge", "c", "delay_mean").unwrap();
    assert!((0.06..=0.0801).contains(&wait), "{wait}");
    for name in ["a", "b", "d"] {
        let value = |column| report.value("calls", &format!("{name}.source"), column).unwrap();
        assert_eq!((value("answered"), value("loss"), value("late")), (1.0, 0.0, 0.0), "{name}");
        // The bridge answers 250 ms after the start, and then sends 50 packets per second.
        let back = report.value("flow_source", &format!("{name}.reverse"), "sent_packets").unwrap();
        assert!((back - 50.0 * 99.75).abs() <= 3.0, "{name}: {back}");
    }
}
