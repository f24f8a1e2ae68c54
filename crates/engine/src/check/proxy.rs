//! Checks between proxies and the rest of a scenario, in addition to those of all services.

use super::{check_congestion, check_congestion_simulated};
use crate::scenario::Scenario;
use bentpipe_core::Problems;
use bentpipe_networks::node::proxy;
use bentpipe_transport::tcp;
use std::collections::BTreeSet;

impl Scenario {
    pub(super) fn check_proxies(&self, problems: &mut Problems) {
        for proxy in &self.proxy {
            problems.within(&proxy.name, |problems| check_connections(proxy, problems));
        }
    }

    /// Adds the problems of the sides of proxies, at existing nodes.
    pub(super) fn check_sides_of_proxies(&self, problems: &mut Problems) {
        for proxy in &self.proxy {
            problems.within(&proxy.name, |problems| self.check_sides(proxy, problems));
        }
    }

    fn check_sides(&self, proxy: &proxy::Config, problems: &mut Problems) {
        let there = self.parts_at(&proxy.node);
        let message =
            format!("is not a link or network at \"{}\"; allowed: {}", proxy.node, there.join(", "));
        problems.within("mechanism", |problems| {
            if let Some(part) = proxy.mechanism.over().filter(|part| !there.contains(part)) {
                problems.add("over", format!("\"{part}\" {message}"));
            }
            problems.within("sides", |problems| {
                for (part, _) in proxy.mechanism.sides().into_iter().filter(|(part, _)| !there.contains(part))
                {
                    problems.add(part, message.clone());
                }
            });
        });
    }

    /// Returns the links, multilinks and networks of a node. A multilink replaces its links.
    fn parts_at(&self, node: &str) -> Vec<&str> {
        let links = self.link.iter().filter(|link| link.from == node || link.to == node);
        let parts: BTreeSet<&str> = links
            .map(|link| {
                self.multilink_of(&link.name)
                    .map_or(link.name.as_str(), |(multilink, _)| multilink.name.as_str())
            })
            .collect();
        let networks =
            self.network.iter().filter(|(_, network)| network.nodes().iter().any(|one| one == node));
        parts.into_iter().chain(networks.map(|(name, _)| name.as_str())).collect()
    }

    pub(super) fn check_proxies_simulated(&self, problems: &mut Problems) {
        for proxy in &self.proxy {
            problems.within(&proxy.name, |problems| {
                problems.within("mechanism", |problems| {
                    visit_tcp_configs(proxy, problems, |side, problems| {
                        check_congestion_simulated(side.config(), problems);
                    });
                });
            });
        }
    }
}

fn check_connections(proxy: &proxy::Config, problems: &mut Problems) {
    problems.within("mechanism", |problems| {
        visit_tcp_configs(proxy, problems, |side, problems| {
            side.check(problems);
            let config = side.config();
            config.check(problems);
            if side.own_congestion().is_some() {
                check_congestion(config, true, problems);
            }
            let signals = [
                ("freeze", !config.freeze.is_empty()),
                ("adapt", !config.adapt.is_empty()),
                ("on_handover", !config.on_handover.is_empty()),
            ];
            for (key, _) in signals.into_iter().filter(|(_, signals)| *signals) {
                problems.add(key, "has no effect in a proxy; allowed: only in a flow's transport");
            }
        });
    });
}

/// Calls `look` for every TCP configuration of a proxy, with problems below its key.
fn visit_tcp_configs(
    proxy: &proxy::Config,
    problems: &mut Problems,
    look: impl Fn(&tcp::Side, &mut Problems),
) {
    if let Some((key, config)) = proxy.mechanism.elsewhere() {
        problems.within(key, |problems| look(config, problems));
    }
    for (part, config) in proxy.mechanism.sides() {
        problems.within("sides", |problems| problems.within(part, |problems| look(config, problems)));
    }
}
