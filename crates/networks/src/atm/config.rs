//! The configuration of an ATM network, and the delay and loss of packets on its lines.

use super::contract::{self, Category};
use super::lan::transmission_time;
use super::leg;
use bentpipe_core::{math, Rate, Sample, Span};
use bentpipe_link::channel;
use bentpipe_link::framing::atm::{Encapsulation, CELL};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An ATM connection between two nodes, over one or several legs between adapters and switches,
/// optionally with a LAN at each end; `others` are further connections that share the legs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The two nodes that the connection joins.
    pub ends: [String; 2],
    /// The legs from the first node to the second; at least one. The return path uses them in
    /// reverse order. A change during a run identifies a leg by its position from 0, such as
    /// `legs.1.delay`. The change applies to cells that reach the first leg afterwards. No cell
    /// overtakes an earlier one.
    #[schemars(extend("changeable" = true))]
    pub legs: Vec<leg::Config>,
    /// Access line between each node and its switch, before the first leg and after the last leg.
    /// Each connection has its own access lines. If unset, the adapters are at the ends of the
    /// legs. Required with `others`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("changeable" = true))]
    pub access: Option<leg::Config>,
    /// Header of a packet in its AAL5 frame: `"llc-snap"` (8 bytes, the default), `"vc"` (none),
    /// `"bridged"` (24 bytes), `"lane"` (16 bytes, LAN emulation) or `"ppp"` (6 bytes).
    #[serde(default)]
    pub encapsulation: Encapsulation,
    /// Rate of the Ethernet segments between the nodes and their adapters. If unset, there are no
    /// Ethernet segments, and the nodes have their own adapters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lan: Option<Rate>,
    /// Traffic contract of the connection between `ends`, for each direction; UBR without a peak
    /// rate by default. When the contract changes during a run, policing starts again with the next
    /// cell, without the cells that were counted before. With several connections, the category
    /// cannot change, and the contract of an ABR connection cannot change at all.
    #[serde(default)]
    #[schemars(extend("changeable" = true))]
    pub contract: contract::Config,
    /// Further connections between nodes, each with its own contract. They share the legs with the
    /// first connection. Ports send cells of CBR first, then of VBR, ABR and UBR. Only the rates
    /// and bursts of their `contract` can change during a run, such as `others.0.contract.peak`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("changeable" = true))]
    pub others: Vec<Other>,
}

/// A further connection over the legs of an ATM network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AtmConnection")]
pub struct Other {
    /// The two nodes that the connection joins. The first node is on the side of the first leg.
    pub ends: [String; 2],
    /// Traffic contract of the connection, for each direction; UBR without a peak rate by default.
    #[serde(default)]
    pub contract: contract::Config,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"ends = ["a", "b"], lan = "10 Mbit/s", encapsulation = "lane", legs = [{ rate = "25600 kbit/s" }, { rate = "1920 kbit/s", delay = "100 ms", buffer = 200, early = 150, partial = true, marking = { kind = "efci", threshold = 100 }, error = { kind = "bit", rate = 1e-7 }, tdma = { frame = "20 ms", carrier = "8 Mbit/s" } }], contract = { category = "vbr", peak = "2 Mbit/s", sustainable = "1 Mbit/s", burst = 300, excess = "tag", tolerance = "1 ms" }, access = { rate = "20 Mbit/s", buffer = 500 }, others = [{ ends = ["b", "c"], contract = { category = "cbr", peak = "500 kbit/s", shaping = true } }, { ends = ["a", "c"], contract = { category = "abr", peak = "1 Mbit/s", abr = { minimum = "50 kbit/s", initial = "200 kbit/s", nrm = 16, trm = "50 ms", rif = 0.1, rdf = 0.1, cdf = 0.5, crm = 50, adtf = "1 s", buffer = 500 } } }]"#;
}

/// Number of cells and efficiency of the frames of packets of one size.
pub(super) struct Frames {
    /// Number of cells of a packet.
    pub(super) cells: f64,
    /// Size of the packet divided by the size of its cells.
    pub(super) efficiency: f64,
}

impl Config {
    /// Returns the number of connections.
    pub(super) fn connections(&self) -> usize {
        1 + self.others.len()
    }

    /// Returns the contract of connection `index`.
    pub(super) fn contract_of(&self, index: usize) -> &contract::Config {
        index.checked_sub(1).map_or(&self.contract, |other| &self.others[other].contract)
    }

    /// Returns true if ports serve cells by service category, because connections have different
    /// categories, or because the rate of a connection depends on what ports tell it (ABR).
    pub(super) fn priorities(&self) -> bool {
        let first = self.contract.category;
        first == Category::Abr || self.others.iter().any(|other| other.contract.category != first)
    }

    /// Returns the ends of all connections.
    pub(super) fn pairs(&self) -> impl Iterator<Item = &[String; 2]> {
        std::iter::once(&self.ends).chain(self.others.iter().map(|other| &other.ends))
    }

    /// Returns the shared legs in the order in which cells pass them. `back` is true for the
    /// direction from the second node to the first.
    pub(super) fn legs_towards(&self, back: bool) -> impl Iterator<Item = &leg::Config> {
        let count = self.legs.len();
        (0..count).map(move |index| &self.legs[if back { count - 1 - index } else { index }])
    }

    /// Returns all lines of a path: the legs, and the access lines at both ends.
    pub(super) fn lines(&self) -> impl Iterator<Item = &leg::Config> {
        self.access.iter().chain(&self.legs).chain(&self.access)
    }

    pub(super) fn frames(&self, bytes: u32) -> Frames {
        let cells = self.encapsulation.cells(bytes);
        Frames { cells: f64::from(cells), efficiency: f64::from(bytes) / f64::from(cells * CELL) }
    }

    /// Returns the line with the lowest rate, and that rate.
    pub(super) fn slowest(&self) -> (&leg::Config, f64) {
        slowest(self.lines()).expect("the check requires at least one leg")
    }

    /// Returns the rate that the marking of the legs leaves to a single ABR connection, in bit/s.
    pub(super) fn marked_rate(&self) -> f64 {
        let rate =
            |leg: &leg::Config| leg.mean_rate() * leg.marking.clone().unwrap_or_default().utilization();
        self.legs.iter().map(rate).fold(f64::INFINITY, f64::min)
    }

    /// Returns the delay of a packet without its transmission on the slowest leg. The delay is the
    /// sum of the propagation delays, one cell time for each other leg, the transmission times on
    /// the Ethernet segments, and half a frame of time-division access less half of its burst.
    pub(super) fn passing(&self, bytes: u32) -> f64 {
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
        let ethernet = self.lan.map_or(Span::ZERO, |rate| transmission_time(rate, bytes) * 2);
        self.lines().map(leg).sum::<f64>() + ethernet.as_secs_f64()
    }

    /// Returns the fraction of packets of `bytes` bytes that are lost because a line corrupts or
    /// loses one of their cells.
    pub(super) fn loss(&self, bytes: u32) -> f64 {
        let Frames { cells, .. } = self.frames(bytes);
        let whole = |leg: &leg::Config| math::powf(1.0 - leg.error.expected_loss(0, f64::from(CELL)), cells);
        1.0 - self.lines().map(whole).product::<f64>()
    }

    pub(super) fn notes(&self, contract: &contract::Config) -> Vec<String> {
        let mut notes = Vec::new();
        if contract.category == Category::Abr {
            notes.push("flow control of ABR varies the rate".to_owned());
        } else if contract.peak.is_some() {
            notes.push("a policer enforces the contract".to_owned());
        }
        if self.lines().any(|leg| leg.tdma.is_some()) {
            notes.push("time-division access varies the delay by a frame".to_owned());
        }
        let early = |leg: &leg::Config| leg.early.is_some() || leg.low_priority.is_some();
        if self.lines().any(early) {
            notes.push("cells are dropped before a buffer is full".to_owned());
        }
        let odd = |leg: &leg::Config| {
            !matches!(
                leg.error,
                channel::Config::None(_) | channel::Config::Bit(_) | channel::Config::Packet(_)
            )
        };
        if self.lines().any(odd) {
            notes.push("cell errors are not independent".to_owned());
        }
        notes
    }
}

/// Returns the line with the lowest rate, and that rate.
pub(super) fn slowest<'a>(lines: impl Iterator<Item = &'a leg::Config>) -> Option<(&'a leg::Config, f64)> {
    lines.map(|leg| (leg, leg.mean_rate())).min_by(|(_, one), (_, other)| one.total_cmp(other))
}
