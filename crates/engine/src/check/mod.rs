//! Checks between the parts of a scenario: unique names, and references to existing parts.

mod change;
mod handover;
mod multicast;
mod proxy;
mod service;

use crate::scenario::{groups, Endpoints, Flow, Islands, LinkPair, Scenario};
use bentpipe_congestion::{of_linux, CongestionError, LINUX};
use bentpipe_core::{NodeId, Problems, Span};
use bentpipe_link::arq::Frames;
use bentpipe_networks::node::proxy as proxies;
use bentpipe_networks::Part;
use bentpipe_scenario::{Loaded, Members, Renamed};
use bentpipe_transport::{self as transport, app, names, Control};
use std::collections::BTreeMap;

/// Maximum number of nodes in a network: node numbers have 16 bits in every packet, and the last
/// of them are multicast groups.
const NODES: usize = NodeId::FIRST_GROUP as usize;

impl bentpipe_scenario::Check for Scenario {
    const RENAMED: &'static [Renamed] =
        &[("access", "multilink"), ("handover.*.access", "multilink"), ("record.traces.access", "waits")];

    fn expanded(&self, problems: &mut Problems) -> Option<(Scenario, Members)> {
        groups::expanded(self, problems)
    }

    fn check(&self, problems: &mut Problems) {
        if self.name.is_empty() || self.name.contains(['/', '\\', '\0']) {
            problems.add(
                "name",
                format!("\"{}\" cannot name a folder; allowed: text without slashes", self.name),
            );
        }
        if self.duration == Span::ZERO {
            problems.add("duration", "must be longer than 0 s");
        }
        problems.within("record", |problems| self.record.check(problems));
        problems.within("fidelity", |problems| self.fidelity.check(problems));
        problems.within("campaign", |problems| {
            if let Some(campaign) = &self.campaign {
                campaign.check(problems);
            }
        });
        problems.within("link", |problems| {
            for link in &self.link {
                problems.within(&link.name, |problems| link.check(problems));
            }
        });
        problems.within("network", |problems| {
            for (name, network) in &self.network {
                problems.within(name, |problems| network.check(problems));
            }
        });
        unique("link", self.link.iter().map(|link| &link.name), problems);
        unique("proxy", self.proxy.iter().map(|proxy| &proxy.name), problems);
        unique("service", self.service.iter().map(|service| &service.name), problems);
        unique("flow", self.flow.iter().map(|flow| &flow.name), problems);
        unique("multilink", self.multilink.iter().map(|multilink| &multilink.name), problems);
        self.check_parts(problems);
        self.check_multilinks(problems);
        let islands = Islands::of(self);
        if islands.names.len() > NODES {
            problems.add("", format!("{} nodes; allowed: at most {NODES}", islands.names.len()));
        }
        for node in &self.record.capture {
            if !islands.names.contains_key(node.as_str()) {
                problems.within("record", |problems| problems.add("capture", islands.unknown(node)));
            }
        }
        problems.within("flow", |problems| self.check_flows(&islands, problems));
        problems.within("edge", |problems| self.check_edges(&islands, problems));
        if self.link.is_empty() && self.network.is_empty() {
            problems.add("", "has no link and no network; allowed: at least one [[link]] or [network.NAME]");
        }
        self.check_services(&islands, problems);
        if problems.count() == 0 {
            problems.within("flow", |problems| self.check_handover_signals(problems));
        }
        if problems.count() == 0 {
            problems.within("flow", |problems| self.check_multicast(problems));
        }
        if problems.count() == 0 && !self.change.is_empty() {
            problems.within("change", |problems| self.check_changes(problems));
        }
    }
}

/// Returns settings that are allowed but probably unintended, a sentence each with its position in
/// the text.
pub fn warnings(loaded: &Loaded<Scenario>) -> Vec<String> {
    let scenario = &loaded.value;
    let remarks = [scenario.check_run(), scenario.remarks()].map(|remarks| loaded.refuse(remarks));
    let warnings = remarks.into_iter().filter_map(Result::err).flat_map(|remark| remark.problems);
    warnings.map(|warning| warning.to_string()).collect()
}

impl Scenario {
    /// Returns the problems that prevent a complete run, such as missing flows. A network that only
    /// runs for other programs needs no flows.
    pub fn check_run(&self) -> Problems {
        let mut problems = Problems::default();
        if self.flow.is_empty() {
            problems.add("flow", "has no flow; allowed: at least one [[flow]]");
        }
        problems
    }

    /// Returns warnings about a valid scenario: settings that are allowed but probably unintended.
    pub fn remarks(&self) -> Problems {
        let mut remarks = Problems::default();
        remarks.within("link", |remarks| {
            for link in &self.link {
                remarks.within(&link.name, |remarks| link.remark(remarks));
            }
        });
        remarks.within("network", |remarks| {
            for (name, network) in &self.network {
                remarks.within(name, |remarks| network.remark(self.duration, remarks));
            }
        });
        remarks
    }

    /// Returns the problems that prevent a simulation but not an emulation: flows that need real
    /// hosts.
    pub fn check_simulated(&self) -> Problems {
        let mut problems = Problems::default();
        problems.within("flow", |problems| {
            for flow in &self.flow {
                problems.within(&flow.name, |problems| check_flow_simulated(flow, problems));
            }
        });
        problems.within("proxy", |problems| self.check_proxies_simulated(problems));
        problems
    }

    /// Adds the problems of ambiguous parts. The name of a part of a link, network or flow starts
    /// with the name of the link, network or flow. Two parts of the same name would draw the same
    /// random numbers and would be indistinguishable in results.
    fn check_parts(&self, problems: &mut Problems) {
        let mut seen = BTreeMap::new();
        let mut part = |(list, owner): (&str, &str), what: String, name: String, problems: &mut Problems| {
            let message = match seen.get(&name) {
                Some(other) if *other != what => {
                    format!("{other} and {what} would both have a part called \"{name}\"")
                }
                _ => {
                    seen.insert(name, what);
                    return;
                }
            };
            problems.within(list, |problems| problems.add(owner, message));
        };
        for LinkPair { name, .. } in &self.link {
            for part_name in [name.clone(), LinkPair::back_name(name)] {
                part(("link", name), format!("link \"{name}\""), part_name, problems);
            }
        }
        for multilink in &self.multilink {
            let name = &multilink.name;
            part(("multilink", name), format!("multilink \"{name}\""), name.clone(), problems);
        }
        for (name, network) in &self.network {
            for Part { name: part_name, what } in network.parts(name) {
                let what = what.unwrap_or_else(|| format!("network \"{name}\""));
                part(("network", name), what, part_name, problems);
            }
        }
        for at in self.all_services() {
            part((at.list, at.name), format!("{} \"{}\"", at.list, at.name), at.name.to_owned(), problems);
        }
        for Flow { name, from, to, .. } in &self.flow {
            for proxy in &self.proxy {
                let part_name = proxies::at(name, &proxy.name);
                part(
                    ("flow", name),
                    format!("proxy \"{}\" for flow \"{name}\"", proxy.name),
                    part_name,
                    problems,
                );
            }
            let is_end = |proxy: &&proxies::Config| proxy.name == *from || proxy.name == **to;
            let splits = |proxy: &&proxies::Config| proxies::Enhancement::splits(&*proxy.mechanism);
            for proxy in self.proxy.iter().filter(splits).filter(is_end) {
                let message = format!(
                    "proxy \"{}\" has the name of a node where this flow begins or ends: the legs of the flow would have the same name",
                    proxy.name
                );
                problems.within("flow", |problems| problems.add(name, message));
            }
            if name.contains(proxies::AT) {
                part(("flow", name), format!("flow \"{name}\""), name.clone(), problems);
            }
            for part_name in names::of(name) {
                part(("flow", name), format!("flow \"{name}\""), part_name, problems);
            }
        }
    }

    /// Returns the framing with the shortest maximum packet: its place, its kind, and the size of
    /// its longest packet in bytes.
    fn narrowest(&self) -> Option<(String, &'static str, u32)> {
        let links = self.link.iter().flat_map(|link| {
            let both = [(link.name.clone(), link.forward()), (LinkPair::back_name(&link.name), link.back())];
            both.map(|(name, config)| match &link.arq {
                None => (name, config.framing.kind(), config.framing.longest()),
                Some(_) => (name, "proximity-1", Frames::of(&config.framing).longest()),
            })
        });
        let networks = self.network.iter().flat_map(|(name, network)| network.framings(name));
        let networks = networks.map(|(name, framing)| (name, framing.kind(), framing.longest()));
        let all = links.chain(networks);
        all.filter(|(.., longest)| *longest < u32::MAX).min_by_key(|(.., longest)| *longest)
    }

    fn check_edges(&self, islands: &Islands, problems: &mut Problems) {
        let flows: Vec<&str> = self.flow.iter().map(|flow| flow.name.as_str()).collect();
        let nodes: Vec<&str> = islands.names.keys().map(AsRef::as_ref).collect();
        for (node, rules) in &self.edge {
            if !islands.names.contains_key(node.as_str()) {
                problems.add(node, islands.unknown(node));
            }
            problems.within(node, |problems| {
                for (index, rule) in rules.iter().enumerate() {
                    problems.within(index.to_string(), |problems| rule.check(&flows, &nodes, problems));
                }
            });
        }
    }

    fn check_flows(&self, islands: &Islands, problems: &mut Problems) {
        let narrowest = self.narrowest();
        for flow in &self.flow {
            problems.within(&flow.name, |problems| {
                if let (Some((name, kind, longest)), Some((size, sum))) = (&narrowest, largest_packet(flow)) {
                    if size > u64::from(*longest) {
                        let message = format!(
                            "its packets have up to {sum} = {size} bytes, but the framing {kind} of {name} carries no more \
                             than {longest}; allowed: smaller packets, or another framing"
                        );
                        problems.add("", message);
                    }
                }
                for (key, node) in [("from", &flow.from), ("to", &*flow.to)] {
                    if !islands.names.contains_key(node.as_str()) {
                        problems.add(key, islands.unknown(node));
                    }
                }
                if flow.from == *flow.to {
                    problems.add(
                        "to",
                        format!("\"{}\" is the flow's source; allowed: another node", *flow.to),
                    );
                } else if islands.apart(&flow.from, &flow.to) {
                    let (from, to) = (&flow.from, &*flow.to);
                    problems.add(
                        "to",
                        format!("\"{to}\" cannot be reached from \"{from}\": no links or networks connect them"),
                    );
                }
                problems.within("transport", |problems| {
                    flow.transport.check(problems);
                    if let Some(control) = flow.transport.control() {
                        check_congestion(control, flow.endpoints == Endpoints::Kernel, problems);
                    }
                });
                problems.within("app", |problems| flow.app.check(problems));
                if flow.is_command() && flow.endpoints == Endpoints::Model {
                    let message =
                        "a command needs real hosts; allowed: endpoints = \"kernel\", or another app";
                    problems.add("app", message);
                }
                if let Some(message) = mismatch(&flow.app, &flow.transport) {
                    problems.add("app", message);
                }
            });
        }
    }
}

/// Returns the reason why a transport does not carry an application, if any.
pub(crate) fn mismatch(app: &app::Config, transport: &transport::Config) -> Option<String> {
    match (app.calls().is_some(), transport.carries_calls()) {
        (false, true) => {
            let (app, transport) = (app.kind(), transport.kind());
            Some(format!("\"{app}\" places no calls; allowed over {transport}: calls"))
        }
        (true, false) => {
            Some("\"calls\" needs a transport that signals them; allowed: over sip or iax2".to_owned())
        }
        _ => transport.mismatch(app.kind(), &**app),
    }
}

/// Adds the problems of a congestion control and its parameters. With `kernel`, the kernel's own
/// congestion controls are allowed.
pub(super) fn check_congestion(control: Control<'_>, kernel: bool, problems: &mut Problems) {
    let parameter = |name: &str, message: String, problems: &mut Problems| {
        problems.within("parameters", |problems| problems.add(name, message));
    };
    match bentpipe_congestion::create(control.name, control.parameters) {
        Ok(_) => {}
        Err(CongestionError::UnknownVariant { name, known, .. }) if of_linux(&name).is_some() => {
            if !kernel {
                problems.add("congestion", not_simulated(&name, &known));
            }
            for parameter_name in control.parameters.keys() {
                let message =
                    format!("{name} is the Linux kernel's own and has no parameters; allowed: none");
                parameter(parameter_name, message, problems);
            }
        }
        Err(CongestionError::UnknownVariant { name, mut known, .. }) => {
            if kernel {
                known.extend(LINUX);
            }
            let message = format!("there is no congestion control \"{name}\"; allowed: {}", known.join(", "));
            problems.add("congestion", message);
        }
        Err(CongestionError::Refused { name, why }) => {
            let name = if name.is_empty() { "the source".to_owned() } else { name };
            problems.add("congestion", format!("{name} {why}"));
        }
        Err(CongestionError::UnknownParameter { variant, name, nearest, known }) => {
            let end = nearest.map_or(";".to_owned(), |nearest| format!(", did you mean \"{nearest}\"?"));
            let known = match known.is_empty() {
                true => {
                    "none (parameters = \"unset\" removes those that were set for another congestion control)"
                        .to_owned()
                }
                false => known.join(", "),
            };
            parameter(&name, format!("{variant} has no such parameter{end} allowed: {known}"), problems);
        }
        Err(CongestionError::OutOfRange { parameter: name, value, min, max, .. }) => {
            parameter(name, format!("{value} is out of range; allowed: {min} to {max}"), problems);
        }
        Err(CongestionError::WrongOrder { below, low, above, high, .. }) => {
            parameter(below, format!("{low} is above {above} = {high}; allowed: at most {above}"), problems);
        }
    }
}

fn check_flow_simulated(flow: &Flow, problems: &mut Problems) {
    if flow.is_command() {
        let message = "a command needs real hosts; allowed: `bentpipe emulate`, or another app";
        problems.add("app", message);
    }
    if let Some(control) = flow.transport.control() {
        problems.within("transport", |problems| check_congestion_simulated(control, problems));
    }
}

pub(super) fn check_congestion_simulated(control: Control<'_>, problems: &mut Problems) {
    if of_linux(control.name).is_some() {
        let known: Vec<_> = bentpipe_congestion::variants().iter().map(|variant| variant.name).collect();
        problems.add("congestion", not_simulated(control.name, &known));
    }
}

fn not_simulated(name: &str, known: &[&str]) -> String {
    format!("{name} is the Linux kernel's own and needs `bentpipe emulate`; allowed: {}", known.join(", "))
}

/// Returns the size in bytes of the largest packet of a flow, and the calculation of this size as
/// text; `None` if a program determines it.
fn largest_packet(flow: &Flow) -> Option<(u64, String)> {
    if flow.is_command() {
        return None;
    }
    flow.transport.largest_packet()
}

fn unique<'a>(list: &str, names: impl Iterator<Item = &'a String>, problems: &mut Problems) {
    let mut seen = BTreeMap::new();
    for (index, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, index) {
            problems.within(list, |problems| {
                // A reference by this name would find only the first one.
                problems.within(index.to_string(), |problems| {
                    let message =
                        format!("\"{name}\" is also the name of {list}.{first}; allowed: each name once");
                    problems.add("name", message);
                });
            });
        }
    }
}
