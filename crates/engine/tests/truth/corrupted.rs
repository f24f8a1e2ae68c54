//! Corrupted packets. A packet with a wrong checksum is dropped at its receiver. If the checksum is
//! valid, only the application can detect the error.

use crate::run::{results, scenario, Results};
use bentpipe_stage::Held;

/// Runs the scenario with these errors. Each flow has its own link: a lost acknowledgment changes
/// the times at which TCP sends, and on a shared link this would change the delays of the
/// datagrams.
fn run(error: &str) -> Results {
    results(&scenario(&format!(
        r#"
name = "corrupted"
duration = "40 s"
[[link]]
name = "l"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "50 ms"
error = {error}
[[link]]
name = "m"
from = "c"
to = "d"
rate = "2 Mbit/s"
delay = "50 ms"
error = {error}
[[flow]]
name = "tcp"
from = "a"
to = "b"
app = "bulk"
transport = {{ kind = "tcp", initial_sequence = 0 }}
[[flow]]
name = "udp"
from = "d"
to = "c"
app = {{ kind = "cbr", rate = "200 kbit/s", datagram = "500 B" }}
transport = "udp"
"#
    )))
}

/// Returns the results of the flows, without the counts of corrupted packets.
fn flows(results: &Results) -> Vec<(&'static str, String, Vec<u64>)> {
    let rows =
        results.report.iter().filter(|(table, ..)| table.starts_with("flow_") || *table == "tcp_connection");
    rows.cloned().collect()
}

/// Returns the numbers of packets with a wrong checksum and with wrong bytes, by direction.
fn corruption_counts(results: &Results) -> Vec<(String, [f64; 2])> {
    let rows = results.report.iter().filter(|(table, ..)| *table == "corrupted");
    rows.map(|(_, entity, values)| (entity.clone(), [0, 1].map(|at| f64::from_bits(values[at])))).collect()
}

/// Returns the packets dropped for a reason.
fn dropped(results: &Results, reason: &str) -> Held {
    let mut all = Held::default();
    for ((_, why), held) in results.totals.dropped.iter().filter(|((_, why), _)| why.words() == reason) {
        assert!(held.packets > 0, "{why:?}");
        all.packets += held.packets;
        all.bytes += held.bytes;
    }
    all
}

#[test]
fn a_wrong_checksum_is_a_loss_at_the_receiver() {
    let error = |effect| format!("{{ kind = \"packet\", probability = 0.02, effect = \"{effect}\" }}");
    let (lost, stale) = (run(&error("drop")), run(&error("stale-checksum")));
    assert_eq!((flows(&lost), &lost.traces), (flows(&stale), &stale.traces));
    assert_eq!(dropped(&lost, "channel error"), dropped(&stale, "wrong checksum"));
    assert_eq!((dropped(&stale, "channel error").packets, corruption_counts(&lost)), (0, Vec::new()));
    let rows = corruption_counts(&stale);
    let refused: f64 = rows.iter().map(|(_, [refused, _])| refused).sum();
    assert_eq!(refused as u64, dropped(&stale, "wrong checksum").packets);
    let names: Vec<_> = rows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tcp.reverse", "tcp", "udp"]);
    assert!(rows.iter().all(|(_, [_, delivered])| *delivered == 0.0));
}

#[test]
fn with_a_valid_checksum_only_the_application_detects_the_error() {
    let (good, valid) =
        (run("\"none\""), run("{ kind = \"bit\", rate = 2e-6, effect = \"valid-checksum\" }"));
    // Acknowledgments consist of headers only, so corrupted ones are lost.
    assert!(dropped(&valid, "channel error").packets > 0);
    let udp = |results: &Results| {
        let own = flows(results).into_iter().filter(|(_, entity, _)| entity == "udp");
        own.partition::<Vec<_>, _>(|(table, ..)| *table == "flow_datagrams")
    };
    let ((datagrams, others), (datagrams_good, others_good)) = (udp(&valid), udp(&good));
    assert_eq!(others, others_good);
    let measured =
        |rows: &[(_, _, Vec<u64>)]| rows[0].2.iter().map(|bits| f64::from_bits(*bits)).collect::<Vec<_>>();
    let ([_, overtaken, corrupted], [_, _, none]) =
        (measured(&datagrams)[..].try_into().unwrap(), measured(&datagrams_good)[..].try_into().unwrap());
    assert_eq!((overtaken, none), (0.0, 0.0));
    let rows = corruption_counts(&valid);
    // 40 s of 50 datagrams of 528 bytes: 2000 (1 - (1 - 2e-6)^4224) = 16.8, standard deviation 4.1.
    let (_, [refused, delivered]) = rows.iter().find(|(name, _)| name == "udp").unwrap();
    assert_eq!(corrupted, *delivered);
    assert!(*refused == 0.0 && (4.0..30.0).contains(delivered), "{rows:?}");
    let (_, [refused, delivered]) = rows.iter().find(|(name, _)| name == "tcp").unwrap();
    assert!(*refused == 0.0 && *delivered > 50.0, "{rows:?}");
}
