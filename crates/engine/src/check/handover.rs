//! Checks of multilinks, their links, and the handovers between the links.

use crate::handovers;
use crate::layout::lay;
use crate::scenario::{Handover, LinkPair, Scenario};
use bentpipe_core::{Problems, Recorder, Span, Streams};
use bentpipe_networks::multilink::{self, policy};
use bentpipe_transport as transport;
use std::collections::{BTreeMap, BTreeSet};

impl Scenario {
    pub(super) fn check_multilinks(&self, problems: &mut Problems) {
        let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
        for multilink in &self.multilink {
            problems.within("multilink", |problems| {
                problems.within(&multilink.name, |problems| {
                    self.check_links(multilink, problems);
                    for link in &multilink.links {
                        let closes = |pair: &&LinkPair| pair.name == *link && pair.contacts.is_some();
                        if self.link.iter().any(|pair| closes(&pair)) {
                            let message =
                                format!("\"{link}\" has contacts; allowed: links that are always open");
                            problems.add("links", message);
                        }
                        let repeats = |pair: &&LinkPair| pair.name == *link && pair.arq.is_some();
                        if self.link.iter().any(|pair| repeats(&pair)) {
                            problems.add("links", format!("\"{link}\" has arq; allowed: links without"));
                        }
                        if let Some(other) = taken.insert(link, &multilink.name) {
                            let message =
                                format!("\"{link}\" already belongs to \"{other}\"; allowed: another link");
                            problems.add("links", message);
                        }
                    }
                    if multilink.back.as_ref().is_some_and(|back| !multilink.links.contains(back)) {
                        let back = multilink.back.as_deref().unwrap_or_default();
                        let links = multilink.links.join(", ");
                        problems
                            .add("return", format!("\"{back}\" is not one of its links; allowed: {links}"));
                    }
                    problems.within("policy", |problems| multilink.policy.check(&multilink.links, problems));
                });
            });
        }
        problems.within("handover", |problems| {
            for (place, handover) in self.handover.iter().enumerate() {
                problems.within(place.to_string(), |problems| self.check_reference(handover, problems));
            }
            for multilink in &self.multilink {
                self.check_plan(multilink, problems);
            }
        });
    }

    /// Adds the problems of flows that react to handovers but have none on their path, for a
    /// scenario that is otherwise valid.
    pub(super) fn check_handover_signals(&self, problems: &mut Problems) {
        for flow in &self.flow {
            let signals = flow.transport.tcp().is_some_and(|config| !config.on_handover.is_empty());
            let key = match &flow.transport {
                transport::Config::Quic(config) if config.migration => "migration",
                _ if signals => "on_handover",
                _ => continue,
            };
            let mut layout = lay(self, Streams::new(0, 0), Recorder::default());
            if !handovers::any(&mut layout, self, flow) {
                problems.within(&flow.name, |problems| {
                    let message = "no [[handover]] on the flow's path whose time the ends could know; allowed: with a flow over \
                                   a [[multilink]] that has some";
                    problems.within("transport", |problems| problems.add(key, message));
                });
            }
        }
    }

    fn check_links(&self, multilink: &multilink::Config, problems: &mut Problems) {
        let ends = |name: &String| {
            let link = self.link.iter().find(|link| link.name == *name)?;
            Some((&link.from, &link.to))
        };
        let Some(first) = multilink.links.first() else {
            return problems.add("links", "has no links; allowed: at least one");
        };
        for link in &multilink.links {
            match (ends(link), ends(first)) {
                (None, _) => {
                    let names: Vec<_> = self.link.iter().map(|link| link.name.as_str()).collect();
                    let allowed = names.join(", ");
                    problems.add("links", format!("unknown link \"{link}\"; allowed: {allowed}"));
                }
                (Some(ends), Some(all)) if ends != all => {
                    let (message, (from, to)) =
                        (format!("\"{link}\" leads from \"{}\" to \"{}\"", ends.0, ends.1), all);
                    problems.add(
                        "links",
                        format!("{message}; allowed: from \"{from}\" to \"{to}\", as \"{first}\""),
                    );
                }
                _ => {}
            }
        }
    }

    fn check_reference(&self, handover: &Handover, problems: &mut Problems) {
        let names =
            || self.multilink.iter().map(|multilink| multilink.name.as_str()).collect::<Vec<_>>().join(", ");
        let multilink = match &handover.multilink {
            _ if self.multilink.is_empty() => {
                return problems
                    .add("", "the scenario has no multilink; allowed: with a [[multilink]] of its links");
            }
            Some(name) => self.multilink.iter().find(|multilink| multilink.name == *name),
            None if self.multilink.len() == 1 => self.multilink.first(),
            None => {
                return problems
                    .add("multilink", format!("must be given, as there are several; allowed: {}", names()))
            }
        };
        let Some(multilink) = multilink else {
            return problems.add("multilink", format!("unknown multilink; allowed: {}", names()));
        };
        if !multilink.links.contains(&handover.to) {
            let links = multilink.links.join(", ");
            problems.add(
                "to",
                format!("\"{}\" is not a link of \"{}\"; allowed: {links}", handover.to, multilink.name),
            );
        }
        if !matches!(multilink.policy, policy::Config::Schedule(_)) {
            let (name, kind) = (&multilink.name, multilink.policy.kind());
            let message =
                format!("\"{name}\" decides by its policy \"{kind}\"; allowed: policy = \"schedule\"");
            problems.add("", message);
        }
    }

    /// Adds the problems of overlapping handovers: each must end before the next one starts, and
    /// before the run ends.
    fn check_plan(&self, multilink: &multilink::Config, problems: &mut Problems) {
        let first = multilink.links.first();
        // A problem of a handover of both directions is reported once.
        let mut wrong = BTreeSet::new();
        for side in [0, 1] {
            let mut serving = if side == 1 { multilink.back.as_ref().or(first) } else { first };
            let mut over = (Span::ZERO, 0);
            for (place, handover) in self.planned(multilink) {
                if !handover.direction.includes(side) {
                    continue;
                }
                let how = handover.how(multilink);
                let end = handover.at + how.interruption.max(how.overlap);
                let mut found = Problems::default();
                found.within(place.to_string(), |problems| {
                    if handover.at < over.0 {
                        let (end, other) = (over.0, over.1);
                        let message = format!("{} is before the end of handover {other}; allowed: from {end} on", handover.at);
                        problems.add("at", message);
                    }
                    if end > self.duration {
                        let (length, duration) = (how.interruption.max(how.overlap), self.duration);
                        let message = format!("with {length} it lasts until {end}, longer than the run; allowed: up to {duration}");
                        problems.add("at", message);
                    }
                    let same = serving.is_some_and(|link| *link == handover.to);
                    if same && (how.interruption == Span::ZERO || how.overlap > Span::ZERO) {
                        let message = "serves already; allowed: another link, or an interruption without an overlap";
                        problems.add("to", format!("\"{}\" {message}", handover.to));
                    }
                });
                let found = found.into_vec();
                if !found.is_empty() && wrong.insert(place) {
                    found.into_iter().for_each(|problem| problems.adopt(problem));
                }
                (serving, over) = (Some(&handover.to), (end, place));
            }
        }
    }
}
