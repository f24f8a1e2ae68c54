//! Multicast flows: copies per link, losses per receiver, and balance of packets, by hand
//! calculation.

mod atm;

use crate::run::{scenario, value, Run};
use bentpipe_core::{math, Report};
use bentpipe_engine::presets;
use bentpipe_scenario::{load, Source};
use bentpipe_stage::Totals;
use proptest::prelude::*;

/// Ten datagrams of 1000 bytes: one every 100 ms for a second.
const TEN: &str = r#"app = { kind = "cbr", rate = "80 kbit/s", on = "1 s", off = "1000 s" }"#;

/// Runs a scenario to its end, and checks that every packet was delivered or dropped.
fn finished(text: &str) -> (Report, Totals) {
    let run = Run::new(&scenario(text), 1, 0).finished();
    let results = run.report();
    let mut network = run.network;
    let (totals, held) = (network.out().totals().clone(), network.held());
    let dropped: u64 = totals.dropped.values().map(|held| held.packets).sum();
    assert_eq!(totals.created.packets, totals.consumed.packets + dropped + held.packets, "in\n{text}");
    (results, totals)
}

/// Returns links between nodes, each with further keys.
fn links(ends: &[(&str, &str, &str)]) -> String {
    let link = |(from, to, more): &(&str, &str, &str)| {
        format!(
            "[[link]]\nname = \"{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Mbit/s\"\n\
             delay = \"10 ms\"\n{more}\n"
        )
    };
    ends.iter().map(link).collect()
}

/// s - r, r - a, r - b, r - c, c - d, with receivers a, b, c and d. A packet crosses each of the
/// five links once, so each carries 10 packets. Unicast flows would put 40 on s - r and 20 on
/// r - c. Router r makes two copies of a packet more, and router c one: 10 x (1 + 2 + 1) packets
/// are created, and the four receivers consume them all.
#[test]
fn each_link_of_a_tree_carries_one_copy() {
    let tree = [("s", "r", ""), ("r", "a", ""), ("r", "b", ""), ("r", "c", ""), ("c", "d", "")];
    let text = format!(
        "name = \"tree\"\nduration = \"3 s\"\n{}\n[[flow]]\nname = \"news\"\nfrom = \"s\"\nto = [\"a\", \"b\", \"c\", \"d\"]\n\
         transport = \"udp\"\n{TEN}\n",
        links(&tree)
    );
    let (report, totals) = finished(&text);
    for (from, to, _) in tree {
        assert_eq!(value(&report, "link", &format!("{from}-{to}"), "packets"), 10.0, "{from}-{to}");
    }
    for number in 1..=4 {
        assert_eq!(value(&report, "flow_destination", &format!("news{number}"), "delivered_packets"), 10.0);
    }
    assert_eq!((totals.created.packets, totals.consumed.packets), (40, 40));
    // A hop takes 1028 x 8 bit / 1 Mbit/s + 10 ms = 18.224 ms; d is three hops away, a two.
    assert!((value(&report, "flow_destination", "news4", "delay_max") - 3.0 * 0.018224).abs() < 1e-9);
    assert!((value(&report, "flow_destination", "news1", "delay_max") - 2.0 * 0.018224).abs() < 1e-9);
}

/// The forward link sends each of the ten packets once for three terminals: 10 x 1028 x 8 bit at 10
/// Mbit/s are 8.224 ms of a run of 3 s. Three unicast flows need three times this.
#[test]
fn a_star_transmits_a_packet_once_for_all_terminals() {
    let star =
        "preset = \"dvb-rcs\"\nnetwork.sat.terminals = [\"st1\", \"st2\", \"st3\"]\nduration = \"3 s\"\n";
    let flow = |name: &str, to: &str| {
        format!("[[flow]]\nname = \"{name}\"\nfrom = \"gw\"\nto = {to}\ntransport = \"udp\"\n{TEN}\n")
    };
    let (once, totals) = finished(&format!("name = \"star\"\n{star}{}", flow("news", "[\"st*\"]")));
    let forward = |report: &Report, column: &str| value(report, "link", "sat.forward", column);
    let data = |report: &Report| {
        (1..=3)
            .map(|number| value(report, "flow_destination", &format!("news{number}"), "delivered_packets"))
            .sum::<f64>()
    };
    assert_eq!(data(&once), 30.0);
    let (thrice, unicast) = finished(&format!("name = \"star\"\n{star}{}", flow("news", "\"st*\"")));
    assert_eq!(data(&thrice), 30.0);
    let transmission = 1028.0 * 8.0 / 10e6;
    let spared = (forward(&thrice, "utilisation") - forward(&once, "utilisation")) * 3.0;
    assert!((spared - 20.0 * transmission).abs() < 1e-9, "{spared} s");
    assert_eq!(forward(&thrice, "packets") - forward(&once, "packets"), 20.0);
    // The copies of the star count as created, so both runs create 30 packets of data.
    assert_eq!(totals.created.packets, unicast.created.packets);
}

/// A packet that is lost before it is copied is lost for every receiver behind the loss, and a copy
/// for its own receivers only. For each receiver, sent = delivered + lost.
#[test]
fn losses_count_for_every_receiver_behind_them() {
    let error = |probability: f64| format!("error = {{ kind = \"packet\", probability = {probability} }}");
    let (first, second) = (error(0.2), error(0.4));
    let tree = [("s", "r", &*first), ("r", "a", ""), ("r", "b", &*second)];
    let app = r#"app = { kind = "cbr", rate = "800 kbit/s", on = "10 s", off = "1000 s" }"#;
    let text = format!(
        "name = \"losses\"\nduration = \"12 s\"\n{}\n[[flow]]\nname = \"news\"\nfrom = \"s\"\nto = [\"a\", \"b\"]\n\
         transport = \"udp\"\n{app}\n",
        links(&tree)
    );
    let (report, _) = finished(&text);
    let sent = value(&report, "flow_source", "news1", "sent_packets");
    let of = |number: u32| {
        let name = format!("news{number}");
        (
            value(&report, "flow_destination", &name, "delivered_packets"),
            value(&report, "multicast", &name, "lost_copies"),
        )
    };
    assert_eq!(sent, 1000.0);
    let [(a, lost_a), (b, lost_b)] = [of(1), of(2)];
    assert_eq!([a + lost_a, b + lost_b], [sent, sent]);
    // 1000 x 0.2 and 1000 x (1 - 0.8 x 0.6), with standard deviations of 13 and 16.
    assert!((lost_a - 200.0).abs() < 52.0 && (lost_b - 520.0).abs() < 64.0, "{lost_a} {lost_b}");
    assert_eq!(value(&report, "link", "s-r", "error_drops"), lost_a);
}

/// Returns the message with which a scenario is refused.
fn refusal(text: &str) -> String {
    let source = Source::Text { name: "test.toml", text };
    match load::<bentpipe_engine::scenario::Scenario>(source, &presets::all(), &[]) {
        Ok(_) => panic!("accepted\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// Refusals, each with its place.
#[test]
fn multicast_is_refused_where_it_cannot_work() {
    let base = |flow: &str| {
        format!(
            "name = \"refused\"\nduration = \"1 s\"\n{}{flow}",
            links(&[("s", "r", ""), ("r", "a", ""), ("r", "b", "")])
        )
    };
    let flow = |keys: &str| format!("[[flow]]\nname = \"news\"\nfrom = \"s\"\n{keys}\n");
    let tcp = refusal(&base(&flow("to = [\"a\", \"b\"]\ntransport = \"tcp\"\napp = \"bulk\"")));
    assert!(tcp.contains("tcp is between two ends; allowed with multicast: udp and norm"), "{tcp}");
    let empty = refusal(&base(&flow(&format!("to = []\ntransport = \"udp\"\n{TEN}"))));
    assert!(empty.contains("the list is empty; allowed: one node or more"), "{empty}");
    let unknown = refusal(&base(&flow(&format!("to = [\"a\", \"x\"]\ntransport = \"udp\"\n{TEN}"))));
    assert!(unknown.contains("\"x\" is not a node of any link or network; allowed: a, b, r, s"), "{unknown}");
    let count = refusal(&base(&flow(&format!("to = [\"a\"]\ncount = 3\ntransport = \"udp\"\n{TEN}"))));
    assert!(count.contains("a multicast flow has one flow per receiver; allowed: unset"), "{count}");
    let wifi = format!(
        "name = \"refused\"\nduration = \"1 s\"\n[network.lan]\nkind = \"wifi\"\nstandard = \"802.11g\"\naccess_point = \"s\"\n\
         stations = [\"a\", \"b\"]\n{}",
        flow(&format!("to = [\"a\", \"b\"]\ntransport = \"udp\"\n{TEN}"))
    );
    let wifi = refusal(&wifi);
    assert!(wifi.contains("the network \"lan\" (wifi) on the way to its receivers"), "{wifi}");
}

/// Returns links from a source s over router r to receivers b1, b2, ..., each with the error
/// process `error` towards the receiver, and a NORM flow with `keys` to all of them.
fn star(receivers: usize, error: &str, size: &str, keys: &str) -> String {
    let mut text = "name = \"norm\"\nduration = \"60 s\"\n\
         [[link]]\nname = \"s-r\"\nfrom = \"s\"\nto = \"r\"\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n"
        .to_owned();
    text += &format!(
        "[[link]]\nname = \"r-{{}}\"\nfrom = \"r\"\nto = \"b{{}}\"\ncount = {receivers}\nrate = \"100 Mbit/s\"\n\
         delay = \"10 ms\"\nerror = {error}\nreturn = {{ rate = \"100 Mbit/s\", delay = \"10 ms\" }}\n\
         [[flow]]\nname = \"file\"\nfrom = \"s\"\nto = [\"b*\"]\napp = {{ kind = \"bulk\", size = \"{size}\" }}\n\
         transport = {{ kind = \"norm\", segment_size = 1000, grtt = \"100 ms\", {keys} }}\n"
    );
    text
}

/// Returns the mean number of transmissions of a segment until each of `receivers` receivers has
/// received it, if each transmission is lost with probability `loss` at each receiver,
/// independently: the sum over k of 1 - (1 - loss^k)^receivers.
fn transmissions(receivers: i32, loss: f64) -> f64 {
    (0..200).map(|k| 1.0 - (1.0 - loss.powi(k)).powi(receivers)).sum()
}

fn end(report: &Report, number: usize, column: &str) -> f64 {
    value(report, "norm", &format!("file{number}.destination"), column)
}

/// Twenty segments of 1000 bytes at 1 Mbit/s: a packet of 1048 bytes every 8.384 ms, in five blocks
/// of four. The link to b2 loses what arrives between 90 ms and 97 ms. A packet arrives 20 ms and
/// 2 x 0.08384 ms after its transmission, so this is segment 9, sent 9 x 8.384 = 75.46 ms after the
/// start: its arrival at 95.6 ms is the only one in the window. Segment 9 belongs to the third
/// block, and the next block begins with segment 12. The receiver sends exactly one NACK, for one
/// segment. The source sends exactly one repair, (K + 1) GRTT = 500 ms after the NACK has arrived,
/// with which the receiver completes.
#[test]
fn a_single_loss_gives_one_nack_and_one_repair() {
    let text = star(3, "\"none\"", "20 kB", "rate = \"1 Mbit/s\", block = 4")
        + "[[change]]\nat = \"90 ms\"\nset.link.r-2.error = { kind = \"packet\", probability = 1.0 }\n\
           [[change]]\nat = \"97 ms\"\nset.link.r-2.error = \"none\"\n";
    let (report, _) = finished(&text);
    assert_eq!(value(&report, "link", "r-2", "error_drops"), 1.0);
    assert_eq!([1, 2, 3].map(|number| end(&report, number, "nacks")), [0.0, 1.0, 0.0]);
    assert_eq!(value(&report, "norm", "file1.source", "nacks"), 1.0);
    assert_eq!(value(&report, "flow_source", "file1", "sent_packets"), 21.0);
    assert_eq!(value(&report, "flow_source", "file1", "retransmissions"), 1.0);
    assert_eq!(value(&report, "flow_source", "file1", "sent_bytes"), 20_000.0);
    for number in 1..=3 {
        assert_eq!(value(&report, "flow_destination", &format!("file{number}"), "delivered_bytes"), 20_000.0);
        // The others have one segment twice.
        assert_eq!(end(&report, number, "duplicates"), if number == 2 { 0.0 } else { 1.0 });
        assert_eq!(end(&report, number, "flushes"), value(&report, "norm", "file1.source", "flushes"));
    }
    // The last segment is sent at 19 x 8.384 ms and needs 20.168 ms to a receiver.
    let last = 19.0 * 0.008384 + 0.02 + 2.0 * 1048.0 * 8.0 / 100e6;
    assert!((end(&report, 1, "completed") - last).abs() < 1e-9);
    // Segment 12 is sent at 12 x 8.384 ms. A backoff of at most K GRTT = 400 ms follows, and the
    // way of the NACK, the aggregation, and the way of the repair.
    let earliest = 12.0 * 0.008384 + 0.02 + 0.02 + 0.5 + 0.02;
    let completed = end(&report, 2, "completed");
    assert!(completed > earliest && completed < earliest + 0.4 + 0.001, "{completed}");
}

/// All N receivers miss the same segment, which is lost on the common link, and begin their
/// backoffs at the same time. A receiver sends its NACK unless the advertisement of the first NACK
/// arrives earlier, d = 2 x 20 ms after that NACK. With the density f and the distribution F of the
/// backoff (RFC 5401), the mean number of NACKs is
///
/// ```text
/// N x integral of f(t) (1 - F(t - d))^(N - 1) dt
/// ```
///
/// The mean over 60 runs agrees within three standard errors. There is one repair in every run.
#[test]
fn advertisements_suppress_nacks_of_receivers_that_miss_the_same_segment() {
    const N: usize = 20;
    let text = star(N, "\"none\"", "20 kB", &format!("rate = \"1 Mbit/s\", block = 4, group_size = {N}"))
        + "[[change]]\nat = \"80 ms\"\nset.link.s-r.error = { kind = \"packet\", probability = 1.0 }\n\
           [[change]]\nat = \"87 ms\"\nset.link.s-r.error = \"none\"\n";
    let scenario = scenario(&text);
    let nacks: Vec<f64> = (0..60)
        .map(|run| {
            let report = crate::run::report(&scenario, run);
            assert_eq!(value(&report, "link", "s-r", "error_drops"), 1.0);
            assert_eq!(value(&report, "flow_source", "file1", "retransmissions"), 1.0);
            let of = |column| (1..=N).map(|number| end(&report, number, column)).sum::<f64>();
            assert_eq!(of("nacks") + of("suppressed"), N as f64);
            of("nacks")
        })
        .collect();
    let (t, d, l) = (0.4f64, 0.04, math::ln(N as f64) + 1.0);
    let distribution = |at: f64| (math::exp(l * at.clamp(0.0, t) / t) - 1.0) / (math::exp(l) - 1.0);
    let steps = 100_000;
    let expected: f64 = (0..steps)
        .map(|step| {
            let (from, to) =
                (f64::from(step) * t / f64::from(steps), f64::from(step + 1) * t / f64::from(steps));
            let density = distribution(to) - distribution(from);
            N as f64 * density * (1.0 - distribution((from + to) / 2.0 - d)).powi(N as i32 - 1)
        })
        .sum();
    let mean = nacks.iter().sum::<f64>() / nacks.len() as f64;
    let variance = nacks.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (nacks.len() - 1) as f64;
    let error = (variance / nacks.len() as f64).sqrt();
    assert!(
        (mean - expected).abs() < 3.0 * error,
        "{mean} NACKs, expected {expected}, standard error {error}"
    );
    assert!(expected < N as f64 / 4.0, "{expected}");
}

/// Ten receivers lose each packet with probability 0.1, independently. A segment is transmitted
///
/// ```text
/// 1 + (1 - 0.9^10) + (1 - 0.99^10) + (1 - 0.999^10) + ... = 1.758
/// ```
///
/// times on average. Every receiver gets all 2000 segments. The number of transmissions of a
/// segment has a standard deviation of about 0.63, which over 2000 segments is 0.014.
#[test]
fn segments_are_transmitted_as_often_as_the_equation_says() {
    let error = "{ kind = \"packet\", probability = 0.1 }";
    let (report, _) = finished(&star(10, error, "2 MB", "rate = \"8 Mbit/s\", group_size = 10, robust = 30"));
    for number in 1..=10 {
        assert_eq!(end(&report, number, "segments"), 2000.0, "receiver {number}");
    }
    let sent = value(&report, "flow_source", "file1", "sent_packets") / 2000.0;
    let expected = transmissions(10, 0.1);
    assert!((expected - 1.7576).abs() < 5e-4, "{expected}");
    assert!((sent - expected).abs() < 3.0 * 0.014, "{sent} for {expected}");
}

/// Terminals that cannot hear each other complete a file over a lossy forward link. A repair is one
/// transmission for all terminals.
#[test]
fn terminals_of_a_star_repair_a_file_over_the_return_link() {
    let text = "name = \"star\"\npreset = \"dvb-rcs\"\nduration = \"120 s\"\n\
        network.sat.terminals = [{ name = \"st\", count = 5 }]\n\
        network.sat.forward = { rate = \"10 Mbit/s\", error = { kind = \"packet\", probability = 0.02 } }\n\
        [[flow]]\nname = \"file\"\nfrom = \"gw\"\nto = [\"st*\"]\napp = { kind = \"bulk\", size = \"500 kB\" }\n\
        transport = { kind = \"norm\", rate = \"2 Mbit/s\", segment_size = 1000, grtt = \"2 s\", group_size = 5 }\n";
    let (report, _) = finished(text);
    for number in 1..=5 {
        assert_eq!(end(&report, number, "segments"), 500.0, "receiver {number}");
        let start = value(&report, "flow_source", "file1", "start");
        // 500 x 1048 x 8 bit at 2 Mbit/s take 2.1 s.
        assert!(end(&report, number, "completed") > start + 2.1);
    }
    let sent = value(&report, "flow_source", "file1", "sent_packets") / 500.0;
    let expected = transmissions(5, 0.02);
    // The standard deviation of a segment's transmissions is about 0.31, of the mean 0.014.
    assert!((sent - expected).abs() < 3.0 * 0.014, "{sent} for {expected}");
}

/// The equation in closed form: 1 / (1 - p) for one receiver; for two with p = 1/2, the sum of
/// 2 x 2^-k - 4^-k, which is 4 - 4/3.
#[test]
fn the_equation_of_transmissions_agrees_with_closed_forms() {
    assert!((transmissions(1, 0.1) - 1.0 / 0.9).abs() < 1e-9);
    assert!((transmissions(2, 0.5) - (4.0 - 4.0 / 3.0)).abs() < 1e-9);
    assert!((transmissions(100, 0.0) - 1.0).abs() < 1e-9);
}

/// Over a constellation each link carries a packet at most once: the links of the multicast flow
/// are those of the unicast flows together. Ten packets go up once, and down once to each receiver.
#[test]
fn satellites_copy_packets_where_the_paths_part() {
    let sites =
        [("london", 51.5, 0.0), ("boston", 42.3, -71.1), ("miami", 25.8, -80.2), ("tokyo", 35.7, 139.7)];
    let site = |(name, latitude, longitude): &(&str, f64, f64)| {
        format!(
            "[network.sky.sites.{name}]\nlatitude = \"{latitude} deg\"\nlongitude = \"{longitude} deg\"\n"
        )
    };
    let text = |to: &str| {
        let sites: String = sites.iter().map(site).collect();
        format!("name = \"sky\"\nduration = \"2 s\"\npreset = \"big-leo\"\n{sites}[[flow]]\nname = \"news\"\nfrom = \"london\"\nto = {to}\ntransport = \"udp\"\n{TEN}\n")
    };
    let carried = |report: &Report| -> std::collections::BTreeMap<String, f64> {
        let links = report.rows().iter().filter(|(table, ..)| table.name == "link");
        let all = links.map(|(_, entity, values)| (entity.clone(), values[0]));
        all.filter(|(_, packets)| *packets > 0.0).collect()
    };
    let (together, totals) = finished(&text("[\"boston\", \"miami\", \"tokyo\"]"));
    let mut alone = std::collections::BTreeMap::new();
    for receiver in ["boston", "miami", "tokyo"] {
        let (report, _) = finished(&text(&format!("\"{receiver}\"")));
        alone.extend(carried(&report));
    }
    assert_eq!(carried(&together), alone);
    assert!(alone.values().all(|packets| *packets == 10.0), "{alone:?}");
    assert!(alone.keys().any(|link| link == "sky.london.up"), "{alone:?}");
    for number in 1..=3 {
        assert_eq!(value(&together, "flow_destination", &format!("news{number}"), "delivered_packets"), 10.0);
    }
    // Each receiver consumes a copy.
    assert_eq!((totals.created.packets, totals.consumed.packets), (30, 30));
}

/// Satellites that hand over during the run: every copy is delivered, dropped with a reason or
/// held, and the losses of each receiver complete its deliveries.
#[test]
fn copies_survive_handovers_or_are_lost_with_a_reason() {
    let text = "name = \"sky\"\nduration = \"900 s\"\npreset = \"big-leo\"\n\
        [network.sky.handover]\npackets = \"lose\"\ninterruption = \"200 ms\"\n\
        [network.sky.sites.london]\nlatitude = \"51.5 deg\"\nlongitude = \"0 deg\"\n\
        [network.sky.sites.boston]\nlatitude = \"42.3 deg\"\nlongitude = \"-71.1 deg\"\n\
        [network.sky.sites.tokyo]\nlatitude = \"35.7 deg\"\nlongitude = \"139.7 deg\"\n\
        [[flow]]\nname = \"news\"\nfrom = \"london\"\nto = [\"boston\", \"tokyo\"]\ntransport = \"udp\"\n\
        app = { kind = \"cbr\", rate = \"160 kbit/s\", datagram = \"500 B\", on = \"890 s\", off = \"1000 s\" }\n";
    let (report, totals) = finished(text);
    let sent = value(&report, "flow_source", "news1", "sent_packets");
    for name in ["news1", "news2"] {
        let delivered = value(&report, "flow_destination", name, "delivered_packets");
        let lost = value(&report, "multicast", name, "lost_copies");
        assert_eq!(delivered + lost, sent, "{name}");
        assert!(lost > 0.0 && lost < 0.05 * sent, "{name} lost {lost} of {sent}");
    }
    assert!(totals.dropped.keys().any(|(_, reason)| reason.words() == "handover"));
}

/// With ACM and a margin of 1 dB, 12 dB and 3 dB allow 16APSK 3/4 (2.966728 bit per symbol, from
/// 10.21 dB) and QPSK 1/2 (0.988858, from 1.00 dB; EN 302 307-1, table 13). At 1 MBd a packet of
/// 1028 bytes takes 2.77 ms alone to the first terminal, and 8.32 ms to both. A terminal in an
/// outage does not slow the others down.
#[test]
fn with_acm_the_weakest_receiver_determines_the_modcod() {
    let text = |to: &str, fade: &str| {
        format!(
            "name = \"rain\"\npreset = \"dvb-rcs\"\nduration = \"3 s\"\n\
             network.sat.terminals = [{{ name = \"st1\", forward_esn0_db = 12.0 }}, {{ name = \"st2\", forward_esn0_db = 3.0 }}]\n\
             network.sat.forward = {{ rate = \"1 Mbit/s\", acm = {{ margin_db = 1.0, hysteresis_db = 0.0, esn0_db = 12.0{fade} }} }}\n\
             [[flow]]\nname = \"news\"\nfrom = \"gw\"\nto = {to}\ntransport = \"udp\"\n{TEN}\n"
        )
    };
    let delay = |report: &Report| value(report, "flow_destination", "news1", "delay_max") - 0.25;
    let time = |efficiency: f64| 1028.0 * 8.0 / (efficiency * 1e6);
    let (alone, _) = finished(&text("[\"st1\"]", ""));
    let (both, _) = finished(&text("[\"st1\", \"st2\"]", ""));
    let fade = ", fade = { samples = \"time,st2\\n0,30\\n\" }";
    let (outage, _) = finished(&text("[\"st1\", \"st2\"]", fade));
    // Plans take a part of a millisecond from the data.
    for (report, efficiency) in [(&alone, 2.966728), (&both, 0.988858), (&outage, 2.966728)] {
        assert!((delay(report) - time(efficiency)).abs() < 1e-3, "{} {}", delay(report), time(efficiency));
        assert_eq!(value(report, "flow_destination", "news1", "delivered_packets"), 10.0);
    }
    assert_eq!(value(&both, "flow_destination", "news2", "delivered_packets"), 10.0);
    assert_eq!(value(&outage, "flow_destination", "news2", "delivered_packets"), 0.0);
    assert_eq!(value(&outage, "multicast", "news2", "lost_copies"), 10.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Random trees with lossy links and short queues: each link carries at most the packets that
    /// the source has sent, and every receiver has delivered + lost = sent.
    #[test]
    fn every_packet_reaches_each_receiver_or_counts_as_lost_for_it(
        nodes in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, any::<bool>()), 2..10),
        ring in any::<bool>(),
    ) {
        let mut ends: Vec<(String, String, String)> = Vec::new();
        let mut receivers = Vec::new();
        for (index, (parent, losses, receives)) in nodes.iter().enumerate() {
            let probability = f64::from(*losses) / 10.0;
            let more = format!(
                "error = {{ kind = \"packet\", probability = {probability} }}\nqueue = {{ kind = \"drop-tail\", packets = 3 }}"
            );
            ends.push((format!("n{}", parent.index(index + 1)), format!("n{}", index + 1), more));
            if *receives || index == 0 {
                receivers.push(format!("\"n{}\"", index + 1));
            }
        }
        if ring {
            // A second path to the last node, of the same delay as many others.
            ends.push(("n0".to_owned(), format!("n{}", nodes.len()), String::new()));
        }
        let ends: Vec<(&str, &str, &str)> =
            ends.iter().map(|(from, to, more)| (&**from, &**to, &**more)).collect();
        // Links between the same nodes would have the same name.
        let mut names = std::collections::BTreeSet::new();
        let ends: Vec<_> = ends.into_iter().filter(|(from, to, _)| names.insert((*from, *to))).collect();
        let text = format!(
            "name = \"random\"\nduration = \"10 s\"\n{}[[flow]]\nname = \"news\"\nfrom = \"n0\"\nto = [{}]\n\
             transport = \"udp\"\napp = {{ kind = \"cbr\", rate = \"980 kbit/s\", on = \"1 s\", off = \"1000 s\" }}\n",
            links(&ends),
            receivers.join(", ")
        );
        let (report, _) = finished(&text);
        let sent = value(&report, "flow_source", "news1", "sent_packets");
        for (from, to, _) in &ends {
            let packets = value(&report, "link", &format!("{from}-{to}"), "packets");
            prop_assert!(packets <= sent);
        }
        for number in 1..=receivers.len() {
            let name = format!("news{number}");
            let delivered = report.value("flow_destination", &name, "delivered_packets").unwrap_or(0.0);
            prop_assert_eq!(delivered + value(&report, "multicast", &name, "lost_copies"), sent);
        }
    }
}
