//! The hops of paths. All hops are collected first, and then each network describes all of its hops
//! in one call.

use super::{Change, Flow, Hop};
use crate::builder::Builder;
use crate::scenario::{LinkPair, Scenario};
use bentpipe_core::NodeId;
use bentpipe_networks::multilink;
use bentpipe_stage::facts::{Course, Crossing, Hop as Medium, Queue, Traffic};
use serde_json::Value;
use std::collections::BTreeMap;

/// The hops of all paths.
pub(super) struct Paths<'a> {
    scenario: &'a Scenario,
    links: Links<'a>,
    /// The crossings of each network.
    crossings: BTreeMap<&'a str, Vec<Owned>>,
}

/// The scenario's links by name.
type Links<'a> = BTreeMap<&'a str, &'a LinkPair>;

/// A crossing, and the place of its hop in the result.
struct Owned {
    from: String,
    to: String,
    traffic: Traffic,
}

impl<'a> Paths<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Paths<'a> {
        let links = scenario.link.iter().map(|link| (link.name.as_str(), link)).collect();
        Paths { scenario, links, crossings: BTreeMap::new() }
    }

    /// Adds a path and returns its hops, without their numbers; `None` if there is no path.
    pub(super) fn add(
        &mut self,
        builder: &Builder<'a>,
        (from, to): (NodeId, NodeId),
        traffic: Traffic,
    ) -> Option<Vec<Hop>> {
        let path = builder.path(from, to)?;
        let ends = path.iter().skip(1).map(|(node, _)| *node).chain([to]);
        let hops = path.iter().zip(ends).map(|((from, network), to)| {
            let [from, to] = [*from, to].map(|node| builder.name(node).to_owned());
            let owned = Owned { from: from.clone(), to: to.clone(), traffic };
            self.crossings.entry(network).or_default().push(owned);
            let network = (*network).to_owned();
            Hop { from, to, network, medium: unknown(), changes: Vec::new(), flows: 1, pages_bit_s: 0.0 }
        });
        Some(hops.collect())
    }

    /// Describes all added hops. They belong to `flows` in their order, forward paths before
    /// backward ones.
    pub(super) fn fill(self, flows: &mut [Flow]) {
        let mut described: BTreeMap<&str, _> = BTreeMap::new();
        for (name, owned) in &self.crossings {
            let crossing = |one: &'_ Owned| (one.from.clone(), one.to.clone(), one.traffic);
            let crossings: Vec<_> = owned.iter().map(crossing).collect();
            described.insert(*name, describe(self.scenario, &self.links, name, &crossings).into_iter());
        }
        for flow in flows {
            for hop in flow.there.iter_mut().chain(&mut flow.back).flatten() {
                let next = described.get_mut(hop.network.as_str()).and_then(Iterator::next);
                let (medium, changes) = next.expect("every hop was described");
                (hop.medium, hop.changes) = (medium, changes);
            }
        }
    }
}

type Described = (Medium, Vec<Change>);

/// Returns the placeholder of a hop that is not described yet.
fn unknown() -> Medium {
    Medium {
        part: String::new(),
        rate_bit_s: Course::constant(0.0),
        delay_s: Course::constant(0.0),
        loss: 0.0,
        queue: Queue::fifo("", None, None),
        access: Vec::new(),
        shared: Vec::new(),
        notes: Vec::new(),
    }
}

/// Describes the crossings of a link, multilink or network, and their changes during the run.
fn describe(
    scenario: &Scenario,
    links: &Links<'_>,
    name: &str,
    crossings: &[(String, String, Traffic)],
) -> Vec<Described> {
    if let Some(multilink) = scenario.multilink.iter().find(|multilink| multilink.name == name) {
        let first = links[multilink.links[0].as_str()];
        return crossings
            .iter()
            .map(|(from, _, traffic)| over(scenario, links, multilink, first.from == *from, *traffic))
            .collect();
    }
    if let Some(pair) = links.get(name) {
        return crossings
            .iter()
            .map(|(from, _, traffic)| {
                let forward = pair.from == *from;
                (of_link(pair, forward, *traffic), changes(scenario, "link", name, Some(pair), !forward))
            })
            .collect();
    }
    let crossings: Vec<Crossing<'_>> =
        crossings.iter().map(|(from, to, traffic)| Crossing { from, to, traffic: *traffic }).collect();
    let network = &scenario.network[name];
    let changes = changes(scenario, "network", name, None, false);
    network.hops(name, &crossings).into_iter().map(|medium| (medium, changes.clone())).collect()
}

pub(super) fn of_link(pair: &LinkPair, forward: bool, traffic: Traffic) -> Medium {
    let (config, name, ends) = match forward {
        true => (pair.forward(), pair.name.clone(), pair.ends()),
        false => (pair.back(), LinkPair::back_name(&pair.name), pair.back_ends()),
    };
    let mut medium = match &pair.arq {
        None => config.facts(&name, ends, traffic),
        Some(_) => config.repeating(&name, ends, traffic),
    };
    if pair.arq.is_some() {
        // Lost frames are retransmitted: the loss becomes delay.
        let loss = std::mem::replace(&mut medium.loss, 0.0);
        let note = match loss > 0.0 {
            true => format!("frames that are lost, {:.2} %, are retransmitted (ARQ), for which the prediction takes no time", 100.0 * loss),
            false => "its frames are acknowledged (ARQ), for which the prediction takes no time".to_owned(),
        };
        medium.notes.push(note);
    }
    if let Some(contacts) = &pair.contacts {
        let kind = contacts.when.kind();
        medium.notes.push(format!(
            "it is open in its contacts (by {kind}) only, of which the prediction knows nothing"
        ));
    }
    medium
}

/// Returns a direction of a multilink: the link in use at the start, and its changes.
fn over(
    scenario: &Scenario,
    links_by_name: &Links<'_>,
    multilink: &multilink::Config,
    forward: bool,
    traffic: Traffic,
) -> Described {
    let multilink::Config { name: _, links, back, handover: _, policy } = multilink;
    let first = if forward { &links[0] } else { back.as_ref().unwrap_or(&links[0]) };
    let mut medium = of_link(links_by_name[first.as_str()], forward, traffic);
    if policy.kind() != "schedule" {
        let others = links.iter().filter(|link| *link != first).map(String::as_str).collect::<Vec<_>>();
        medium.notes.push(format!("the policy {} may hand over to {}", policy.kind(), others.join(", ")));
    }
    let of_links = links
        .iter()
        .flat_map(|name| changes(scenario, "link", name, Some(links_by_name[name.as_str()]), !forward));
    let mut all: Vec<Change> = of_links.collect();
    let side = usize::from(!forward);
    let orders =
        scenario.schedule_of(multilink).into_iter().filter(|(_, order)| order.direction.includes(side));
    all.extend(orders.map(|(at, order)| Change {
        at_s: at.as_secs_f64(),
        what: format!("handover to {}", links[order.to]),
    }));
    all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    (medium, all)
}

/// Returns the values that the scenario's `[[change]]`s set for a part, in order of time. For the
/// return direction of a link, these are the values under `return`. If both directions of the link
/// are equal, they are the values of the link.
fn changes(scenario: &Scenario, list: &str, name: &str, pair: Option<&LinkPair>, back: bool) -> Vec<Change> {
    let mut changes = Vec::new();
    let apart = pair.is_some_and(|link| link.back.is_some());
    for (_, change) in scenario.changes() {
        let Some(set) = change.set.get(list).and_then(|parts| parts.get(name)).and_then(Value::as_object)
        else {
            continue;
        };
        let mut keys = Vec::new();
        for (key, value) in set {
            let own = key == "return";
            if pair.is_none() || own == back || (back && !apart && !own) {
                texts(key, value, &mut keys);
            }
        }
        if !keys.is_empty() {
            changes.push(Change { at_s: change.at.as_secs_f64(), what: keys.join(", ") });
        }
    }
    changes
}

/// Appends `key = value` for each value below.
fn texts(key: &str, value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(set) => {
            set.iter().for_each(|(inner, value)| texts(&format!("{key}.{inner}"), value, into))
        }
        Value::String(text) => into.push(format!("{key} = {text}")),
        other => into.push(format!("{key} = {other}")),
    }
}
