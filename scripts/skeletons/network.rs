//! {Title}: the medium between its nodes, in a sentence.
//!
//! Procedure, source, deviations, limits. In the skeleton, all stations share one medium, which
//! sends one packet at a time, in order of arrival.
//!
//! ```toml
//! [network.hall]
//! kind = "{kebab}"
//! rate = "2 Mbit/s"
//! delay = "1 us"
//! stations = ["desk", "printer", "door"]
//! ```

use crate::{AccessNetwork, Construction, OutsideRoutes, Part};
use bentpipe_core::{NodeId, Problems, Rate, Sample, Span, Tables, Time};
use bentpipe_link::queue;
use bentpipe_stage::facts::{self, Course, Crossing, Hop};
use bentpipe_stage::{DropReason, Held, Outbox, Packet, Port, Stage, Supply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The drop reason of a packet to whose destination no station leads.
pub const NO_STATION: DropReason = DropReason::new("no station leads there");

/// {Title}: the medium between its nodes, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Transmission rate of the medium.
    pub rate: Rate,
    /// Propagation delay between any two stations.
    pub delay: Span,
    /// Names of the nodes that share the medium.
    pub stations: Vec<String>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"rate = "1 Mbit/s", delay = "1 ms", stations = ["a", "b", "c"]"#;
}

impl Tables for Config {}

impl AccessNetwork for Config {
    fn nodes(&self) -> Vec<String> {
        self.stations.clone()
    }

    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        let hop = |_: &Crossing<'_>| Hop {
            part: name.to_owned(),
            rate_bit_s: Course::constant(self.rate.bits_per_second() as f64),
            delay_s: Course::constant(self.delay.as_secs_f64()),
            loss: 0.0,
            queue: facts::Queue::fifo("unlimited", None, None),
            access: Vec::new(),
            shared: vec![(name.to_owned(), self.rate.bits_per_second() as f64)],
            notes: Vec::new(),
        };
        crossings.iter().map(hop).collect()
    }

    fn queues(&self) -> Vec<(String, Rate, queue::Config)> {
        Vec::new()
    }

    fn parts(&self, name: &str) -> Vec<Part> {
        vec![Part::of_network(name.to_owned())]
    }

    fn check(&self, problems: &mut Problems) {
        if self.stations.len() < 2 {
            problems.add("stations", "fewer than two; allowed: two or more names of nodes");
        }
    }

    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>) {
        let nodes: Vec<NodeId> = self.stations.iter().map(|station| site.node(station)).collect();
        let build = move |beyond: OutsideRoutes, _: &mut dyn Supply| -> Box<dyn Stage> {
            Box::new(Medium::new(self, &beyond))
        };
        let stage = site.routing_stage(name, &nodes, Box::new(build));
        for (place, &from) in nodes.iter().enumerate() {
            let port = (stage, Port(place as u16));
            site.towards_node(port, from);
            for &to in nodes.iter().filter(|to| **to != from) {
                site.edge(from, to, port, self.delay);
            }
        }
    }
}

/// The medium: a port per station.
struct Medium {
    rate: Rate,
    delay: Span,
    /// The port that leads to each node.
    ports: BTreeMap<NodeId, Port>,
    /// Time at which the medium becomes free.
    free_at: Time,
    /// The packets in transmission or waiting, with arrival time and port.
    packets: VecDeque<(Time, Port, Packet)>,
}

impl Medium {
    fn new(config: &Config, beyond: &OutsideRoutes) -> Medium {
        let nearest = |delays: &[Option<Span>]| {
            let known = delays.iter().enumerate().filter_map(|(place, delay)| Some((delay.as_ref()?, place)));
            known.min().map(|(_, place)| Port(place as u16))
        };
        let ports = beyond.destinations.iter();
        let ports = ports.filter_map(|(node, delays)| Some((*node, nearest(delays)?))).collect();
        let (rate, delay) = (config.rate, config.delay);
        Medium { rate, delay, ports, free_at: Time::ZERO, packets: VecDeque::new() }
    }
}

impl Stage for Medium {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outbox) {
        let Some(&port) = self.ports.get(&packet.destination) else { return out.drop(packet, NO_STATION) };
        self.free_at = self.free_at.max(now) + self.rate.span_of(packet.size.into());
        self.packets.push_back((self.free_at + self.delay, port, packet));
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        while self.next_wake().is_some_and(|arrival| arrival <= now) {
            let Some((_, port, packet)) = self.packets.pop_front() else { return };
            out.send(port, packet);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.packets.front().map(|(arrival, ..)| *arrival)
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        self.packets.iter().for_each(|(_, _, packet)| held.add(packet));
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_medium_carries_one_packet_at_a_time() {
        let config: Config =
            serde_json::from_str(r#"{"rate": "1 Mbit/s", "delay": "1 ms", "stations": ["a", "b"]}"#).unwrap();
        let destinations = vec![(NodeId(1), vec![None, Some(Span::ZERO)])];
        let mut medium = Medium::new(&config, &OutsideRoutes { destinations, flows: Vec::new() });
        let mut out = Outbox::default();
        for _ in 0..2 {
            let packet = Packet { size: 1000, destination: NodeId(1), ..Packet::default() };
            medium.receive(Time::ZERO, Port(0), packet, &mut out);
        }
        // Each packet takes 8 ms on the medium, plus the delay.
        assert_eq!(medium.next_wake(), Some(Time::ZERO + Span::from_millis(9)));
        medium.wake(Time::ZERO + Span::from_millis(9), &mut out);
        assert_eq!(medium.next_wake(), Some(Time::ZERO + Span::from_millis(17)));
    }
}
