//! The configuration of an ATM network, its place in a scenario, and its paths in numbers.

use super::contract;
use super::leg;
use super::stage::{on_ethernet, Common, Direction};
use crate::channel;
use crate::facts::{self, Course, Crossing, Hop};
use crate::link::framing::atm::{Encapsulation, CELL};
use crate::network::{AccessNetwork, Construction, Part};
use crate::queue;
use crate::Port;
use bentpipe_core::{Problems, Rate, Sample, Span, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An ATM connection between two nodes, over one or several legs between adapters and switches, with a LAN at
/// both ends if wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The two nodes that the connection joins.
    pub ends: [String; 2],
    /// The legs from the first node to the second; the way back takes them in reverse. At least one.
    pub legs: Vec<leg::Config>,
    /// What precedes a packet in its AAL5 frame: `"llc-snap"` (8 bytes, the default), `"vc"` (nothing),
    /// `"bridged"` (24 bytes), `"lane"` (16 bytes, LAN emulation) or `"ppp"` (6 bytes).
    #[serde(default)]
    pub encapsulation: Encapsulation,
    /// Rate of the Ethernet segments between the nodes and their adapters. If unset, there are none: the
    /// nodes have adapters of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lan: Option<Rate>,
    /// The traffic contract, which holds for each direction; by default UBR without a peak rate.
    #[serde(default)]
    pub contract: contract::Config,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"ends = ["a", "b"], lan = "10 Mbit/s", encapsulation = "lane", legs = [{ rate = "25600 kbit/s" }, { rate = "1920 kbit/s", delay = "100 ms", buffer = 200, early = 150, partial = true, error = { kind = "bit", rate = 1e-7 }, tdma = { frame = "20 ms", carrier = "8 Mbit/s" } }], contract = { category = "vbr", peak = "2 Mbit/s", sustainable = "1 Mbit/s", burst = 300, excess = "tag", tolerance = "1 ms" }"#;
}

/// What happens to packets of one size.
struct Frames {
    /// Cells of a packet.
    cells: f64,
    /// Bytes of the packet for each byte of its cells.
    efficiency: f64,
}

impl Config {
    /// The stage of one direction, idle.
    pub(super) fn direction(&self, name: &str, back: bool, stream: Stream) -> Direction {
        let common = Common { encapsulation: self.encapsulation, lan: self.lan, contract: &self.contract };
        match back {
            false => Direction::new(name, common, self.legs.iter(), stream),
            true => Direction::new(name, common, self.legs.iter().rev(), stream),
        }
    }

    fn frames(&self, bytes: u32) -> Frames {
        let cells = self.encapsulation.cells(bytes);
        Frames { cells: f64::from(cells), efficiency: f64::from(bytes) / f64::from(cells * CELL) }
    }

    /// The leg with the least rate, and that rate.
    fn slowest(&self) -> (&leg::Config, f64) {
        let rates = self.legs.iter().map(|leg| (leg, leg.mean_rate()));
        rates
            .min_by(|(_, one), (_, other)| one.total_cmp(other))
            .expect("the check has refused a path without legs")
    }

    /// Time in which a packet passes everything but the slowest leg: the propagation, one cell for each other leg, the Ethernet
    /// segments as a whole, and half a frame of time-division access less half of its burst.
    fn passing(&self, bytes: u32) -> f64 {
        let slowest = self.slowest().0;
        let leg = |leg: &leg::Config| {
            let cell = 8.0 * f64::from(CELL) / leg.rate.bits_per_second() as f64;
            let own = if std::ptr::eq(leg, slowest) { 0.0 } else { cell };
            let wait = leg.tdma.as_ref().map_or(0.0, |tdma| {
                let share = leg.mean_rate() / tdma.carrier.bits_per_second() as f64;
                tdma.frame.as_secs_f64() * (1.0 - share).powi(2) / 2.0
            });
            leg.delay.as_secs_f64() + own + wait
        };
        let islands = self.lan.map_or(Span::ZERO, |rate| on_ethernet(rate, bytes) * 2);
        self.legs.iter().map(leg).sum::<f64>() + islands.as_secs_f64()
    }

    /// Part of the packets of `bytes` of which the lines spoil or lose a cell.
    fn loss(&self, bytes: u32) -> f64 {
        let Frames { cells, .. } = self.frames(bytes);
        let whole = |leg: &leg::Config| (1.0 - leg.error.expected_loss(0, f64::from(CELL))).powf(cells);
        1.0 - self.legs.iter().map(whole).product::<f64>()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.contract.peak.is_some() {
            notes.push("a policer enforces the contract".to_owned());
        }
        if self.legs.iter().any(|leg| leg.tdma.is_some()) {
            notes.push("time-division access varies the delay by a frame".to_owned());
        }
        let early = |leg: &leg::Config| leg.early.is_some() || leg.low_priority.is_some();
        if self.legs.iter().any(early) {
            notes.push("cells are dropped before a buffer is full".to_owned());
        }
        let odd = |leg: &leg::Config| {
            !matches!(
                leg.error,
                channel::Config::None(_) | channel::Config::Bit(_) | channel::Config::Packet(_)
            )
        };
        if self.legs.iter().any(odd) {
            notes.push("cell errors are not independent".to_owned());
        }
        notes
    }
}

/// Names of the stages of network `name`, in the direction of the first node and back.
fn directions(name: &str) -> [String; 2] {
    ["forward", "back"].map(|direction| format!("{name}.{direction}"))
}

impl AccessNetwork for Config {
    fn nodes(&self) -> Vec<String> {
        self.ends.to_vec()
    }

    fn parts(&self, name: &str) -> Vec<Part> {
        directions(name).map(Part::of_network).to_vec()
    }

    fn check(&self, problems: &mut Problems) {
        if self.ends[0] == self.ends[1] {
            problems.add("ends", format!("both are \"{}\"; allowed: two different nodes", self.ends[0]));
        }
        if self.legs.is_empty() {
            problems.add("legs", "there is none; allowed: one or more, such as [{ rate = \"2 Mbit/s\" }]");
        }
        for (place, leg) in self.legs.iter().enumerate() {
            problems.within("legs", |problems| {
                problems.within(place.to_string(), |problems| leg.check(problems));
            });
        }
        problems.within("contract", |problems| self.contract.check(problems));
    }

    fn remark(&self, _duration: Span, remarks: &mut Problems) {
        let slowest = self.slowest().1;
        if let Some(peak) = self.contract.peak.filter(|peak| peak.bits_per_second() as f64 > slowest) {
            let text = format!("{peak} is more than the slowest leg carries, so that it limits nothing");
            remarks.within("contract", |remarks| remarks.add("peak", text));
        }
        for (place, leg) in self.legs.iter().enumerate() {
            if leg.error.expected_loss(0, f64::from(CELL)) >= 1.0 {
                let at = |remarks: &mut Problems| {
                    remarks.add("error", "every cell is lost, so that nothing arrives")
                };
                remarks.within("legs", |remarks| remarks.within(place.to_string(), at));
            }
        }
    }

    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>) {
        let nodes = [site.node(&self.ends[0]), site.node(&self.ends[1])];
        let delay = self.legs.iter().fold(Span::ZERO, |sum, leg| sum + leg.delay);
        for (back, stage_name) in directions(name).into_iter().enumerate() {
            let stream = site.streams().stream(&stage_name);
            let stage = self.direction(&stage_name, back == 1, stream);
            let stage = site.stage(&stage_name, Box::new(stage));
            site.towards_node((stage, Port(0)), nodes[1 - back]);
            site.edge(nodes[back], nodes[1 - back], (stage, Port(0)), delay);
        }
    }

    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        let [forward, back] = directions(name);
        let hop = |crossing: &Crossing<'_>| {
            let bytes = crossing.traffic.bytes;
            let Frames { cells, efficiency } = self.frames(bytes);
            let (leg, mut rate) = self.slowest();
            if let Some(peak) = self.contract.peak.filter(|_| self.contract.shaping) {
                rate = rate.min(self.contract.sustainable.unwrap_or(peak).bits_per_second() as f64);
            }
            let part = if crossing.from == self.ends[0] { forward.clone() } else { back.clone() };
            let packets = (leg.buffer.value() as f64 / cells) as u64;
            Hop {
                shared: vec![(part.clone(), rate)],
                part,
                rate_bit_s: Course::constant(rate),
                delay_s: Course::constant(self.passing(bytes)),
                loss: self.loss(bytes),
                queue: facts::Queue::fifo("cells", Some(packets), None),
                dama: None,
                notes: self.notes(),
            }
            .within(efficiency)
        };
        crossings.iter().map(hop).collect()
    }

    fn queues(&self) -> Vec<(String, Rate, queue::Config)> {
        Vec::new()
    }
}
