//! The picture of a scenario's network: nodes and edges, each with the key path of its entity.

use crate::scenario::Scenario;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Minimum size of a group of terminals that is drawn as one node. Smaller groups are drawn
/// terminal by terminal.
const MIN_GROUP: u64 = 9;

/// The nodes and edges of a picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// The nodes of the scenario, its networks, and its groups of terminals.
    pub nodes: Vec<Node>,
    /// Links, and connections of nodes to networks.
    pub edges: Vec<Edge>,
    /// The node at which the data of the first flow starts.
    pub first: Option<String>,
}

/// A node of a picture: a node of the scenario, a network, or a group of terminals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// Identifier, to which edges refer.
    pub id: String,
    /// Text to show at the node.
    pub label: String,
    /// The role: host (an end of a flow), router, proxy (a node with a proxy or service), network,
    /// or group (of terminals).
    pub kind: &'static str,
    /// Key path of the entity in the scenario. A table in a list is addressed by its name.
    pub path: Vec<String>,
}

/// An edge of a picture: a link, or the connection of a node to a network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// Identifier, unique among the edges.
    pub id: String,
    /// Identifier of the node at one end.
    pub from: String,
    /// Identifier of the node at the other end.
    pub to: String,
    /// Text to show: name, rate and delay of a link.
    pub label: String,
    /// Key path of the link or network in the scenario.
    pub path: Vec<String>,
}

/// Returns the picture of a scenario. `written` is the resolved scenario as JSON, with groups as
/// written.
pub fn picture(scenario: &Scenario, written: &Value) -> Picture {
    let names = scenario.nodes();
    let known: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let ends = texts(written, &["flow"], &["from", "to"]);
    let services = texts(written, &["proxy", "service"], &["node"]);
    let grouped: BTreeSet<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !ends.contains(name) && is_in_large_group(name, written))
        .collect();

    let mut nodes: Vec<Node> = names
        .iter()
        .filter(|name| !grouped.contains(name.as_str()))
        .map(|name| {
            let kind = match () {
                () if services.contains(&name.as_str()) => "proxy",
                () if ends.contains(&name.as_str()) => "host",
                () => "router",
            };
            node(name.clone(), name.clone(), kind, ["node", name])
        })
        .collect();

    let mut edges: Vec<Edge> = list(written, "link")
        .map(|link| {
            let [name, from, to, rate, delay] =
                ["name", "from", "to", "rate", "delay"].map(|key| text(link, key));
            edge(["link", name], from, to, format!("{name}: {rate}, {delay}"))
        })
        .collect();
    for (name, network) in &scenario.network {
        let table = &written["network"][name];
        let path = ["network", name];
        let hub = format!("network {name}");
        let label = format!("{name} ({})", text(table, "kind"));
        nodes.push(node(hub.clone(), label, "network", path));
        let listed = listed(table);
        let attached = network.nodes();
        let others = attached.iter().filter(|one| !listed.contains(one) && !grouped.contains(one.as_str()));
        for one in listed.iter().chain(others) {
            if known.contains(one.as_str()) {
                edges.push(edge(path, one, &hub, String::new()));
            } else {
                let group = format!("group {name} {one}");
                nodes.push(node(group.clone(), one.clone(), "group", path));
                edges.push(edge(path, &group, &hub, String::new()));
            }
        }
    }
    let first = list(written, "flow").next().map(|flow| text(flow, "from").to_owned());
    Picture { nodes, edges, first }
}

fn node(id: String, label: String, kind: &'static str, path: [&str; 2]) -> Node {
    Node { id, label, kind, path: path.map(str::to_owned).to_vec() }
}

fn edge(path: [&str; 2], from: &str, to: &str, label: String) -> Edge {
    Edge {
        id: format!("{} {} {from} {to}", path[0], path[1]),
        from: from.to_owned(),
        to: to.to_owned(),
        label,
        path: path.map(str::to_owned).to_vec(),
    }
}

/// Returns the nodes that the table of a network names. A group of terminals is one entry, such as
/// `20 × terminal`.
fn listed(network: &Value) -> Vec<String> {
    let ends = list(network, "ends").filter_map(Value::as_str).map(str::to_owned);
    let sites = network["sites"].as_object().into_iter().flat_map(|sites| sites.keys().cloned());
    let gateway = network["gateway"].as_str().map(str::to_owned);
    let terminals = list(network, "terminals").map(|terminal| match (terminal, terminal["count"].as_u64()) {
        (Value::String(name), _) => name.clone(),
        (table, Some(count)) => format!("{count} × {}", text(table, "name")),
        (table, None) => text(table, "name").to_owned(),
    });
    ends.chain(sites).chain(gateway).chain(terminals).collect()
}

fn is_in_large_group(node: &str, written: &Value) -> bool {
    let networks = written["network"].as_object().into_iter().flat_map(|networks| networks.values());
    networks.flat_map(|network| list(network, "terminals")).any(|terminal| {
        terminal["count"].as_u64().is_some_and(|count| count >= MIN_GROUP)
            && node.starts_with(text(terminal, "name").split("{}").next().unwrap_or_default())
    })
}

/// Returns the values of `keys` in the tables of `lists`.
fn texts<'a>(written: &'a Value, lists: &[&str], keys: &[&str]) -> BTreeSet<&'a str> {
    let tables = lists.iter().flat_map(|name| list(written, name));
    tables.flat_map(|table| keys.iter().filter_map(|key| table[*key].as_str())).collect()
}

fn list<'a>(table: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    table[key].as_array().into_iter().flatten()
}

fn text<'a>(table: &'a Value, key: &str) -> &'a str {
    table[key].as_str().unwrap_or_default()
}
