//! The links and networks of a running scenario, with their present configurations.

use super::keys;
use crate::scenario::{LinkPair, NetworkKind, Scenario};
use bentpipe_core::{Problem, Problems};
use bentpipe_link as link;
use bentpipe_networks::multilink;
use bentpipe_networks::{AccessNetwork, Changing};
use bentpipe_scenario::{changed, Check, Set};
use bentpipe_stage::Change;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Links and networks by name, with their present configurations.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    links: BTreeMap<String, LinkPair>,
    networks: BTreeMap<String, Network>,
    /// The links of each multilink. A link with retransmissions counts as one, because both of its
    /// directions are one stage.
    multilinks: Arc<BTreeMap<String, Vec<String>>>,
    /// The changeable keys of a link.
    link_keys: Arc<Vec<String>>,
}

#[derive(Clone)]
struct Network {
    /// Configuration from which the stages were built; `None` if none of its keys can change.
    start: Option<Changing>,
    now: Checked,
    /// The changeable keys of its kind.
    keys: Arc<Vec<String>>,
}

/// A network's configuration, with the checks of the loader.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct Checked(NetworkKind);

impl Check for Checked {
    fn check(&self, problems: &mut Problems) {
        self.0.check(problems);
    }
}

/// The change for the stages that were built from a part.
#[derive(Clone)]
pub(crate) enum StageChanges {
    Link(Arc<(link::Config, link::Config)>),
    Multilink(Arc<(multilink::Links, multilink::Links)>),
    Network(Changing, Changing),
}

impl StageChanges {
    pub(crate) fn change(&self) -> Change<'_> {
        match self {
            StageChanges::Link(both) => Change::new(&both.0, &both.1),
            StageChanges::Multilink(both) => Change::new(&both.0, &both.1),
            StageChanges::Network(before, after) => Change::of_any(&*before.config, &*after.config),
        }
    }
}

/// The changes by name of the stage.
pub(crate) type Orders = BTreeMap<String, StageChanges>;

impl Parts {
    pub(crate) fn of(scenario: &Scenario) -> Parts {
        let network = |(name, config): (&String, &NetworkKind)| {
            let now = Checked(config.clone());
            let keys = match serde_json::to_value(config) {
                Ok(value) => keys::of_kind::<NetworkKind>(value["kind"].as_str().unwrap_or_default()),
                Err(_) => Vec::new(),
            };
            (name.clone(), Network { start: config.changing(name), now, keys: Arc::new(keys) })
        };
        Parts {
            links: scenario.link.iter().map(|link| (link.name.clone(), link.clone())).collect(),
            networks: scenario.network.iter().map(network).collect(),
            multilinks: {
                let multilinks = scenario
                    .multilink
                    .iter()
                    .map(|multilink| (multilink.name.clone(), multilink.links.clone()));
                let repeating = scenario.link.iter().filter(|link| link.arq.is_some());
                let alone = repeating.map(|link| (link.name.clone(), vec![link.name.clone()]));
                Arc::new(multilinks.chain(alone).collect())
            },
            link_keys: Arc::new(keys::of::<LinkPair>()),
        }
    }

    /// Applies the values of `set`, all or none. Returns the changes for the stages.
    pub(crate) fn change(&mut self, set: &Set) -> Result<Orders, Vec<Problem>> {
        let (mut problems, mut orders, mut after) = (Problems::default(), Orders::new(), self.clone());
        if set.is_empty() {
            problems.add("", "sets nothing; allowed: link, network");
        }
        for (list, named) in set {
            problems.within(list, |problems| match list.as_str() {
                "link" => each(named, &mut after.links, problems, |name, link, set, problems| {
                    change_link(name, link, set, &self.link_keys, &mut orders, problems);
                }),
                "network" => each(named, &mut after.networks, problems, |name, network, set, problems| {
                    change_network(name, network, set, &mut orders, problems);
                }),
                _ => problems.add("", format!("{FIXED}; allowed: link, network")),
            });
        }
        if problems.count() > 0 {
            return Err(problems.into_vec());
        }
        for (multilink, links) in self.multilinks.iter() {
            let mut has_changed = |name: &String| {
                // Both keys are removed.
                orders.remove(name).is_some() | orders.remove(&LinkPair::back_name(name)).is_some()
            };
            if links.iter().fold(false, |any, name| has_changed(name) | any) {
                let both = (self.directions(links), after.directions(links));
                orders.insert(multilink.clone(), StageChanges::Multilink(Arc::new(both)));
            }
        }
        *self = after;
        Ok(orders)
    }

    fn directions(&self, links: &[String]) -> multilink::Links {
        links.iter().map(|name| &self.links[name]).map(|link| [link.forward(), link.back()]).collect()
    }
}

const FIXED: &str = "cannot change while the network runs";

/// Passes each part in `named` to `change`.
fn each<Part>(
    named: &Value,
    parts: &mut BTreeMap<String, Part>,
    problems: &mut Problems,
    mut change: impl FnMut(&str, &mut Part, &Set, &mut Problems),
) {
    let names = || parts.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let Some(named) = named.as_object().filter(|named| !named.is_empty()) else {
        return problems.add("", format!("sets nothing of any of them; allowed: {}", names()));
    };
    for name in named.keys() {
        if !parts.contains_key(name) {
            let message = format!("there is none of this name; allowed: {}", names());
            problems.add(name, message);
        }
    }
    for (name, part) in parts {
        let Some(set) = named.get(name) else { continue };
        problems.within(name, |problems| match set.as_object() {
            Some(set) if !set.is_empty() => change(name, part, set, problems),
            _ => problems.add("", "sets nothing; allowed: keys with their values"),
        });
    }
}

fn change_link(
    name: &str,
    link: &mut LinkPair,
    set: &Set,
    keys: &[String],
    orders: &mut Orders,
    problems: &mut Problems,
) {
    let mut before = link.clone();
    if set.contains_key("return") {
        // From here on the directions may differ.
        before.back = Some(link.back());
    }
    let Some(after) = altered(&before, set, keys, problems) else { return };
    refuse_traced(set, &after.trace, problems);
    if let (Some(set), Some(back)) = (set.get("return").and_then(Value::as_object), &after.back) {
        problems.within("return", |problems| refuse_traced(set, &back.trace, problems));
    }
    for (stage, before, after) in [
        (name.to_owned(), before.forward(), after.forward()),
        (LinkPair::back_name(name), before.back(), after.back()),
    ] {
        if before != after {
            orders.insert(stage, StageChanges::Link(Arc::new((before, after))));
        }
    }
    *link = after;
}

/// Adds a problem for each key that the link's trace also sets.
fn refuse_traced(set: &Set, trace: &Option<link::series::Config>, problems: &mut Problems) {
    let Some(trace) = trace else { return };
    for key in
        ["rate", "delay", "error"].into_iter().filter(|key| set.contains_key(*key) && trace.drives(key))
    {
        problems.add(key, "is set by the link's trace; allowed: keys for which the trace has no column");
    }
}

fn change_network(
    name: &str,
    network: &mut Network,
    set: &Set,
    orders: &mut Orders,
    problems: &mut Problems,
) {
    let Some(after) = altered(&network.now, set, &network.keys, problems) else { return };
    let config: &dyn AccessNetwork = &*after.0;
    // `altered` would have refused a kind without changeable keys.
    let (Some(start), Some(before), Some(new)) =
        (&network.start, network.now.0.changing(name), config.changing(name))
    else {
        return;
    };
    config.check_change(start, problems);
    for stage in &new.stages {
        orders.insert(stage.clone(), StageChanges::Network(before.clone(), new.clone()));
    }
    network.now = after;
}

/// Returns `before` with the keys of `set` changed, unless the change is invalid.
fn altered<Config>(before: &Config, set: &Set, keys: &[String], problems: &mut Problems) -> Option<Config>
where
    Config: serde::Serialize + serde::de::DeserializeOwned + bentpipe_scenario::Check,
{
    let (after, mut found) = match changed(before, set) {
        Ok(after) => (Some(after), Vec::new()),
        Err(found) => (None, found),
    };
    let mut fixed = Vec::new();
    find_fixed(set, &mut Vec::new(), keys, &mut fixed);
    if !fixed.is_empty() {
        // Problems of other keys that follow from a key that must not be set are not reported.
        found.retain(|problem| is_written(set, &problem.path));
    }
    for path in fixed {
        let unknown = found.iter_mut().find(|problem| problem.path == path);
        let unknown = unknown.filter(|problem| problem.message.starts_with("unknown key"));
        let allowed = match keys.is_empty() {
            true => String::new(),
            false => format!("; allowed: {}", keys.join(", ")),
        };
        match unknown {
            // A suggestion before the allowed keys is kept; its question mark replaces the
            // semicolon before "allowed".
            Some(Problem { message, .. }) => match message.find("? allowed: ") {
                Some(end) => {
                    message.truncate(end + 1);
                    *message += allowed.trim_start_matches(';');
                }
                None => {
                    message.truncate(message.find("; allowed: ").unwrap_or(message.len()));
                    *message += &allowed;
                }
            },
            None => {
                found.retain(|problem| problem.path != path);
                found.push(Problem { path, message: FIXED.to_owned() + &allowed });
            }
        }
    }
    let fine = found.is_empty();
    found.into_iter().for_each(|problem| problems.adopt(problem));
    after.filter(|_| fine)
}

/// Returns true if `set` contains a value at `path`.
fn is_written(set: &Set, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    match set.get(first) {
        Some(Value::Object(set)) => is_written(set, rest),
        Some(_) => rest.is_empty(),
        None => false,
    }
}

/// Finds the paths in `set` that lead to values without passing a changeable key.
fn find_fixed(set: &Set, path: &mut Vec<String>, keys: &[String], fixed: &mut Vec<Vec<String>>) {
    for (key, value) in set {
        path.push(key.clone());
        if !keys.contains(&path.join(".")) {
            match value.as_object() {
                Some(set) => find_fixed(set, path, keys, fixed),
                None => fixed.push(path.clone()),
            }
        }
        path.pop();
    }
}
