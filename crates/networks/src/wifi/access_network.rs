//! Integration of a Wi-Fi network in a scenario: its nodes, checks, stage, and the properties of
//! its paths.

use super::cell::Link;
use super::config::{Config, Member, Stack, MAX_STATIONS};
use super::counters::TRACE;
use super::stage::{Medium, Parts};
use super::{config, ACK};
use crate::node::gate;
use crate::{AccessNetwork, Construction, Part, RadioLink};
use bentpipe_core::{NodeId, Problems, Rate, Span};
use bentpipe_link::channel::Frame;
use bentpipe_link::queue;
use bentpipe_stage::facts::{Course, Crossing, Hop};
use bentpipe_stage::Port;
use std::collections::BTreeSet;

/// Returns the name, in results, of a station of network `name`.
pub fn station(name: &str, member: &Member<'_>) -> String {
    format!("{name}.{}", member.name())
}

impl Config {
    /// Returns true if station `one` hears station `other`.
    fn hears(&self, one: &str, other: &str) -> bool {
        one == other || self.hears.get(one).is_none_or(|heard| heard.iter().any(|name| name == other))
    }

    /// Returns the directed links over which frames are exchanged: between each station and the
    /// access point, or, in an ad hoc network, between stations that hear each other.
    pub fn links(&self) -> Vec<Link> {
        let names: Vec<String> = self.members().iter().map(Member::name).collect();
        let mut links = Vec::new();
        for (from, one) in names.iter().enumerate() {
            for (to, other) in names.iter().enumerate() {
                let joined = self.access_point.is_none() || from == 0 || to == 0;
                if from != to && joined && self.hears(one, other) && self.hears(other, one) {
                    links.push(Link { from, to });
                }
            }
        }
        links
    }

    /// Returns, for each station, the indices of the stations that hear it, including itself.
    /// Returns `None` if every station hears every other one.
    pub fn heard_by(&self) -> Option<Vec<Vec<u16>>> {
        let names: Vec<String> = self.members().iter().map(Member::name).collect();
        let of = |sender: &String| -> Vec<u16> {
            (0..).zip(&names).filter(|(_, name)| self.hears(name, sender)).map(|(index, _)| index).collect()
        };
        let lists: Vec<Vec<u16>> = names.iter().map(of).collect();
        lists.iter().any(|list| list.len() < names.len()).then_some(lists)
    }

    /// Adds the gates to the kernel's radios. Returns false if this run uses no kernel radios.
    fn build_radios<'a>(
        &self,
        name: &str,
        links: &[Link],
        nodes: &[NodeId],
        site: &mut dyn Construction<'a>,
    ) -> bool {
        for &Link { from, to } in links {
            let link = RadioLink { network: name.to_owned(), node: nodes[from], station: from, peer: to };
            let Some(gate) = site.radio(&format!("{name}.radio.{from}.{to}"), link) else { return false };
            site.towards_node((gate, Port(0)), nodes[from]);
            site.edge(nodes[from], nodes[to], (gate, gate::NETWORK), self.delay);
        }
        true
    }

    /// Returns the mean duration of a frame exchange without contention: DIFS, the mean back-off,
    /// the data frame and its acknowledgment.
    fn exchange(&self, rate: usize, bytes: u32, frames: u32) -> Span {
        let rules = self.rules();
        let (phy, overhead) = (&rules.phy, self.overhead());
        let access = rules.access[rules.access.len() / 2];
        let back_off = phy.space(access.aifs) + phy.slot * u64::from(access.cw_min) / 2;
        let subframe = 4 + (bytes + overhead).div_ceil(4) * 4;
        let (sent, answer) = match frames {
            1 => (bytes + overhead, ACK),
            _ => (subframe * frames, super::BLOCK_ACK),
        };
        let protection = if phy.protection { phy.protecting() + phy.sifs } else { Span::ZERO };
        let rts = match sent > rules.rts_threshold {
            true => phy.control(rate, super::RTS) + phy.control(rate, super::CTS) + phy.sifs * 2,
            false => Span::ZERO,
        };
        let answered = phy.sifs + phy.control(rate, answer) + self.delay * 2;
        back_off + protection + rts + phy.data(rate, sent) + answered
    }

    /// Returns the number of packets of `bytes` bytes that fit into the longest allowed aggregate.
    fn aggregated(&self, rate: usize, bytes: u32) -> u32 {
        let rules = self.rules();
        let subframe = 4 + (bytes + self.overhead()).div_ceil(4) * 4;
        let longest = Span::from_micros(5484);
        let fits = |count: &u32| {
            subframe * count <= rules.aggregate && rules.phy.data(rate, subframe * count) <= longest
        };
        (2..=rules.window as u32).take_while(fits).last().unwrap_or(1)
    }
}

impl AccessNetwork for Config {
    fn nodes(&self) -> Vec<String> {
        self.members().iter().map(Member::name).collect()
    }

    fn parts(&self, name: &str) -> Vec<Part> {
        let stations = self.members().into_iter().map(|member| Part {
            name: station(name, &member),
            what: Some(format!("station \"{}\"", member.name())),
        });
        std::iter::once(Part::of_network(name.to_owned())).chain(stations).collect()
    }

    fn check(&self, problems: &mut Problems) {
        self.check_keys(problems);
        let names = self.nodes();
        if names.len() < 2 {
            problems.add(
                "stations",
                "there are fewer than two; allowed: a station and an access point, or two stations",
            );
        }
        if names.len() > MAX_STATIONS {
            let text = format!("{} with the access point; allowed: up to {MAX_STATIONS}", names.len());
            problems.add("stations", text);
        }
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                problems.add("stations", format!("\"{name}\" is listed twice; allowed: each station once"));
            }
        }
        for (one, heard) in &self.hears {
            let unknown = |name: &str| {
                format!("\"{name}\" is not a station of this network; allowed: {}", names.join(", "))
            };
            if !names.contains(one) {
                problems.within("hears", |problems| problems.add(one, unknown(one)));
            }
            for other in heard.iter().filter(|other| !names.contains(other)) {
                problems.within("hears", |problems| problems.add(one, unknown(other)));
            }
        }
        for name in names.iter().skip(1) {
            let Some(point) = &self.access_point else { break };
            if !(self.hears(name, point) && self.hears(point, name)) {
                let text = format!(
                    "\"{name}\" and the access point do not hear each other; allowed: stations that do"
                );
                problems.add("hears", text);
            }
        }
        if self.access_point.is_none() && self.links().len() < names.len() {
            problems.add(
                "hears",
                "some stations have nobody to send to; allowed: each hears another that hears it",
            );
        }
    }

    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>) {
        let members = self.members();
        let nodes: Vec<_> = members.iter().map(|member| site.node(&member.name())).collect();
        let links = self.links();
        if self.stack == Stack::Linux && self.build_radios(name, &links, &nodes, site) {
            return;
        }
        let streams = site.streams();
        let pairs = links.iter().map(|link| {
            let [from, to] = [link.from, link.to].map(|index| members[index].name());
            let stream = |what: &str| streams.stream(&format!("{name}.{from}.{to}.{what}"));
            (*link, stream("error"), stream("rate"))
        });
        let parts = Parts {
            config: self,
            names: members.iter().map(|member| station(name, member)).collect(),
            pairs: pairs.collect(),
            heard_by: self.heard_by(),
            probes: members.iter().map(|member| site.probe(&TRACE, &station(name, member))).collect(),
            streams: [streams.stream(name), streams.stream(&format!("{name}.queues"))],
        };
        let stage = site.stage(name, Box::new(Medium::new(parts)));
        for (port, node) in (0..).map(Port).zip(&nodes) {
            site.towards_node((stage, port), *node);
        }
        for (port, link) in (0..).map(Port).zip(&links) {
            site.edge(nodes[link.from], nodes[link.to], (stage, port), self.delay);
        }
    }

    fn multicast(&self, _crossings: &BTreeSet<[&str; 2]>) -> Result<(), &'static str> {
        Err("does not model group-addressed frames, which have no acknowledgments")
    }

    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        let members = self.members();
        let speeds = config::speeds(&self.phy());
        let hop = |crossing: &Crossing<'_>| {
            let find = |name: &str| {
                members
                    .iter()
                    .find(|member| member.name() == name)
                    .expect("a crossing joins two stations of the network")
            };
            let (from, to) = (find(crossing.from), find(crossing.to));
            let bytes = crossing.traffic.bytes;
            let mut notes = vec!["stations share the medium and back off at random".to_owned()];
            let constant = from.adaptation.constant(&speeds);
            if constant.is_none() {
                notes.push("the rate adapts, of which this is the fastest".to_owned());
            }
            let rate = speeds[constant.unwrap_or(speeds.len() - 1)].index;
            let frames = self.aggregated(rate, bytes);
            let rate_bit_s =
                8.0 * f64::from(bytes * frames) / self.exchange(rate, bytes, frames).as_secs_f64();
            let error = self.error_between(from, to);
            let rules = self.rules();
            let frame = Frame { bytes: bytes + self.overhead(), mode: self.phy().mode(rate) };
            let loss = error.expected_frame_loss(frame);
            let limit = if bytes + self.overhead() > rules.rts_threshold {
                rules.long_limit
            } else {
                rules.short_limit
            };
            if loss > 0.0 {
                notes.push(
                    "corrupted frames are retransmitted, as if the channel had changed each time".to_owned(),
                );
            }
            if self.has_categories() {
                notes.push("categories of EDCA have parameters of their own".to_owned());
            }
            if self.heard_by().is_some() {
                notes.push("stations are hidden from each other".to_owned());
            }
            let slowest = Rate::from_bits_per_second((rate_bit_s as u64).max(1));
            let attempts = 1.0 / (1.0 - loss).max(1e-9);
            let delay = self.exchange(rate, bytes, 1) + self.delay;
            Hop {
                part: station(name, from),
                rate_bit_s: Course::constant(rate_bit_s / attempts),
                delay_s: Course::constant(
                    delay.as_secs_f64() - 8.0 * f64::from(bytes) / (rate_bit_s / attempts),
                )
                .map(|delay| delay.max(0.0)),
                loss: loss.powi(limit as i32),
                queue: self.queue.facts(slowest, crossing.traffic.dscp),
                access: Vec::new(),
                shared: vec![(name.to_owned(), rate_bit_s / attempts)],
                notes,
            }
        };
        crossings.iter().map(hop).collect()
    }

    fn queues(&self) -> Vec<(String, Rate, queue::Config)> {
        let fastest = config::speeds(&self.phy()).last().expect("a physical layer has rates").rate;
        vec![("queue".to_owned(), fastest, self.queue.clone())]
    }
}
