//! Multicast over the point-to-multipoint connections of an ATM network.

use super::{end, finished, refusal, TEN};
use crate::run::value;
use bentpipe_core::Report;
use proptest::prelude::*;

/// Ten datagrams of 12 bytes, one every 100 ms for a second. With headers of 28 bytes and a trailer
/// of 8 bytes, each takes one cell.
const TEN_CELLS: &str =
    r#"app = { kind = "cbr", rate = "960 bit/s", datagram = "12 B", on = "1 s", off = "1000 s" }"#;
/// One datagram of 12 bytes.
const ONE_CELL: &str =
    r#"app = { kind = "cbr", rate = "960 bit/s", datagram = "12 B", on = "100 ms", off = "1000 s" }"#;

/// Returns a network with connections between these nodes, each with its contract. A cell takes 10
/// us on the access lines, 100 us on the first leg and 50 us on the second, and propagation takes 1
/// ms, 10 ms and 5 ms. `access` and `leg` have further keys of the access lines and the first leg,
/// and `keys` further keys of the network.
fn network(connections: &[(&str, &str, &str)], access: &str, leg: &str, keys: &str) -> String {
    let connection = |(from, to, contract): &(&str, &str, &str)| {
        format!("ends = [\"{from}\", \"{to}\"], contract = {{ {contract} }}")
    };
    let others: Vec<String> =
        connections[1..].iter().map(|other| format!("{{ {} }}", connection(other))).collect();
    format!(
        "name = \"multicast\"\nduration = \"5 s\"\n[network.wan]\nkind = \"atm\"\nencapsulation = \"vc\"\n{}\n\
         access = {{ rate = \"42400 kbit/s\", delay = \"1 ms\"{access} }}\n\
         legs = [{{ rate = \"4240 kbit/s\", delay = \"10 ms\"{leg} }}, {{ rate = \"8480 kbit/s\", delay = \"5 ms\" }}]\n\
         others = [{}]\n{keys}\n",
        connection(&connections[0]).replace("], contract", "]\ncontract"),
        others.join(", ")
    )
}

/// Connections from s to a, b and c.
const STAR: [(&str, &str, &str); 3] = [("s", "a", ""), ("s", "b", ""), ("s", "c", "")];

fn flow(name: &str, from: &str, to: &str, keys: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = {to}\ntransport = \"udp\"\n{keys}\n")
}

/// Returns the cells that a leg or an access line has sent.
fn cells(report: &Report, leg: &str) -> f64 {
    value(report, "atm_leg", &format!("wan.{leg}"), "cells")
}

/// Returns the packets that entered a connection.
fn frames(report: &Report, connection: &str) -> f64 {
    value(report, "atm", &format!("wan.{connection}"), "frames")
}

/// Returns a column of the receivers `news1`, `news2`, ...
fn of_receivers<const COUNT: usize>(report: &Report, table: &str, column: &str) -> [f64; COUNT] {
    std::array::from_fn(|index| {
        report.value(table, &format!("news{}", index + 1), column).unwrap_or_default()
    })
}

fn delivered<const COUNT: usize>(report: &Report) -> [f64; COUNT] {
    of_receivers(report, "flow_destination", "delivered_packets")
}

fn lost<const COUNT: usize>(report: &Report) -> [f64; COUNT] {
    of_receivers(report, "multicast", "lost_copies")
}

/// Delay of a packet of 1028 bytes, or 22 cells, without Ethernet, in seconds: the first cell on
/// the first access line (10 us + 1 ms), all cells on the slowest leg (22 x 100 us + 10 ms), and
/// the last cell on the second leg (50 us + 5 ms) and the second access line (10 us + 1 ms).
const DELAY: f64 = 0.019270;

/// Receivers a and d behind the leaf a, and the leaves b and c. Each packet takes 22 cells once on
/// every shared leg and on the first access line, and once on the access line of each leaf. The
/// last switch makes two copies more, and the router of a one: 10 x (1 + 2 + 1) packets are
/// created. An Ethernet segment sends 1028 + 38 bytes at 10 Mbit/s in 852.8 us.
#[test]
fn a_cell_passes_each_shared_leg_once_and_is_copied_at_the_last_switch() {
    let link = "[[link]]\nname = \"a-d\"\nfrom = \"a\"\nto = \"d\"\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n";
    let receivers = r#"["a", "b", "c", "d"]"#;
    for lan in [false, true] {
        let keys = if lan { "lan = \"10 Mbit/s\"\n" } else { "" };
        let text = network(&STAR, "", "", keys) + link + &flow("news", "s", receivers, TEN);
        let (report, totals) = finished(&text);
        let [near, first, second] = ["forward.near", "forward.1", "forward.2"].map(|leg| cells(&report, leg));
        assert_eq!([near, first, second], [220.0; 3]);
        let far = ["forward.far", "forward.2.far", "forward.3.far"].map(|leg| cells(&report, leg));
        assert_eq!(far, [220.0; 3]);
        assert_eq!(["forward", "forward.2", "forward.3"].map(|name| frames(&report, name)), [10.0, 0.0, 0.0]);
        assert_eq!(delivered(&report), [10.0; 4]);
        assert_eq!((totals.created.packets, totals.consumed.packets), (40, 40));
        let delay = DELAY + if lan { 2.0 * 0.0008528 } else { 0.0 };
        // The link to d adds 1028 x 8 bit at 1 Mbit/s and 10 ms.
        let expected = [delay, delay, delay, delay + 0.018224];
        for column in ["delay_mean", "delay_max"] {
            let delays: [f64; 4] = of_receivers(&report, "flow_destination", column);
            let differences = delays.iter().zip(expected).map(|(delay, expected)| (delay - expected).abs());
            assert!(differences.fold(0.0, f64::max) < 1e-9, "{delays:?} for {expected:?}");
        }
    }
}

/// Receivers b and d behind the leaf b: the packets travel in the connection to b, as unicast
/// packets.
#[test]
fn a_single_leaf_needs_no_copy() {
    let link = "[[link]]\nname = \"b-d\"\nfrom = \"b\"\nto = \"d\"\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n";
    let text = network(&STAR, "", "", "") + link + &flow("news", "s", r#"["b", "d"]"#, TEN);
    let (report, totals) = finished(&text);
    assert_eq!(["forward", "forward.2", "forward.3"].map(|name| frames(&report, name)), [0.0, 10.0, 0.0]);
    assert_eq!(["forward.near", "forward.2.near"].map(|leg| cells(&report, leg)), [0.0, 220.0]);
    assert_eq!(delivered(&report), [10.0; 2]);
    assert_eq!((totals.created.packets, totals.consumed.packets), (20, 20));
}

/// From x over the hub h to y and z: the packets cross the network twice. From h on, the first
/// connection of h carries them, although it leads to x. The packets for h and those for y and z
/// are two copies of the router of h, and the last switch makes a third.
#[test]
fn a_group_may_cross_the_network_twice() {
    let hub = [("h", "x", ""), ("h", "y", ""), ("h", "z", "")];
    let text = network(&hub, "", "", "") + &flow("news", "x", r#"["h", "y", "z"]"#, TEN);
    let (report, totals) = finished(&text);
    assert_eq!(["back", "forward"].map(|name| frames(&report, name)), [10.0, 10.0]);
    assert_eq!(["back.1", "back.2", "forward.1", "forward.2"].map(|leg| cells(&report, leg)), [220.0; 4]);
    let far = ["forward.far", "forward.2.far", "forward.3.far"].map(|leg| cells(&report, leg));
    assert_eq!(far, [0.0, 220.0, 220.0]);
    assert_eq!(delivered(&report), [10.0; 3]);
    assert_eq!((totals.created.packets, totals.consumed.packets), (30, 30));
    // On the way back, the cells pass the same lines in reverse order.
    let delays: [f64; 3] = of_receivers(&report, "flow_destination", "delay_max");
    for (delay, expected) in delays.iter().zip([DELAY, 2.0 * DELAY, 2.0 * DELAY]) {
        assert!((delay - expected).abs() < 1e-9, "{delay} for {expected}");
    }
}

/// Node b is the second node of one connection and the first node of another, so its packets pass
/// the legs in both directions.
#[test]
fn a_root_sends_one_copy_in_each_direction() {
    let chain = [("a", "b", ""), ("b", "c", "")];
    let text = network(&chain, "", "", "") + &flow("news", "b", r#"["a", "c"]"#, TEN);
    let (report, totals) = finished(&text);
    assert_eq!(["back", "forward.2"].map(|name| frames(&report, name)), [10.0, 10.0]);
    assert_eq!(delivered(&report), [10.0; 2]);
    assert_eq!((totals.created.packets, totals.consumed.packets), (20, 20));
}

/// The fourth cell on the first leg is lost for all receivers, as one packet. The eleventh cell on
/// an access line is lost. Only the access line of b carries so many: first the cell of a unicast
/// packet, and then the nine cells of the other packets and a last unicast cell.
#[test]
fn a_loss_counts_for_the_receivers_behind_it() {
    let list = |cell: u32| format!(", error = {{ kind = \"list\", packets = [{cell}] }}");
    let news = flow("news", "s", r#"["a", "b", "c"]"#, &format!("start = \"1 s\"\n{TEN_CELLS}"));
    let (report, totals) = finished(&(network(&STAR, "", &list(4), "") + &news));
    assert_eq!((delivered(&report), lost(&report)), ([9.0; 3], [1.0; 3]));
    // Nine packets with two copies each, and one packet that was lost before it was copied.
    assert_eq!((totals.created.packets, totals.consumed.packets), (28, 27));
    assert_eq!(value(&report, "atm", "wan.forward", "lost"), 1.0);

    let before = flow("before", "s", "\"b\"", ONE_CELL);
    let (report, totals) = finished(&(network(&STAR, &list(11), "", "") + &before + &news));
    assert_eq!((delivered(&report), lost(&report)), ([10.0, 9.0, 10.0], [0.0, 1.0, 0.0]));
    assert_eq!((totals.created.packets, totals.consumed.packets), (31, 30));
    let lost = ["forward", "forward.2"].map(|name| value(&report, "atm", &format!("wan.{name}"), "lost"));
    assert_eq!(lost, [0.0, 1.0]);
}

/// Frames of 22 cells. If the last cell of the first packet is lost on the first leg, each leaf
/// merges the frame with the next one of the same virtual channel. A unicast packet in the
/// connection that shares its adapter has its own channel.
#[test]
fn frames_are_reassembled_by_virtual_channel() {
    let leg = ", error = { kind = \"list\", packets = [22] }";
    let news = |start: &str| flow("news", "s", r#"["a", "b", "c"]"#, &format!("start = \"{start}\"\n{TEN}"));
    let (report, _) = finished(&(network(&STAR, "", leg, "") + &news("0 s")));
    assert_eq!((delivered(&report), lost(&report)), ([8.0; 3], [2.0; 3]));
    let merged = ["forward", "forward.2", "forward.3"];
    assert_eq!(merged.map(|name| value(&report, "atm", &format!("wan.{name}"), "merged")), [1.0; 3]);

    let one = flow("one", "s", "\"a\"", &TEN.replace("1 s", "100 ms"));
    let (report, _) = finished(&(network(&STAR, "", leg, "") + &one + &news("1 s")));
    assert_eq!((delivered(&report), lost(&report)), ([10.0; 3], [0.0; 3]));
    assert_eq!(value(&report, "atm", "wan.forward", "lost"), 1.0);
}

/// The contract and the category of the first connection apply. A cell in 1 ms conforms, so the
/// policer discards the second cell of each packet, before the copies. With shaping, the last cell
/// of a packet leaves the adapter 21 ms after the first. In the second network, the categories
/// differ, so that ports serve them by priority.
#[test]
fn the_contract_of_the_first_connection_applies() {
    let news = flow("news", "s", r#"["b", "c"]"#, TEN);
    for other in ["category = \"cbr\", peak = \"4 Mbit/s\"", "category = \"ubr\""] {
        let run = |shaping: bool| {
            let first = format!("category = \"cbr\", peak = \"424 kbit/s\", shaping = {shaping}");
            let connections = [("s", "a", &*first), ("s", "b", other), ("s", "c", other)];
            finished(&(network(&connections, "", "", "") + &news))
        };
        let (policed, totals) = run(false);
        assert_eq!((delivered(&policed), lost(&policed)), ([0.0; 2], [10.0; 2]));
        assert_eq!((totals.created.packets, totals.consumed.packets), (10, 0));
        assert_eq!(value(&policed, "atm", "wan.forward", "discarded"), 210.0);
        let (shaped, totals) = run(true);
        assert_eq!(delivered(&shaped), [10.0; 2]);
        assert_eq!((totals.created.packets, totals.consumed.packets), (20, 20));
        // The last cell: 21 ms in the shaper, 10 us, 100 us, 50 us and 10 us on lines, and 17 ms.
        let delays: [f64; 2] = of_receivers(&shaped, "flow_destination", "delay_max");
        assert!(delays.iter().all(|delay| (delay - 0.038170).abs() < 1e-9), "{delays:?}");
    }
}

/// Cells of ABR are not copied, since the RM cells of several leaves would need consolidation. A
/// single leaf needs no copy.
#[test]
fn abr_is_refused_with_several_leaves() {
    let abr = "category = \"abr\", peak = \"2 Mbit/s\"";
    let network = |first, second| network(&[("s", "a", first), ("s", "b", second)], "", "", "");
    let news = |receivers: &str| flow("news", "s", receivers, TEN);
    let reason = refusal(&(network(abr, "") + &news(r#"["a", "b"]"#)));
    assert!(reason.contains("the network \"wan\" (atm) on the way to its receivers can copy"), "{reason}");
    assert!(reason.contains("but not of abr"), "{reason}");
    let (single, _) = finished(&(network(abr, "") + &news(r#"["a"]"#)));
    let (second, _) = finished(&(network("", abr) + &news(r#"["a", "b"]"#)));
    assert_eq!(delivered(&single), [10.0]);
    assert_eq!(delivered(&second), [10.0; 2]);
}

/// Cells are lost on the first leg for all receivers, and on each access line for one receiver. The
/// source repairs both.
#[test]
fn norm_repairs_losses_before_and_after_the_copies() {
    let error = ", error = { kind = \"packet\", probability = 5e-4 }";
    let text = network(&STAR, error, error, "").replace("5 s", "120 s")
        + "[[flow]]\nname = \"file\"\nfrom = \"s\"\nto = [\"a\", \"b\", \"c\"]\napp = { kind = \"bulk\", size = \"500 kB\" }\n\
           transport = { kind = \"norm\", rate = \"2 Mbit/s\", segment_size = 1000, grtt = \"200 ms\", group_size = 3 }\n";
    let (report, _) = finished(&text);
    let lost = [1, 2, 3].map(|number| value(&report, "multicast", &format!("file{number}"), "lost_copies"));
    let common = value(&report, "atm_leg", "wan.forward.1", "corrupted");
    // Segments take 22 cells, so that most frames with a wrong cell have just one. Each receiver
    // loses more than the common losses.
    assert!(common > 0.0 && lost.iter().all(|lost| *lost > common), "{common} {lost:?}");
    for number in 1..=3 {
        assert_eq!(end(&report, number, "segments"), 500.0, "receiver {number}");
    }
    assert!(
        value(&report, "flow_source", "file1", "retransmissions") >= lost.into_iter().fold(0.0, f64::max)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Random losses, buffers, frame discard and categories, with a unicast flow over each
    /// connection: every receiver has delivered + lost = sent, and packets are conserved.
    #[test]
    fn every_packet_reaches_each_leaf_or_counts_as_lost_for_it(
        categories in prop::collection::vec(0..3usize, 4), receivers in prop::sample::subsequence(vec!["a", "b", "c", "d"], 1..=4),
        losses in 0..4u32, buffer in 20..200u32, early in any::<bool>(), partial in any::<bool>(),
    ) {
        let contracts = [
            "category = \"ubr\"",
            "category = \"cbr\", peak = \"3 Mbit/s\", tolerance = \"1 ms\"",
            "category = \"vbr\", peak = \"42 Mbit/s\", sustainable = \"1 Mbit/s\", burst = 50, excess = \"tag\"",
        ];
        let connections: Vec<_> =
            ["a", "b", "c", "d"].into_iter().zip(&categories).map(|(to, category)| ("s", to, contracts[*category])).collect();
        let error = format!(", error = {{ kind = \"packet\", probability = {} }}", f64::from(losses) / 200.0);
        let early = if early { ", early = 15" } else { "" };
        let leg = format!("{error}, buffer = {buffer}, low_priority = 10, partial = {partial}{early}");
        let app = r#"app = { kind = "cbr", rate = "1 Mbit/s", on = "1 s", off = "1000 s" }"#;
        let unicast: String = ["a", "b", "c", "d"].into_iter().map(|to| flow(to, "s", &format!("\"{to}\""), app)).collect();
        let list = format!("{receivers:?}");
        let (report, _) = finished(&(network(&connections, &error, &leg, "") + &flow("news", "s", &list, app) + &unicast));
        let sent = value(&report, "flow_source", "news1", "sent_packets");
        let (delivered, lost): ([f64; 4], [f64; 4]) = (delivered(&report), lost(&report));
        for number in 0..receivers.len() {
            prop_assert_eq!(delivered[number] + lost[number], sent);
        }
    }
}
