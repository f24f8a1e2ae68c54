//! Signals about handovers to the ends of flows that react to handovers.

use crate::builder::Builder;
use crate::scenario::{Flow, LinkPair, Scenario};
use bentpipe_core::{NodeId, Rate, Span, Time};
use bentpipe_link as link;
use bentpipe_networks::fate::Fate;
use bentpipe_networks::multilink;
use bentpipe_networks::multilink::policy::Decision;
use bentpipe_networks::Construction;
use bentpipe_transport::app::End;
use bentpipe_transport::tcp;
use bentpipe_transport::tcp::handover::{Adapt, Freeze, OnHandover};

/// Returns the TCP configuration of an end of `flow`, with signals about the handovers on its path:
/// the intervals in which a link is down, and the properties of the new paths.
///
/// The ends are warned of handovers that interrupt the path or drop packets. They adapt when the
/// new link is up. The round-trip time in a signal is the time of a full segment in each direction,
/// without queues, with the rates and delays at the start of the run.
pub fn with_handover_signals(
    layout: &mut Builder<'_>,
    scenario: &Scenario,
    flow: &Flow,
    config: &tcp::Config,
    end: End,
) -> tcp::Config {
    let mut config = config.clone();
    if config.on_handover.is_empty() {
        return config;
    }
    let mut path = Path::of(layout, scenario, flow);
    let packet = config.segment_size.value() + u64::from(config.header_bytes());
    let ahead = |path: &Path<'_>| config.freeze_warning.unwrap_or_else(|| path.round_trip(packet));
    for (at, place, decision) in path.orders() {
        let before = ahead(&path);
        let changes = path.follow(place, &decision);
        let multilink::Handover { interruption, overlap, packets } = decision.handover;
        let breaks = interruption > Span::ZERO || (packets == Fate::Lose && overlap == Span::ZERO);
        if breaks && config.on_handover.contains(&OnHandover::Freeze) {
            let free = config.freeze.last().map_or(Span::ZERO, |one| one.until);
            let (at, until) = (at.saturating_sub(before).max(free), at + interruption);
            if at < until {
                config.freeze.push(Freeze { at, until });
            }
        }
        if changes && config.on_handover.contains(&OnHandover::Adapt) {
            if let Some(rate) = path.rate(end) {
                let round_trip = path.round_trip(packet);
                config.adapt.push(Adapt { at: at + interruption, rate, round_trip });
            }
        }
    }
    config
}

/// Returns true if a multilink with planned handovers is on the path of `flow`.
pub fn any(layout: &mut Builder<'_>, scenario: &Scenario, flow: &Flow) -> bool {
    !Path::of(layout, scenario, flow).orders().is_empty()
}

/// Returns the times at which planned handovers have moved the path of `flow` to another link, in
/// order.
pub fn path_changes(layout: &mut Builder<'_>, scenario: &Scenario, flow: &Flow) -> Vec<Time> {
    let mut path = Path::of(layout, scenario, flow);
    let orders = path.orders().into_iter();
    let changes = orders.filter_map(|(at, place, decision)| {
        let changes = path.follow(place, &decision);
        changes.then_some(Time::ZERO + at + decision.handover.interruption)
    });
    let mut times: Vec<Time> = changes.collect();
    times.sort_unstable();
    times
}

/// A path in both directions, and the links in use on it.
struct Path<'a> {
    scenario: &'a Scenario,
    hops: [Vec<Hop<'a>>; 2],
    /// The multilinks on the path, each with the index of the link in use in each direction.
    serving: Vec<(&'a multilink::Config, [usize; 2])>,
}

enum Hop<'a> {
    /// A link or a network, with its delay and, for a link, its rate.
    Fixed(Span, Option<Rate>),
    /// The multilink with this index in `serving`, in one direction, from this node.
    Multilink(usize, &'a str),
}

impl<'a> Path<'a> {
    fn of(layout: &mut Builder<'_>, scenario: &'a Scenario, flow: &'a Flow) -> Path<'a> {
        let ends = [layout.node(&flow.from), layout.node(&flow.to)];
        let mut path = Path { scenario, hops: Default::default(), serving: Vec::new() };
        for (side, (from, to)) in [(ends[0], ends[1]), (ends[1], ends[0])].into_iter().enumerate() {
            for (node, part) in layout.path(from, to).unwrap_or_default() {
                let hop = path.hop(layout, node, part);
                path.hops[side].push(hop);
            }
        }
        path
    }

    fn hop(&mut self, layout: &Builder<'_>, node: NodeId, part: &str) -> Hop<'a> {
        let from = layout.name(node);
        if let Some(multilink) = self.scenario.multilink.iter().find(|multilink| multilink.name == part) {
            let first = self.link(multilink, 0);
            let from = if first.from == from { &first.from } else { &first.to };
            let known = self.serving.iter().position(|(other, _)| other.name == multilink.name);
            let place = known.unwrap_or_else(|| {
                let place = |name: &String| multilink.links.iter().position(|link| link == name);
                let back = multilink.back.as_ref().and_then(place).unwrap_or(0);
                self.serving.push((multilink, [0, back]));
                self.serving.len() - 1
            });
            return Hop::Multilink(place, from);
        }
        match self.scenario.link.iter().find(|link| link.name == part) {
            Some(link) => {
                let config = direction(link, from);
                Hop::Fixed(config.delay, Some(*config.rate))
            }
            None => Hop::Fixed(layout.delay(node, part), None),
        }
    }

    fn link(&self, multilink: &multilink::Config, place: usize) -> &'a LinkPair {
        let name = &multilink.links[place];
        self.scenario
            .link
            .iter()
            .find(|link| link.name == *name)
            .expect("the check of the scenario has found every link of a multilink")
    }

    /// Returns the planned handovers on the path, in order of time: the time, the index of the
    /// multilink, and the handover.
    fn orders(&self) -> Vec<(Span, usize, Decision)> {
        let planned = self.serving.iter().enumerate().flat_map(|(place, (multilink, _))| {
            let orders = self.scenario.schedule_of(multilink).into_iter();
            orders.map(move |(at, decision)| (at.since(Time::ZERO), place, decision))
        });
        let mut planned: Vec<_> = planned.collect();
        planned.sort_by_key(|(at, ..)| *at);
        planned
    }

    /// Applies a completed handover. Returns true if another link is now in use.
    fn follow(&mut self, place: usize, decision: &Decision) -> bool {
        let before = self.serving[place].1;
        for (side, serving) in self.serving[place].1.iter_mut().enumerate() {
            if decision.direction.includes(side) {
                *serving = decision.to;
            }
        }
        before != self.serving[place].1
    }

    /// Returns the delay and the rate of a hop.
    fn of_hop(&self, hop: &Hop<'a>) -> (Span, Option<Rate>) {
        match hop {
            Hop::Fixed(delay, rate) => (*delay, *rate),
            Hop::Multilink(place, from) => {
                let (multilink, serving) = &self.serving[*place];
                let side = usize::from(self.link(multilink, 0).from != *from);
                let config = direction(self.link(multilink, serving[side]), from);
                (config.delay, Some(*config.rate))
            }
        }
    }

    /// Returns the round-trip time of a packet of this size in bytes, without queues.
    fn round_trip(&self, packet: u64) -> Span {
        let hops = self.hops.iter().flatten().map(|hop| self.of_hop(hop));
        hops.fold(Span::ZERO, |sum, (delay, rate)| {
            let sending = rate.map_or(Span::ZERO, |rate| rate.span_of(packet));
            sum + delay + sending
        })
    }

    /// Returns the minimum rate on the path in the direction from `end`.
    fn rate(&self, end: End) -> Option<Rate> {
        let side = usize::from(end == End::Destination);
        self.hops[side].iter().filter_map(|hop| self.of_hop(hop).1).min_by_key(|rate| rate.bits_per_second())
    }
}

/// Returns the direction of a link that starts at `from`.
fn direction(link: &LinkPair, from: &str) -> link::Config {
    if link.from == from {
        link.forward()
    } else {
        link.back()
    }
}
