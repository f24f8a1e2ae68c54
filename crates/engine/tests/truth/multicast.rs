//! Multicast flows: copies per link, losses per receiver, and balance of packets, by hand
//! calculation.

use crate::run::{scenario, value, Run};
use bentpipe_core::Report;
use bentpipe_engine::presets;
use bentpipe_scenario::{load, Source};
use bentpipe_stage::Totals;

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

/// Refusals, each with its place.
#[test]
fn multicast_is_refused_where_it_cannot_work() {
    let base = |flow: &str| {
        format!(
            "name = \"refused\"\nduration = \"1 s\"\n{}{flow}",
            links(&[("s", "r", ""), ("r", "a", ""), ("r", "b", "")])
        )
    };
    let refusal = |text: &str| match load::<bentpipe_engine::scenario::Scenario>(
        Source::Text { name: "test.toml", text },
        &presets::all(),
        &[],
    ) {
        Ok(_) => panic!("accepted\n{text}"),
        Err(error) => error.to_string(),
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
