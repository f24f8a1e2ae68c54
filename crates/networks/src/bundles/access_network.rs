//! Integration of a delay-tolerant network in a scenario: its nodes, checks, stage, and the
//! properties of its paths.

use super::stage::Agents;
use super::Config;
use crate::{AccessNetwork, Construction, Part};
use bentpipe_core::{NodeId, Problems, Rate, Size, Span, Time};
use bentpipe_stage::facts::{self, Course, Crossing, Hop};
use bentpipe_stage::Port;
use std::collections::BTreeSet;

impl AccessNetwork for Config {
    fn nodes(&self) -> Vec<String> {
        self.plan.plan().nodes().to_vec()
    }

    fn named_after_nodes(&self) -> (&'static str, Vec<String>) {
        ("", Vec::new())
    }

    fn multicast(&self, _crossings: &BTreeSet<[&str; 2]>) -> Result<(), &'static str> {
        Err("stores each packet as a bundle for one node")
    }

    fn parts(&self, name: &str) -> Vec<Part> {
        vec![Part::of_network(name.to_owned())]
    }

    fn check(&self, problems: &mut Problems) {
        self.plan.check(self.skip_impossible, problems);
        problems.within("error", |problems| self.error.check(problems));
        if self.segment.bytes() < 64 {
            problems.add("segment", format!("is {}; allowed: 64 B or more", self.segment));
        }
        if self.lifetime == Span::ZERO {
            problems.add("lifetime", "must be longer than 0 s");
        }
        let plan = self.plan.plan();
        for (index, outage) in self.outages.iter().enumerate() {
            problems.within("outages", |problems| {
                let key = index.to_string();
                for name in [&outage.from, &outage.to].into_iter().filter(|name| plan.node(name).is_none()) {
                    let known = plan.nodes().join(", ");
                    problems.add(&key, format!("has the unknown node \"{name}\"; allowed: {known}"));
                }
                if outage.end <= outage.start {
                    problems.add(
                        &key,
                        format!(
                            "ends at {} and starts at {}; allowed: an end after its start",
                            outage.end, outage.start
                        ),
                    );
                }
            });
        }
    }

    fn remark(&self, duration: Span, remarks: &mut Problems) {
        self.plan.remark(remarks);
        let late = self.plan.plan().contacts().iter().all(|contact| contact.start >= Time::ZERO + duration);
        if late {
            remarks.add("plan", format!("has no contact within the run of {duration}"));
        }
    }

    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>) {
        let names = self.nodes();
        let nodes: Vec<NodeId> = names.iter().map(|node| site.node(node)).collect();
        let numbers = nodes.clone();
        let build =
            Box::new(move |outside: crate::OutsideRoutes, supply: &mut dyn bentpipe_stage::Supply| {
                let stage = Agents::new(name, self, &numbers, outside, supply.stream(name));
                Box::new(stage) as Box<dyn bentpipe_stage::Stage>
            });
        let stage = site.routing_stage(name, &nodes, build);
        for (index, from) in nodes.iter().enumerate() {
            let port = (stage, Port(index as u16));
            site.towards_node(port, *from);
            for (other, to) in nodes.iter().enumerate().filter(|(other, _)| *other != index) {
                // Agents also forward over several contacts. Nodes without a direct contact get a
                // longer delay than all others.
                let delay = self.delay(&names[index], &names[other]).unwrap_or(Span::from_secs(86_400));
                site.edge(*from, *to, port, delay);
            }
        }
    }

    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        let plan = self.plan.plan();
        let rate = plan
            .contacts()
            .iter()
            .map(|contact| contact.rate.bits_per_second())
            .fold(f64::INFINITY, f64::min);
        let hop = |crossing: &Crossing<'_>| Hop {
            part: name.to_owned(),
            rate_bit_s: Course::constant(rate),
            delay_s: Course::constant(self.delay(crossing.from, crossing.to).map_or(0.0, Span::as_secs_f64)),
            loss: 0.0,
            queue: facts::Queue::fifo("bundles", None, self.storage.map(Size::bytes)),
            access: Vec::new(),
            shared: vec![(name.to_owned(), rate)],
            notes: vec![
                "bundles are stored and forwarded in contacts, of which the prediction knows nothing"
                    .to_owned(),
            ],
        };
        crossings.iter().map(hop).collect()
    }

    fn queues(&self) -> Vec<(String, Rate, bentpipe_link::queue::Config)> {
        Vec::new()
    }
}
