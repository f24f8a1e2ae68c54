//! What must hold between proxies and the rest of a scenario.

use super::check::{check_congestion, check_congestion_simulated, Islands};
use super::{Flow, Scenario};
use crate::instantiate::lay;
use crate::passing::{passing, Obstacle};
use bentpipe_core::{Problems, Recorder, Streams};
use bentpipe_models::net::proxy;
use bentpipe_models::transport::tcp;
use std::collections::{BTreeMap, BTreeSet};

impl Scenario {
    pub(super) fn check_proxies(&self, islands: &Islands<'_>, problems: &mut Problems) {
        for proxy in &self.proxy {
            problems.within(&proxy.name, |problems| self.check_proxy(proxy, islands, problems));
        }
        if !self.proxy.is_empty() && problems.count() == 0 {
            self.check_passing(problems);
            for proxy in &self.proxy {
                problems.within(&proxy.name, |problems| self.check_sides(proxy, problems));
            }
        }
    }

    fn check_proxy(&self, proxy: &proxy::Config, islands: &Islands<'_>, problems: &mut Problems) {
        if !islands.names.contains_key(proxy.node.as_str()) {
            problems.add("node", islands.unknown(&proxy.node));
        }
        for name in &proxy.flows {
            if !self.flow.iter().any(|flow| flow.name == *name) {
                let known: Vec<_> = self.flow.iter().map(|flow| flow.name.as_str()).collect();
                problems.add(
                    "flows",
                    format!("\"{name}\" is not the name of a flow; allowed: {}", known.join(", ")),
                );
            }
        }
        problems.within("mechanism", |problems| {
            proxy.mechanism.check(problems);
            each_tcp(proxy, problems, |config, problems| {
                config.check(problems);
                check_congestion(config, true, problems);
                let told = [
                    ("freeze", !config.freeze.is_empty()),
                    ("adapt", !config.adapt.is_empty()),
                    ("on_handover", !config.on_handover.is_empty()),
                ];
                for (key, _) in told.into_iter().filter(|(_, told)| *told) {
                    problems.add(key, "a proxy's connections are told of nothing; allowed: a flow's own");
                }
            });
        });
    }

    fn check_sides(&self, proxy: &proxy::Config, problems: &mut Problems) {
        let there = self.ways_at(&proxy.node);
        let message =
            format!("is not a link or network at \"{}\"; allowed: {}", proxy.node, there.join(", "));
        problems.within("mechanism", |problems| {
            if let Some(way) = proxy.mechanism.over().filter(|way| !there.contains(way)) {
                problems.add("over", format!("\"{way}\" {message}"));
            }
            problems.within("sides", |problems| {
                for (way, _) in proxy.mechanism.sides().into_iter().filter(|(way, _)| !there.contains(way)) {
                    problems.add(way, message.clone());
                }
            });
        });
    }

    /// The links, accesses and networks of a node; links of an access are not its own.
    fn ways_at(&self, node: &str) -> Vec<&str> {
        let links = self.link.iter().filter(|link| link.from == node || link.to == node);
        let ways: BTreeSet<&str> = links
            .map(|link| {
                self.access_of(&link.name).map_or(link.name.as_str(), |(access, _)| access.name.as_str())
            })
            .collect();
        let networks =
            self.network.iter().filter(|(_, network)| network.nodes().iter().any(|one| one == node));
        ways.into_iter().chain(networks.map(|(name, _)| name.as_str())).collect()
    }

    /// For a scenario with which nothing else is wrong.
    fn check_passing(&self, problems: &mut Problems) {
        let mut builder = lay(self, Streams::new(0, 0), Recorder::default());
        let mut served: BTreeMap<(&str, String), &str> = BTreeMap::new();
        for proxy in &self.proxy {
            let flows = passing(&mut builder, self, proxy);
            problems.within(&proxy.name, |problems| {
                let (mut any, mut why) = (self.flow.is_empty(), Vec::new());
                for flow in flows {
                    match flow {
                        Ok(passing) => {
                            any = true;
                            if let Some(other) =
                                served.insert((&proxy.node, passing.name.clone()), &proxy.name)
                            {
                                let message = format!(
                                    "\"{}\" serves flow \"{}\" at \"{}\" already; allowed: one proxy for each flow at a \
                                     node",
                                    other, passing.name, proxy.node
                                );
                                problems.add("flows", message);
                            }
                        }
                        Err((_, Obstacle::NotNamed)) => {}
                        Err((flow, obstacle)) => why.push(reason(&flow.name, &proxy.node, &obstacle)),
                    }
                }
                if !proxy.flows.is_empty() {
                    why.iter().for_each(|why| problems.add("flows", why.clone()));
                } else if !any {
                    why.truncate(3);
                    problems.add("node", format!("no flow passes that it could serve: {}", why.join("; ")));
                }
            });
        }
    }

    /// What keeps it from being emulated, though it can be simulated: proxies for what real hosts send, whose bytes these models do
    /// not carry. `programs` says whether hosts send more than the scenario's flows.
    pub fn check_emulated(&self, programs: bool) -> Problems {
        let mut problems = Problems::default();
        problems.within("proxy", |problems| {
            for proxy in &self.proxy {
                let serves = |name: &str| proxy.flows.is_empty() || proxy.flows.iter().any(|flow| flow == name);
                let real = |flow: &&Flow| serves(&flow.name) && flow.is_tcp() && !flow.is_modelled();
                let real = self.flow.iter().find(real).map(|flow| format!("flow \"{}\"", flow.name));
                let Some(real) = programs.then(|| "what programs send".to_owned()).or(real) else { continue };
                let message = format!(
                    "is simulated, and {real} is the kernel's; allowed: `bentpipe simulate`, endpoints = \"model\", or no \
                     proxy here and `bentpipe pep` on a machine or in a namespace before a host of `bentpipe up`"
                );
                problems.within(&proxy.name, |problems| problems.add("mechanism", message));
            }
        });
        problems
    }

    pub(super) fn check_proxies_simulated(&self, problems: &mut Problems) {
        for proxy in &self.proxy {
            problems.within(&proxy.name, |problems| {
                problems
                    .within("mechanism", |problems| each_tcp(proxy, problems, check_congestion_simulated));
            });
        }
    }
}

fn reason(flow: &str, node: &str, obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::NotNamed => String::new(),
        Obstacle::NotTcp => format!("flow \"{flow}\" is not over tcp"),
        Obstacle::AtItsEnd => format!("flow \"{flow}\" begins or ends at \"{node}\""),
        Obstacle::OneWay => {
            format!(
                "flow \"{flow}\" passes \"{node}\" in one direction only, there and back are different ways"
            )
        }
        Obstacle::Elsewhere(nodes) => format!("flow \"{flow}\" takes the way {}", nodes.join(" - ")),
    }
}

/// Looks at every TCP that a proxy has, below the key that says so.
fn each_tcp(proxy: &proxy::Config, problems: &mut Problems, look: impl Fn(&tcp::Config, &mut Problems)) {
    if let Some((key, config)) = proxy.mechanism.elsewhere() {
        problems.within(key, |problems| look(config, problems));
    }
    for (way, config) in proxy.mechanism.sides() {
        problems.within("sides", |problems| problems.within(way, |problems| look(config, problems)));
    }
}
