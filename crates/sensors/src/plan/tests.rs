use super::{explained, place, Kind, Network, Placement, Plan};
use crate::query::parse;
use bentpipe_core::Span;

/// Returns a network in which m1 and m2 reach the sink through m3.
fn network() -> Network {
    Network {
        motes: ["m1", "m2", "m3"].map(str::to_owned).to_vec(),
        parents: vec![2, 2, 3],
        period: Span::from_millis(500),
        wait: Span::from_secs(1),
    }
}

fn planned(text: &str, placement: Placement) -> Plan {
    place(&parse(text, &network().motes).unwrap(), &network(), placement)
}

fn nodes(plan: &Plan, wanted: fn(&Kind) -> bool) -> Vec<usize> {
    plan.operators.iter().filter(|operator| wanted(&operator.kind)).map(|operator| operator.node).collect()
}

#[test]
fn paths_go_up_to_the_nearest_common_node_and_down() {
    let network = network();
    assert_eq!(network.path(0, 3), [0, 2, 3]);
    assert_eq!(network.path(0, 1), [0, 2, 1]);
    assert_eq!(network.path(3, 1), [3, 2, 1]);
    assert_eq!(network.path(2, 2), [2]);
}

/// Three motes send 2 measures/s of 25 bytes over 2, 2 and 1 hops. This takes 10 frames/s of 36
/// bytes.
#[test]
fn the_cost_of_shipping_matches_a_calculation_by_hand() {
    let text = "SELECT avg(light) FROM motes GROUP BY TUMBLE(time, 10)";
    let explained = explained(&planned(text, Placement::Nodes), &network());
    assert!((explained.shipped.messages_per_s - 10.0).abs() < 1e-9);
    assert!((explained.shipped.bytes_per_s - 360.0).abs() < 1e-9);
    // Each mote sends a partial average of 5 + 6 bytes every 10 s. m3 merges those of m1 and m2.
    assert!((explained.cost.messages_per_s - 0.3).abs() < 1e-9);
    assert!((explained.cost.bytes_per_s - 0.3 * 22.0).abs() < 1e-9);
    // A frame with 25 bytes of payload takes 1344 us. Of ten frames per second, motes send all, and
    // m3 receives four.
    let expected = (52.2 * (10.0 * 1344.0 + 4.0 * 352.0) + 56.4 * (10.0 * 672.0 + 4.0 * 1344.0)) * 1e-9;
    assert!((explained.shipped.power_w - expected).abs() < 1e-12, "{} {expected}", explained.shipped.power_w);
}

#[test]
fn conditions_and_aggregates_are_placed_at_the_motes() {
    let plan = planned(
        "SELECT node, max(audio) FROM motes WHERE light > 10 GROUP BY node, TUMBLE(time, 10)",
        Placement::Nodes,
    );
    assert_eq!(nodes(&plan, |kind| matches!(kind, Kind::Select { .. })), [0, 1, 2]);
    assert_eq!(nodes(&plan, |kind| matches!(kind, Kind::Aggregate { last: false })), [0, 1, 2]);
    assert_eq!(nodes(&plan, |kind| matches!(kind, Kind::Aggregate { last: true })), [3]);
    let plan = planned("SELECT light FROM m1 WHERE light > 10", Placement::Sink);
    assert_eq!(nodes(&plan, |kind| matches!(kind, Kind::Select { .. })), [3]);
}

/// m1 and m2 are joined at their common parent, which sends only the difference. A join of a mote
/// with itself runs on that mote.
#[test]
fn a_join_is_placed_where_the_fewest_bytes_are_sent() {
    let join = |kind: &Kind| matches!(kind, Kind::Join { .. });
    let text = "SELECT a.light - b.light FROM m1 a JOIN m2 b ON a.time = b.time";
    assert_eq!(nodes(&planned(text, Placement::Nodes), join), [2]);
    assert_eq!(nodes(&planned(text, Placement::Sink), join), [3]);
    let text =
        "SELECT a.light - b.light FROM m1 a JOIN m1 b ON abs(a.time - b.time) <= 0.5 WHERE a.light > b.light";
    assert_eq!(nodes(&planned(text, Placement::Nodes), join), [0]);
}

/// Each operator precedes its successors. Runs rely on this order.
#[test]
fn operators_precede_their_successors() {
    for text in [
        "SELECT * FROM motes",
        "SELECT avg(a.light - b.light) FROM motes a, m2 b WHERE a.time = b.time GROUP BY TUMBLE(time, 5)",
        "SELECT stddev(light) FROM motes GROUP BY HOP(time, 5, 10)",
    ] {
        let text =
            text.replace("TUMBLE(time", if text.contains("m2 b") { "TUMBLE(a.time" } else { "TUMBLE(time" });
        for placement in [Placement::Nodes, Placement::Sink] {
            let plan = planned(&text, placement);
            for (id, operator) in plan.operators.iter().enumerate() {
                assert!(operator.outputs.iter().all(|(to, _)| *to > id));
            }
            assert!(matches!(plan.operators.last().unwrap().kind, Kind::Deliver));
            assert_eq!(plan.check(), Ok(()));
        }
    }
}

/// The web page draws the graph from its JSON. The node of every operator, every successor and the
/// operator of every channel must exist.
#[test]
fn the_json_graph_has_no_missing_references() {
    let text = "SELECT node, avg(light) FROM motes WHERE audio > 3 GROUP BY node, TUMBLE(time, 10)";
    let graph = serde_json::to_value(explained(&planned(text, Placement::Nodes), &network())).unwrap();
    let list = |key: &str| graph[key].as_array().unwrap().clone();
    let names: Vec<_> = list("nodes").iter().map(|node| node["name"].clone()).collect();
    assert_eq!(names, ["m1", "m2", "m3", "sink"]);
    let count = list("operators").len() as u64;
    for operator in list("operators") {
        assert!(names.contains(&operator["node"]));
        assert!(operator["outputs"].as_array().unwrap().iter().all(|to| to.as_u64().unwrap() < count));
    }
    for channel in list("channels") {
        assert!(channel["operator"].as_u64().unwrap() < count);
        assert!(channel["path"].as_array().unwrap().iter().all(|node| names.contains(node)));
    }
    assert!(graph["cost"]["bytes_per_s"].as_f64() < graph["shipped"]["bytes_per_s"].as_f64());
}
