//! Checks of multicast flows.

use crate::layout::lay;
use crate::scenario::{Flow, Scenario};
use bentpipe_core::{NodeId, Problems, Recorder, Streams};
use bentpipe_networks::{multicast, Construction};
use bentpipe_transport::app::Answers;
use std::collections::BTreeSet;

impl Scenario {
    /// Adds the problems of multicast flows, for a scenario that is otherwise valid.
    pub(super) fn check_multicast(&self, problems: &mut Problems) {
        let groups = self.groups();
        if groups.is_empty() {
            return;
        }
        let mut layout = lay(self, Streams::new(0, 0), Recorder::default());
        for (number, (name, members)) in groups.into_iter().enumerate() {
            let first = &self.flow[members[0]];
            let mut nodes = BTreeSet::new();
            for flow in members.iter().map(|index| &self.flow[*index]) {
                problems.within(&flow.name, |problems| check_member(flow, first, problems));
                if !nodes.insert(&*flow.to) {
                    let message =
                        format!("\"{}\" receives \"{name}\" twice; allowed: each node once", *flow.to);
                    problems.within(&flow.name, |problems| problems.add("to", message));
                }
                if self.has_stand_in(flow) {
                    let message = format!(
                        "a service at \"{}\" replaces the receiver; allowed: nodes without such a service",
                        *flow.to
                    );
                    problems.within(&flow.name, |problems| problems.add("to", message));
                }
            }
            problems.within(&first.name, |problems| {
                if number >= usize::from(NodeId::GROUPS) {
                    let message = format!("too many multicast groups; allowed: {}", NodeId::GROUPS);
                    problems.add("multicast", message);
                }
                if members.len() > multicast::RECEIVERS {
                    let message = format!("too many receivers; allowed: {}", multicast::RECEIVERS);
                    problems.add("multicast", message);
                }
                let from = layout.node(&first.from);
                let receivers: Vec<NodeId> = nodes.iter().map(|node| layout.node(node)).collect();
                for (part, edges) in layout.parts_of_tree(from, &receivers) {
                    let Some(network) = self.network.get(part) else { continue };
                    let crossings: BTreeSet<[&str; 2]> =
                        edges.iter().map(|nodes| nodes.map(|node| layout.name(node))).collect();
                    if let Err(reason) = network.multicast(&crossings) {
                        let message = format!(
                            "the network \"{part}\" ({}) on the way to its receivers {reason}; allowed: a flow per \
                             receiver, or receivers on other paths",
                            network.kind()
                        );
                        problems.add("multicast", message);
                    }
                }
            });
        }
    }
}

/// Adds the problems of a flow of a group, whose source is that of the flow `first`.
fn check_member(flow: &Flow, first: &Flow, problems: &mut Problems) {
    if let Err(reason) = flow.transport.multicast() {
        let kind = flow.transport.kind();
        problems.add("transport", format!("{kind} {reason}; allowed with multicast: udp and norm"));
    }
    if flow.app.answers() != Answers::Nothing {
        let message = format!(
            "\"{}\" expects answers; allowed with multicast: applications without, such as cbr",
            flow.app.kind()
        );
        problems.add("app", message);
    }
    let differs = [
        ("from", flow.from != first.from),
        ("app", flow.app != first.app),
        ("transport", flow.transport != first.transport),
        ("start", flow.start != first.start),
        ("dscp", flow.dscp != first.dscp),
    ];
    for (key, _) in differs.into_iter().filter(|(_, differs)| *differs) {
        let message = format!(
            "differs from that of \"{}\", which has the same multicast group; allowed: the same",
            first.name
        );
        problems.add(key, message);
    }
}
