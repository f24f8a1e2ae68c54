//! Checks between services, including proxies, and the rest of a scenario.

use crate::layout::lay;
use crate::scenario::{Flow, Islands, Scenario};
use crate::serving::{served, Obstacle, PlacedService};
use bentpipe_core::{Problems, Recorder, Streams};
use bentpipe_networks::node::service::ServedPackets;
use std::collections::BTreeMap;

impl Scenario {
    pub(super) fn check_services(&self, islands: &Islands<'_>, problems: &mut Problems) {
        for at in self.all_services() {
            within(&at, problems, |problems| self.check_service(&at, islands, problems));
        }
        problems.within("proxy", |problems| self.check_proxies(problems));
        if self.all_services().next().is_some() && problems.count() == 0 {
            self.check_served(problems);
            problems.within("proxy", |problems| self.check_sides_of_proxies(problems));
        }
        if problems.count() == 0 {
            problems.within("proxy", |problems| self.check_pairs_of_proxies(problems));
        }
    }

    fn check_service(&self, at: &PlacedService<'_>, islands: &Islands<'_>, problems: &mut Problems) {
        if !islands.names.contains_key(at.node) {
            problems.add("node", islands.unknown(at.node));
        }
        for name in at.flows.unwrap_or_default() {
            if !self.flow.iter().any(|flow| flow.name == *name) {
                let known: Vec<_> = self.flow.iter().map(|flow| flow.name.as_str()).collect();
                let message = format!("\"{name}\" is not the name of a flow; allowed: {}", known.join(", "));
                problems.add("flows", message);
            }
        }
        problems.within(at.key, |problems| at.service.check(problems));
    }

    /// Adds the problems of services and paths, for a scenario that is otherwise valid.
    fn check_served(&self, problems: &mut Problems) {
        let mut builder = lay(self, Streams::new(0, 0), Recorder::default());
        let mut taken: BTreeMap<(&str, ServedPackets, String), PlacedService<'_>> = BTreeMap::new();
        for at in self.services() {
            let flows = served(&mut builder, self, &at);
            within(&at, problems, |problems| {
                let (mut served, mut why) = (Vec::new(), Vec::new());
                for flow in flows {
                    match flow {
                        Ok(flow) => served.push(flow),
                        Err((_, Obstacle::NotNamed)) => {}
                        Err((flow, obstacle)) => why.push(reason(&flow.name, at.node, &obstacle)),
                    }
                }
                for flow in &served {
                    let key = (at.node, at.service.served_packets(), flow.name.clone());
                    if let Some(other) = taken.insert(key, at) {
                        let message = format!(
                            "\"{}\" already serves flow \"{}\" at \"{}\"; allowed: one {} per flow at a node",
                            other.name, flow.name, at.node, at.list
                        );
                        problems.add("flows", message);
                    }
                }
                if at.flows.is_some() {
                    why.iter().for_each(|why| problems.add("flows", why.clone()));
                } else if served.is_empty() && !self.flow.is_empty() {
                    why.truncate(3);
                    let what = match at.service.served_packets() {
                        ServedPackets::Passing => "passes",
                        ServedPackets::Addressed => "ends there",
                    };
                    let why = why.join("; ");
                    problems.add("node", format!("no flow {what} that it could serve: {why}"));
                }
                if !served.is_empty() && (at.flows.is_none() || why.is_empty()) {
                    at.service.check_flows(&served, problems);
                }
            });
        }
    }

    /// Returns the problems that prevent an emulation but not a simulation: services for traffic of
    /// real hosts, if the models of these services do not carry the bytes. `programs` is true if
    /// hosts send more than the scenario's flows.
    pub fn check_emulated(&self, programs: bool) -> Problems {
        let mut problems = Problems::default();
        for at in self.services() {
            let real = |flow: &&Flow| {
                at.is_for(flow)
                    && !flow.is_modelled()
                    && at.service.incompatibility(&flow.transport).is_none()
            };
            let real = self.flow.iter().find(real).map(|flow| format!("flow \"{}\"", flow.name));
            if at.service.has_real_form() {
                within(&at, &mut problems, |problems| self.check_real_proxy(&at, problems));
                continue;
            }
            let passes = programs && at.service.served_packets() == ServedPackets::Passing;
            let Some(real) = passes.then(|| "what programs send".to_owned()).or(real) else { continue };
            let instead = match at.list {
                "proxy" => ", or no proxy here and `bentpipe dtn proxy` on a machine or in a namespace before a host of `bentpipe net up`",
                _ => "",
            };
            let message = format!(
                "is simulated, and {real} is the kernel's; allowed: `bentpipe simulate`, endpoints = \"model\"{instead}"
            );
            within(&at, &mut problems, |problems| problems.add(at.key, message));
        }
        problems
    }
}

/// Calls `look` for one service, with problems below its list and name.
fn within(at: &PlacedService<'_>, problems: &mut Problems, look: impl FnOnce(&mut Problems)) {
    problems.within(at.list, |problems| problems.within(at.name, look));
}

fn reason(flow: &str, node: &str, obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::NotNamed => String::new(),
        Obstacle::Refused(why) => format!("flow \"{flow}\" {why}"),
        Obstacle::AtItsEnd => format!("flow \"{flow}\" starts or ends at \"{node}\""),
        Obstacle::EndsElsewhere => format!("flow \"{flow}\" does not end at \"{node}\""),
        Obstacle::OneWay => {
            format!(
                "flow \"{flow}\" passes \"{node}\" in one direction only, as the two directions take different paths"
            )
        }
        Obstacle::Elsewhere(nodes) => format!("flow \"{flow}\" takes the path {}", nodes.join(" - ")),
    }
}
