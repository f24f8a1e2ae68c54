//! Checks between proxies and the rest of a scenario, in addition to those of all services.

use super::{check_congestion, check_congestion_simulated};
use crate::layout::lay;
use crate::scenario::{Flow, Scenario};
use crate::serving::{served, PlacedService};
use bentpipe_core::{FlowId, Problems, Recorder, Streams};
use bentpipe_networks::node::proxy::{self, dtn, Mechanism};
use bentpipe_networks::node::service::ServedFlow;
use bentpipe_networks::NetworkKind;
use bentpipe_transport::tcp;
use std::collections::{BTreeMap, BTreeSet};

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

    /// Adds the problems of a proxy for packets of real hosts, which distinguishes connections by
    /// their hosts.
    pub(super) fn check_real_proxy(&self, at: &PlacedService<'_>, problems: &mut Problems) {
        let hosts = |flow: &Flow| {
            let mut hosts = [flow.from.clone(), flow.to.to_string()];
            hosts.sort();
            hosts
        };
        let tcp = self.flow.iter().filter(|flow| !flow.is_modelled() && flow.transport.tcp().is_some());
        let (served, others): (Vec<&Flow>, Vec<&Flow>) = tcp.partition(|flow| at.is_for(flow));
        let others: BTreeMap<_, _> = others.into_iter().map(|flow| (hosts(flow), flow)).collect();
        for served in served {
            if let Some(other) = others.get(&hosts(served)) {
                let message = format!(
                    "flow \"{}\" is served and flow \"{}\" is not, but both connect \"{}\" and \"{}\"; allowed in an \
                     emulation: both or neither",
                    served.name, other.name, served.from, *served.to
                );
                problems.add("flows", message);
            }
        }
    }

    /// Adds the problems of proxies that carry connections as bundles, which work in pairs: every
    /// flow that such a proxy serves enters a network of bundle agents at one proxy and leaves the
    /// network at another.
    pub(super) fn check_pairs_of_proxies(&self, problems: &mut Problems) {
        let dtn =
            self.services().filter_map(|at| match &self.proxy.get(usize::from(at.number) - 1)?.mechanism {
                Mechanism::Dtn(config) => Some((at, config)),
                _ => None,
            });
        let dtn: Vec<_> = dtn.collect();
        if dtn.is_empty() {
            return;
        }
        let mut builder = lay(self, Streams::new(0, 0), Recorder::default());
        let flows = dtn.iter().map(|(at, _)| served(&mut builder, self, at).into_iter().flatten().collect());
        let flows: Vec<Vec<ServedFlow>> = flows.collect();
        // The side of a flow on which a proxy has the network: 0 towards the source.
        let side =
            |config: &dtn::Config, flow: &ServedFlow| flow.links.iter().position(|link| *link == config.over);
        let met = dtn.iter().zip(&flows).flat_map(|((_, config), flows)| {
            flows.iter().filter_map(|flow| Some((&config.over, flow.flow, side(config, flow)?)))
        });
        let met: BTreeSet<(&String, FlowId, usize)> = met.collect();
        for ((at, config), flows) in dtn.iter().zip(&flows) {
            let over = &config.over;
            let message = match self.network.get(over) {
                Some(NetworkKind::Bundles(_)) => flows.iter().find_map(|flow| match side(config, flow) {
                    None => Some(format!(
                        "flow \"{}\" does not cross \"{over}\" from here; allowed: flows that do, by the key flows",
                        flow.name
                    )),
                    Some(side) if !met.contains(&(over, flow.flow, 1 - side)) => Some(format!(
                        "flow \"{}\" has no proxy of kind dtn where it {} \"{over}\"; allowed: a second one there, at a \
                         node that is not an end of the flow",
                        flow.name,
                        if side == 0 { "enters" } else { "leaves" }
                    )),
                    Some(_) => None,
                }),
                _ => Some(format!("\"{over}\" is not a network of bundle agents; allowed: networks of kind bundles")),
            };
            if let Some(message) = message {
                problems.within(at.name, |problems| {
                    problems.within("mechanism", |problems| problems.add("over", message));
                });
            }
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
                        check_congestion_simulated(side.config().control(), problems);
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
                check_congestion(config.control(), true, problems);
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
