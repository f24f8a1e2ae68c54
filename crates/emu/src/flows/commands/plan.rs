//! The programs that a scenario names, known before anything is started.

use crate::flows::traffic::flows;
use bentpipe_core::address::{self, Plan};
use bentpipe_core::{Recorder, Time};
use bentpipe_engine::instantiate_emulated;
use bentpipe_engine::scenario::Scenario;
use bentpipe_transport::app::command::{words, Placeholders};
use bentpipe_transport::app::{Config, End};
use std::collections::BTreeMap;

/// A program that a flow of the scenario runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Name of the program's flow.
    pub flow: String,
    /// Name of the host on which it runs.
    pub host: String,
    /// End of the flow at which it runs: servers run at the destination.
    pub end: End,
    /// Program and arguments, as passed to the kernel.
    pub argv: Vec<String>,
    /// Time of the run at which the program starts.
    pub start: Time,
}

impl Planned {
    /// Returns program and arguments as text, unambiguous for readers.
    pub fn shown(&self) -> String {
        let plain = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c))
        };
        let shown = |word: &String| if plain(word) { word.clone() } else { format!("{word:?}") };
        self.argv.iter().map(shown).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the programs of `scenario`, in the order of its flows, with servers before clients.
pub fn plan(scenario: &Scenario) -> Vec<Planned> {
    if !flows(scenario).any(|(_, flow)| flow.is_command()) {
        return Vec::new();
    }
    let nodes = scenario.nodes();
    let hosts =
        instantiate_emulated(scenario, scenario.seed.value(), 0, Recorder::default(), &nodes, false).hosts;
    let nodes: BTreeMap<&str, _> = hosts.iter().map(|host| (host.name.as_str(), host.node)).collect();
    let mut planned = Vec::new();
    for (id, flow) in flows(scenario) {
        let Config::Command(config) = &flow.app else { continue };
        let (from, to) = (nodes[flow.from.as_str()], nodes[flow.to.as_str()]);
        let addresses = Plan::default();
        let port = address::port_at(id, to, from);
        let places = Placeholders { to: addresses.ipv4(to), from: addresses.ipv4(from), port };
        let one = |command: &str, host: &String, end, start| Planned {
            flow: flow.name.clone(),
            host: host.clone(),
            end,
            argv: words(command, &places).expect("the scenario has been checked"),
            start,
        };
        planned.extend(config.serve.as_ref().map(|serve| one(serve, &flow.to, End::Destination, Time::ZERO)));
        planned.push(one(&config.run, &flow.from, End::Source, Time::ZERO + flow.start));
    }
    planned
}
