//! Integration of an ATM network in a scenario: its nodes, checks, stages, changes, and the
//! properties of its paths.

use super::abr;
use super::config::{slowest, Config, Frames};
use super::contract::Category;
use super::multicast::Trees;
use super::stage::{connection_name, Direction};
use crate::{AccessNetwork, Changing, Construction, Part};
use bentpipe_core::{Problems, Rate, Span};
use bentpipe_link::framing::atm::CELL;
use bentpipe_link::queue;
use bentpipe_stage::facts::{self, Course, Crossing, Hop};
use bentpipe_stage::Port;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Returns the names of the two stages of network `name`: the direction from the first node to the
/// second, and back.
fn directions(name: &str) -> [String; 2] {
    ["forward", "back"].map(|direction| format!("{name}.{direction}"))
}

/// Returns the first and the last node of a connection in one direction.
fn directed<Node>([first, second]: [Node; 2], back: bool) -> [Node; 2] {
    match back {
        false => [first, second],
        true => [second, first],
    }
}

impl AccessNetwork for Config {
    fn nodes(&self) -> Vec<String> {
        let mut nodes: Vec<String> = Vec::new();
        for node in self.pairs().flatten() {
            if !nodes.contains(node) {
                nodes.push(node.clone());
            }
        }
        nodes
    }

    fn multicast(&self, crossings: &BTreeSet<[&str; 2]>) -> Result<(), &'static str> {
        let roots: BTreeSet<&str> = crossings.iter().map(|[root, _]| *root).collect();
        for back in [false, true] {
            let ends: Vec<[&str; 2]> =
                self.pairs().map(|pair| directed(pair.each_ref().map(String::as_str), back)).collect();
            for root in &roots {
                let mut begin = ends.iter().enumerate().filter(|(_, ends)| ends[0] == *root);
                let leaves = begin.clone().filter(|(_, ends)| crossings.contains(*ends)).count();
                let abr = |(index, _)| self.contract_of(index).category == Category::Abr;
                if leaves > 1 && begin.next().is_some_and(abr) {
                    return Err(
                        "can copy cells of cbr, vbr and ubr, but not of abr, whose RM cells would need \
                                consolidation",
                    );
                }
            }
        }
        Ok(())
    }

    fn parts(&self, name: &str) -> Vec<Part> {
        directions(name).map(Part::of_network).to_vec()
    }

    fn check(&self, problems: &mut Problems) {
        let same = |ends: &[String; 2], problems: &mut Problems| {
            if ends[0] == ends[1] {
                problems.add("ends", format!("both are \"{}\"; allowed: two different nodes", ends[0]));
            }
        };
        same(&self.ends, problems);
        if self.legs.is_empty() {
            problems.add("legs", "there is none; allowed: one or more, such as [{ rate = \"2 Mbit/s\" }]");
        }
        for (index, leg) in self.legs.iter().enumerate() {
            problems.within("legs", |problems| {
                problems.within(index.to_string(), |problems| leg.check(problems));
            });
        }
        if let Some(access) = &self.access {
            problems.within("access", |problems| {
                access.check(problems);
                if access.marking.is_some() {
                    problems.add("marking", "an access line does not mark cells; allowed: in legs");
                }
            });
        } else if !self.others.is_empty() {
            problems.add("access", "others need it: the line between each node and its switch, such as { rate = \"149.76 Mbit/s\" }");
        }
        problems.within("contract", |problems| self.contract.check(problems));
        for (index, other) in self.others.iter().enumerate() {
            let [one, two] = &other.ends;
            let joined = |ends: &&[String; 2]| ends.contains(one) && ends.contains(two);
            let known = self.pairs().take(1 + index).any(|ends| joined(&ends));
            let own = |problems: &mut Problems| {
                same(&other.ends, problems);
                if known && one != two {
                    let text = format!(
                        "\"{one}\" and \"{two}\" have a connection already; allowed: another pair of nodes"
                    );
                    problems.add("ends", text);
                }
                problems.within("contract", |problems| other.contract.check(problems));
            };
            problems.within("others", |problems| problems.within(index.to_string(), own));
        }
    }

    fn changing(&self, name: &str) -> Option<Changing> {
        Some(Changing { stages: directions(name).to_vec(), config: Arc::new(self.clone()) })
    }

    fn check_change(&self, start: &Changing, problems: &mut Problems) {
        let start: &Config =
            start.config.downcast_ref().expect("a change does not change the kind of a network");
        if self.legs.len() != start.legs.len() {
            let text = format!("the number of legs cannot change; allowed: {}", start.legs.len());
            problems.add("legs", text);
        }
        if self.access.is_some() != start.access.is_some() {
            problems.add("access", "cannot be added or removed while the network runs");
        }
        for index in 0..self.connections().min(start.connections()) {
            let (after, before) = (self.contract_of(index), start.contract_of(index));
            let abr = [after, before].iter().any(|contract| contract.category == Category::Abr);
            let mut refuse = |key, text| {
                let add = |problems: &mut Problems| {
                    problems.within("contract", |problems| problems.add(key, text));
                };
                match index.checked_sub(1) {
                    None => add(problems),
                    Some(other) => {
                        problems.within("others", |problems| problems.within(other.to_string(), add))
                    }
                }
            };
            if after.category != before.category && (abr || !start.others.is_empty()) {
                let text = "cannot change while the network runs, as it determines the priority of cells";
                refuse("category", text);
            } else if abr && after != before {
                let key = if after.peak == before.peak { "abr" } else { "peak" };
                refuse(key, "of an ABR connection cannot change while the network runs");
            }
        }
        if !self.pairs().eq(start.pairs()) {
            problems
                .add("others", "connections cannot change while the network runs; allowed: their contracts");
        }
        for (index, (leg, before)) in self.legs.iter().zip(&start.legs).enumerate() {
            let refuse = |problems: &mut Problems| leg.check_change(before, problems);
            problems.within("legs", |problems| problems.within(index.to_string(), refuse));
        }
        if let (Some(leg), Some(before)) = (&self.access, &start.access) {
            problems.within("access", |problems| leg.check_change(before, problems));
        }
    }

    fn remark(&self, _duration: Span, remarks: &mut Problems) {
        let slowest = self.slowest().1;
        let abr = self.contract.category == Category::Abr;
        if let Some(peak) = self.contract.peak.filter(|peak| !abr && peak.bits_per_second() as f64 > slowest)
        {
            let text = format!("{peak} is more than the slowest leg carries, so that it limits nothing");
            remarks.within("contract", |remarks| remarks.add("peak", text));
        }
        for (index, leg) in self.legs.iter().enumerate() {
            if leg.error.expected_loss(0, f64::from(CELL)) >= 1.0 {
                let at = |remarks: &mut Problems| {
                    remarks.add("error", "every cell is lost, so that nothing arrives")
                };
                remarks.within("legs", |remarks| remarks.within(index.to_string(), at));
            }
        }
    }

    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>) {
        let pairs: Vec<_> = self.pairs().map(|[one, two]| [site.node(one), site.node(two)]).collect();
        let delay = self.lines().fold(Span::ZERO, |sum, leg| sum + leg.delay);
        let count = pairs.len() as u16;
        let mut stages = Vec::new();
        for (back, stage_name) in directions(name).into_iter().enumerate() {
            let stream = site.streams().stream(&stage_name);
            let probes = (0..pairs.len()).map(|index| {
                let abr = self.contract_of(index).category == Category::Abr;
                abr.then(|| site.probe(&abr::TRACE, &connection_name(&stage_name, index))).flatten()
            });
            let probes = probes.collect();
            let mut stage = Direction::new(&stage_name, self, back == 1, stream, probes);
            let ends: Vec<_> = pairs.iter().map(|nodes| directed(*nodes, back == 1)).collect();
            stage.copy_by(Trees::new(site.copying(), &ends));
            let stage = site.stage(&stage_name, Box::new(stage));
            for (port, [from, to]) in (0..).map(Port).zip(ends) {
                site.towards_node((stage, port), to);
                site.edge(from, to, (stage, port), delay);
            }
            stages.push(stage);
        }
        // RM cells pass between the directions through further ports of each connection.
        for index in
            (0..count).filter(|index| self.contract_of(usize::from(*index)).category == Category::Abr)
        {
            for port in [Port(count + index), Port(2 * count + index)] {
                site.wire((stages[0], port), (stages[1], port));
                site.wire((stages[1], port), (stages[0], port));
            }
        }
    }

    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        let [forward, back] = directions(name);
        let hop = |crossing: &Crossing<'_>| {
            let bytes = crossing.traffic.bytes;
            let Frames { cells, mut efficiency } = self.frames(bytes);
            let (leg, mut rate) = self.slowest();
            let joins = |ends: &&[String; 2]| {
                ends.iter().any(|end| end == crossing.from) && ends.iter().any(|end| end == crossing.to)
            };
            let (index, ends) = self
                .pairs()
                .enumerate()
                .find(|(_, ends)| joins(ends))
                .expect("a crossing joins the ends of a connection");
            let contract = self.contract_of(index);
            if let Some(peak) = contract.peak.filter(|_| contract.shaping) {
                rate = rate.min(contract.sustainable.unwrap_or(peak).bits_per_second() as f64);
            }
            if contract.category == Category::Abr {
                let peak = contract.peak.map_or(f64::INFINITY, |peak| peak.bits_per_second() as f64);
                rate = rate.min(peak).min(self.marked_rate());
                // One of Nrm cells is an RM cell.
                let nrm = contract.flow_control().nrm.value() as f64;
                efficiency *= (nrm - 1.0) / nrm;
            }
            let part = if crossing.from == ends[0] { forward.clone() } else { back.clone() };
            let packets = (leg.buffer.value() as f64 / cells) as u64;
            // All connections share the legs. An access line and a shaper belong to a single
            // connection.
            let common = match self.others.is_empty() {
                true => rate,
                false => slowest(self.legs.iter()).map_or(rate, |(_, rate)| rate),
            };
            Hop {
                shared: vec![(part.clone(), common)],
                part,
                rate_bit_s: Course::constant(rate),
                delay_s: Course::constant(self.passing(bytes)),
                loss: self.loss(bytes),
                queue: facts::Queue::fifo("cells", Some(packets), None),
                access: Vec::new(),
                notes: self.notes(contract),
            }
            .within(efficiency)
        };
        crossings.iter().map(hop).collect()
    }

    fn queues(&self) -> Vec<(String, Rate, queue::Config)> {
        Vec::new()
    }
}
