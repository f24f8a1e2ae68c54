//! Groups: tables that represent several links or flows. They are expanded into their members
//! first; all later parts, from the checks to the results, see only members, each with the name of
//! its group.
//!
//! - A link with a `count` represents that many links; `{}` in its name and ends is replaced by the
//!   number of the link, from 1.
//! - A flow with a `count`, or whose `from` or `to` is a pattern (`st*`), represents a flow per
//!   number. Member i of the group takes the i-th of the nodes that match `from`, and of those that
//!   match `to`, starting over after the last. Without a `count`, the longer of the two lists gives
//!   the number of members.
//! - A flow whose `to` is a list, or whose `multicast` is set and whose `to` is a pattern,
//!   represents a flow per receiver. These flows have the same `multicast`.
//! - Names of flows in rules of edges, services and proxies may be names of groups or patterns.
//!   Nodes of rules and captures may be patterns, and links of changes may be groups.

use super::{Flow, LinkPair, Scenario};
use bentpipe_core::{
    has_number, is_pattern, matches_pattern, natural_order, numbered, with_number, Problems,
};
use bentpipe_scenario::{Members, Set};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of flows and links; more are assumed to be a mistake in a count.
const MAX_MEMBERS: usize = 65_000;

/// The state of an expansion.
struct Expansion {
    scenario: Scenario,
    members: Members,
    /// Names of the members of groups, in order, by list and name of the group.
    groups: BTreeMap<(&'static str, String), Vec<String>>,
}

/// Returns the scenario with members in place of groups, and the places where they were written;
/// `None` if it has no group and no pattern.
pub(crate) fn expanded(scenario: &Scenario, problems: &mut Problems) -> Option<(Scenario, Members)> {
    if !any(scenario) {
        return None;
    }
    let mut done = Expansion { scenario: scenario.clone(), members: Members::new(), groups: BTreeMap::new() };
    done.networks(problems);
    done.links(problems);
    let nodes = done.nodes();
    done.flows(&nodes, problems);
    if problems.count() == 0 {
        done.references(&nodes);
    }
    Some((done.scenario, done.members))
}

fn any(scenario: &Scenario) -> bool {
    let Scenario { link, flow, network, edge, service, proxy, record, .. } = scenario;
    let ends = |rule: &bentpipe_networks::node::edge::Rule| {
        [&rule.flow, &rule.from, &rule.to].iter().any(|names| patterned(names))
    };
    link.iter().any(|link| link.count.is_some())
        || flow.iter().any(|flow| flow.is_group() || flow.starts.is_some())
        || network.values().any(|network| network.expanded(&mut Problems::default()).is_some())
        || edge.values().flatten().any(ends)
        || service.iter().any(|service| service.flows.as_deref().is_some_and(patterned))
        || proxy.iter().any(|proxy| proxy.flows.as_deref().is_some_and(patterned))
        || patterned(&record.capture)
}

fn patterned(names: &[String]) -> bool {
    names.iter().any(|name| is_pattern(name))
}

impl Flow {
    /// Returns true if the flow represents several flows.
    pub(super) fn is_group(&self) -> bool {
        self.count.is_some() || is_pattern(&self.from) || is_pattern(&self.to) || self.to.list().is_some()
    }
}

impl Expansion {
    fn networks(&mut self, problems: &mut Problems) {
        for (name, network) in &mut self.scenario.network {
            let mut expanded = None;
            problems.within("network", |problems| {
                problems.within(name, |problems| expanded = network.expanded(problems));
            });
            let Some((whole, members)) = expanded else { continue };
            for member in members {
                let path = ["network".to_owned(), name.clone()].into_iter().chain(member.path).collect();
                self.members.insert(path, member.group);
            }
            *network = whole;
        }
    }

    fn links(&mut self, problems: &mut Problems) {
        let mut all: Vec<LinkPair> = Vec::new();
        for (place, link) in std::mem::take(&mut self.scenario.link).into_iter().enumerate() {
            let Some(count) = link.count else {
                self.note("link", all.len(), place, None);
                all.push(link);
                continue;
            };
            if !has_number(&link.from) && !has_number(&link.to) {
                let message = "a group of links needs a node of its own for each: write {} for the number of the link in `from` \
                               or `to`, as in \"site{}\"";
                within("link", &link.name, problems, |problems| problems.add("count", message));
                continue;
            }
            if all.len() + count.value() as usize > MAX_MEMBERS {
                within("link", &link.name, problems, |problems| problems.add("count", too_many("links")));
                continue;
            }
            for (number, name) in (1..).zip(numbered(&link.name, count.value())) {
                self.note("link", all.len(), place, Some((&name, &link.name)));
                let end = |end: &str| if has_number(end) { with_number(end, number) } else { end.to_owned() };
                let (from, to) = (end(&link.from), end(&link.to));
                all.push(LinkPair { name, from, to, count: None, ..link.clone() });
            }
        }
        self.scenario.link = all;
    }

    fn flows(&mut self, nodes: &[String], problems: &mut Problems) {
        let mut all: Vec<Flow> = Vec::new();
        for (place, flow) in std::mem::take(&mut self.scenario.flow).into_iter().enumerate() {
            if let Some(starts) = &flow.starts {
                within("flow", &flow.name, problems, |problems| {
                    problems.within("starts", |problems| starts.check(problems));
                    if !flow.is_group() {
                        let message =
                            "needs several flows: a count, or a pattern such as \"st*\" in `from` or `to`";
                        problems.add("starts", message);
                    }
                });
            }
            if !flow.is_group() {
                self.note("flow", all.len(), place, None);
                all.push(flow);
                continue;
            }
            let is_multicast = flow.to.list().is_some() || flow.multicast.is_some();
            let mut matching = |key: &str, ends: &[&String]| {
                let mut all = Vec::new();
                for end in ends {
                    let found = of(end, nodes);
                    if found.is_empty() {
                        let message = format!("no node has a name like \"{end}\"; {}", known(nodes));
                        within("flow", &flow.name, problems, |problems| problems.add(key, message));
                    }
                    all.extend(found);
                }
                all
            };
            let from = matching("from", &[&flow.from]);
            let receivers: Vec<&String> = match flow.to.list() {
                Some(list) => list.collect(),
                None => vec![&*flow.to],
            };
            let mut to = matching("to", &receivers);
            if from.is_empty() || to.is_empty() {
                continue;
            }
            if is_multicast {
                // The pattern of the receivers may match the source, and patterns may overlap.
                let mut seen = BTreeSet::new();
                to.retain(|node| (from.len() > 1 || *node != from[0]) && seen.insert(node.clone()));
                let count = ("count", "a multicast flow has one flow per receiver; allowed: unset");
                let starts = ("starts", "a multicast flow starts once, at its source; allowed: `start`");
                let nobody = ("to", "no receiver other than the source; allowed: other nodes");
                let sources = ("from", "a multicast flow has one source; allowed: the name of a node");
                let problem = (flow.count.is_some().then_some(count))
                    .or(flow.starts.is_some().then_some(starts))
                    .or(to.is_empty().then_some(nobody))
                    .or((from.len() > 1).then_some(sources));
                if let Some((key, message)) = problem {
                    within("flow", &flow.name, problems, |problems| problems.add(key, message));
                    continue;
                }
            }
            let multicast = flow.multicast.clone().or_else(|| is_multicast.then(|| plain(&flow.name)));
            let count = flow.count.map_or(from.len().max(to.len()), |count| count.value() as usize);
            if all.len() + count > MAX_MEMBERS {
                within("flow", &flow.name, problems, |problems| problems.add("count", too_many("flows")));
                continue;
            }
            let group = flow.group.clone().unwrap_or_else(|| plain(&flow.name));
            for (index, name) in numbered(&flow.name, count as u64).enumerate() {
                self.note("flow", all.len(), place, Some((&name, &flow.name)));
                all.push(Flow {
                    name,
                    from: from[index % from.len()].clone(),
                    to: to[index % to.len()].clone().into(),
                    multicast: multicast.clone(),
                    count: None,
                    group: Some(group.clone()),
                    ..flow.clone()
                });
            }
        }
        self.scenario.flow = all;
    }

    /// Records that element `index` of a list was written as element `place`, if it is a member of
    /// a group under another name.
    fn note(&mut self, list: &'static str, index: usize, place: usize, member: Option<(&str, &str)>) {
        let path = |key: String| vec![list.to_owned(), key];
        if index != place {
            self.members.insert(path(index.to_string()), place.to_string());
        }
        if let Some((name, group)) = member {
            self.members.insert(path(name.to_owned()), group.to_owned());
            self.groups.entry((list, group.to_owned())).or_default().push(name.to_owned());
            if plain(group) != group {
                self.groups.entry((list, plain(group))).or_default().push(name.to_owned());
            }
        }
    }

    /// Returns the names of all nodes, with numbers in them compared by value.
    fn nodes(&self) -> Vec<String> {
        let links = self.scenario.link.iter().flat_map(|link| [link.from.clone(), link.to.clone()]);
        let networks = self.scenario.network.values().flat_map(|network| network.nodes());
        let names: BTreeSet<String> = links.chain(networks).collect();
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_by(|a, b| natural_order(a, b));
        names
    }

    /// Replaces groups and patterns by members in all references to flows, nodes or links.
    fn references(&mut self, nodes: &[String]) {
        let flows: Vec<String> = self.scenario.flow.iter().map(|flow| flow.name.clone()).collect();
        let single: BTreeSet<&String> = flows.iter().collect();
        let mut of_groups = self.groups.clone();
        let mut known: BTreeMap<String, BTreeSet<String>> = of_groups
            .iter()
            .filter(|((list, _), _)| *list == "flow")
            .map(|((_, group), members)| (group.clone(), members.iter().cloned().collect()))
            .collect();
        for Flow { name, group, .. } in &self.scenario.flow {
            if let Some(group) = group {
                if known.entry(group.clone()).or_default().insert(name.clone()) {
                    of_groups.entry(("flow", group.clone())).or_default().push(name.clone());
                }
            }
        }
        let named = |names: &mut Vec<String>| {
            let members = names.iter().flat_map(|name| match of_groups.get(&("flow", name.clone())) {
                Some(members) if !single.contains(name) => members.clone(),
                _ => of(name, &flows),
            });
            *names = members.collect();
        };
        let Scenario { edge, service, proxy, record, change, .. } = &mut self.scenario;
        for rule in edge.values_mut().flatten() {
            named(&mut rule.flow);
            for ends in [&mut rule.from, &mut rule.to] {
                *ends = ends.iter().flat_map(|end| of(end, nodes)).collect();
            }
        }
        service.iter_mut().filter_map(|service| service.flows.as_mut()).for_each(named);
        proxy.iter_mut().filter_map(|proxy| proxy.flows.as_mut()).for_each(named);
        record.capture = record.capture.iter().flat_map(|node| of(node, nodes)).collect();
        for change in change {
            let Some(serde_json::Value::Object(links)) = change.set.get_mut("link") else { continue };
            let mut all = Set::new();
            for (name, keys) in std::mem::take(links) {
                match self.groups.get(&("link", name.clone())) {
                    Some(members) => all.extend(members.iter().map(|member| (member.clone(), keys.clone()))),
                    None => _ = all.insert(name, keys),
                }
            }
            *links = all;
        }
    }
}

/// Returns the names that match `text` if it is a pattern, otherwise `text` itself.
fn of(text: &str, names: &[String]) -> Vec<String> {
    match is_pattern(text) {
        true => names.iter().filter(|name| matches_pattern(text, name)).cloned().collect(),
        false => vec![text.to_owned()],
    }
}

/// Returns the name of a group without the placeholder of the number.
fn plain(name: &str) -> String {
    match has_number(name) {
        true => name.replace("{}", "").trim_matches(['-', '_', '.', ' ']).to_owned(),
        false => name.to_owned(),
    }
}

fn within(list: &str, name: &str, problems: &mut Problems, look: impl FnOnce(&mut Problems)) {
    problems.within(list, |problems| problems.within(name, look));
}

fn too_many(what: &str) -> String {
    format!("too many {what}; allowed: {MAX_MEMBERS} in all")
}

fn known(nodes: &[String]) -> String {
    match nodes.len() {
        0 => "there are no nodes".to_owned(),
        1..=12 => format!("nodes: {}", nodes.join(", ")),
        count => format!("nodes: {}, ... ({count} nodes)", nodes[..12].join(", ")),
    }
}
