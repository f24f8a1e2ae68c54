//! What a scenario says about a DVB-RCS network, and what follows from it.
//!
//! ```toml
//! [network.sat]
//! kind = "dvb-rcs"
//! forward = { rate = "10 Mbit/s" }
//! return = { rate = "2048 kbit/s", dama = { scheme = "rbdc", cra = "64 kbit/s" } }
//! terminals = ["st1", { name = "st2", cra = "128 kbit/s", logon = "5 s" }, { prefix = "crowd", count = 20 }]
//! gateway = "gw"
//! ```
//!
//! Every default is the study's (Luglio, Roseti, Zampognaro 2009), except L, which emerges from the delays
//! unless `response` imposes it.

use super::category::Link;
use super::frame::Frame;
use super::message::{Tbtp, LOGON_RESPONSE_BYTES};
use super::plan::Plan;
use super::timing::{Schedule, Timing};
use super::traffic::Class;
use super::waveform::{self, Decibel};
use super::{allocator, category, requests};
use crate::link::framing;
use crate::orbit::geo::{Satellite, Site};
use crate::{channel, queue};
use bentpipe_core::{Angle, Count, Fraction, Rate, RateOrZero, Span};
use schemars::JsonSchema;
use serde::de::{self, value::MapAccessDeserializer, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// A star network: terminals, a transparent geostationary satellite, a gateway with the network control
/// centre.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The broadcast link from the gateway to all terminals (DVB-S).
    pub forward: Forward,
    /// The shared link from the terminals to the gateway (MF-TDMA).
    #[serde(rename = "return")]
    pub return_link: Return,
    /// One-way propagation between gateway and terminal: a delay, or the positions from which it follows.
    #[serde(default)]
    pub propagation: Propagation,
    /// The terminals: node names, or tables with what differs from the network's values.
    pub terminals: Vec<Terminals>,
    /// The gateway's node name.
    pub gateway: String,
    /// Part of the links' capacity that is granted to Quick-Start requests (RFC 4782); they are not understood when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_start: Option<Fraction>,
}

/// The forward link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// Rate at the network layer. Burst time plans take their share of it.
    #[schemars(extend("changeable" = true))]
    pub rate: Rate,
    /// The queue in front of it.
    #[serde(default = "large_queue")]
    #[schemars(extend("changeable" = true))]
    pub queue: queue::Config,
    /// How packets are put into what is sent; with one, the rate is that of its units.
    #[serde(default)]
    pub framing: framing::Config,
    /// What the channel spoils, plans included; each terminal has errors of its own.
    #[serde(default)]
    #[schemars(extend("changeable" = true))]
    pub error: channel::Config,
}

/// The return link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Return {
    /// Rate of a carrier, of all its slots together. Rate x frame / (8 x slots) must be a whole number of bytes.
    pub rate: Rate,
    /// Slots in a carrier's frame.
    #[serde(default = "slots")]
    pub slots_per_frame: Count<1, 4096>,
    /// Length of a frame; 23.5 ms when neither this nor `slot_bytes` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<Span>,
    /// Bytes of a slot, instead of `frame`, which then is as long as its slots take, rounded to the nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_bytes: Option<Count<1, 1_048_576>>,
    /// The carriers, when there are several: each has slots of the same bytes, as many as its rate has room for. A
    /// terminal sends on one at a time and may change with every slot (MF-TDMA).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carriers: Vec<Carrier>,
    /// Frames in a superframe; an assignment holds for one superframe and is the same in each of its frames.
    #[serde(default = "frames")]
    pub frames_per_superframe: Count<1, 255>,
    /// Adaptive coding and modulation: what a slot carries follows from each terminal's signal. The return link's `rate`
    /// then is that of a carrier whose slots carry what `slot_bytes` or `frame` say, and rates of terminals count such slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acm: Option<waveform::Config>,
    /// How packets are put into slots. A slot must hold whole cells or MPEG packets.
    #[serde(default)]
    pub framing: framing::Config,
    /// Traffic classes, in order of priority; without, all packets are of one class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// The queue in each terminal, of each class that has none of its own.
    #[serde(default = "large_queue")]
    #[schemars(extend("changeable" = true))]
    pub queue: queue::Config,
    /// What the channel spoils, requests included.
    #[serde(default)]
    #[schemars(extend("changeable" = true))]
    pub error: channel::Config,
    /// Demand-assigned multiple access.
    #[serde(default)]
    pub dama: Dama,
}

/// Carriers that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Carrier {
    /// Rate of each: a whole number of slots, of which the return link's `rate` has `slots_per_frame`.
    pub rate: Rate,
    /// How many.
    #[serde(default = "one")]
    pub count: Count<1, 1000>,
}

/// When requests and plans are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Planning {
    /// At the boundaries of superframes.
    #[default]
    Boundary,
    /// A plan such that it arrives as its superframe begins, a request such that it arrives as the plan is made.
    JustInTime,
}

/// How terminals get slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dama {
    /// The capacity category by which terminals ask for more than their constant slots.
    pub scheme: category::Config,
    /// Constant rate of each terminal (CRA): a whole number of slots. When not given: one slot, but with the scheme
    /// `cra`, in which there is nothing else, an equal share of the slots that terminals with a rate leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cra: Option<RateOrZero>,
    /// How requested slots are divided when there are not enough.
    pub allocator: allocator::Config,
    /// Time from a request's arrival until the allocator may use it.
    pub processing: Span,
    /// When terminals ask and the control centre plans.
    pub planning: Planning,
    /// How requests get to the control centre.
    pub requests: requests::Config,
    /// What spoils requests, besides the errors of the return link.
    pub request_error: channel::Config,
    /// What spoils burst time plans, besides the errors of the forward link; each terminal has errors of its own.
    pub plan_error: channel::Config,
    /// Superframes from a request to its assignment (L). When not given it emerges from propagation,
    /// processing and the waits for superframe boundaries; when given, a request made at the start of
    /// superframe n takes effect in superframe n + L.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Count<1, 100_000>>,
}

/// Propagation between gateway and terminals.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Propagation {
    /// The same delay for all, one way.
    Delay(Span),
    /// From positions.
    Positions(Positions),
}

/// Where satellite and stations are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Positions {
    /// Longitude of the satellite, east positive.
    pub satellite: Angle,
    /// The gateway.
    pub gateway: Site,
    /// Terminals that have no `site` of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminals: Option<Site>,
}

/// One terminal, or several that are alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Group {
    /// Node name of one terminal; either this or `prefix` and `count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the names of `count` terminals begin with; numbers from 1 follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// How many terminals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count<1, 65_000>>,
    /// Constant rate of each (CRA), instead of the network's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cra: Option<RateOrZero>,
    /// When each begins to log on; logged on from the start when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logon: Option<Span>,
    /// When each logs off; what waits in it is dropped. Never when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logoff: Option<Span>,
    /// After how long logon and logoff are repeated, again and again: terminals that come and go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
    /// Rate that each gets before others when it asks for it: a whole number of slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<RateOrZero>,
    /// Most that each gets by request: a whole number of slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<RateOrZero>,
    /// Weight of each among the others, for the allocator `max-min`; 1 when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Count<1, 1000>>,
    /// Es/N0 of each in dB, for adaptive coding and modulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub esn0_db: Option<Decibel>,
    /// Where they are, when propagation is given by positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
}

/// An entry of the list of terminals.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[serde(untagged)]
pub enum Terminals {
    /// Just a node name.
    Name(String),
    /// A table.
    Group(Group),
}

/// One terminal with what holds for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Node name.
    pub name: String,
    /// Constant slots.
    pub constant: u32,
    /// When it begins to log on; `None` when it is logged on from the start.
    pub logon: Option<Span>,
    /// When it logs off.
    pub logoff: Option<Span>,
    /// After how long both are repeated.
    pub period: Option<Span>,
    /// Slots that it gets before others when it asks for them.
    pub min: u32,
    /// Most slots that it gets by request.
    pub max: u32,
    /// Its weight.
    pub weight: u32,
    /// Bytes that its slots carry.
    pub slot_bytes: u32,
    /// Delays.
    pub timing: Timing,
}

fn one() -> Count<1, 1000> {
    Count::new(1)
}

fn slots() -> Count<1, 4096> {
    Count::new(32)
}

fn frames() -> Count<1, 255> {
    Count::new(4)
}

/// Some seconds at the study's rates: the study's transfers lose nothing.
fn large_queue() -> queue::Config {
    queue::Config::DropTail(queue::drop_tail::Config { packets: Some(Count::new(1000)), bytes: None })
}

impl Default for Dama {
    fn default() -> Dama {
        Dama {
            scheme: category::Config::default(),
            cra: None,
            allocator: allocator::Config::default(),
            processing: Span::ZERO,
            planning: Planning::default(),
            requests: requests::Config::default(),
            request_error: channel::Config::default(),
            plan_error: channel::Config::default(),
            response: None,
        }
    }
}

impl Default for Propagation {
    fn default() -> Propagation {
        Propagation::Delay(Span::from_millis(250))
    }
}

impl Terminals {
    /// The names of the nodes that the entry stands for.
    pub fn names(&self) -> Vec<String> {
        match self {
            Terminals::Name(name) => vec![name.clone()],
            Terminals::Group(Group { name: Some(name), .. }) => vec![name.clone()],
            Terminals::Group(Group { prefix: Some(prefix), count: Some(count), .. }) => {
                (1..=count.value()).map(|number| format!("{prefix}{number}")).collect()
            }
            Terminals::Group(_) => Vec::new(),
        }
    }

    /// How many nodes the entry stands for.
    fn count(&self) -> u64 {
        match self {
            Terminals::Group(Group { name: None, count: Some(count), .. }) => count.value(),
            _ => 1,
        }
    }

    pub(super) fn group(&self) -> Group {
        match self {
            Terminals::Name(_) => Group::default(),
            Terminals::Group(group) => group.clone(),
        }
    }
}

impl Config {
    /// Names of the terminals' nodes, in the order in which they are listed.
    pub fn terminal_names(&self) -> Vec<String> {
        self.terminals.iter().flat_map(Terminals::names).collect()
    }

    /// Length of a frame.
    pub fn frame_length(&self) -> Span {
        let link = &self.return_link;
        match (link.frame, link.slot_bytes) {
            (Some(frame), _) => frame,
            (None, None) => FRAME,
            (None, Some(bytes)) => {
                let bits =
                    8_000_000_000 * u128::from(bytes.value()) * u128::from(link.slots_per_frame.value());
                let rate = u128::from(link.rate.bits_per_second());
                Span::from_nanos(u64::try_from((bits + rate / 2) / rate).unwrap_or(u64::MAX))
            }
        }
    }

    /// The time structure; `None` when a slot would not carry a whole number of bytes.
    pub fn frame(&self) -> Option<Frame> {
        let (link, length) = (&self.return_link, self.frame_length());
        let slots = link.slots_per_frame.value();
        if length > MAX_FRAME || length == Span::ZERO {
            return None;
        }
        let per_byte = 8_000_000_000 * u128::from(slots);
        let bits = u128::from(link.rate.bits_per_second()) * u128::from(length.as_nanos());
        let bytes = match link.slot_bytes {
            Some(bytes) if link.frame.is_none() => bytes.value() as u32,
            _ if bits % per_byte != 0 => return None,
            _ => u32::try_from(bits / per_byte).ok().filter(|bytes| (1..=MAX_SLOT_BYTES).contains(bytes))?,
        };
        Some(Frame { frames: link.frames_per_superframe.value() as u32, slot_bytes: bytes, length })
    }

    /// The return link as capacity categories see it.
    pub fn link(&self) -> Link {
        let link = &self.return_link;
        let longest =
            self.carriers().into_iter().flatten().max().map_or(link.slots_per_frame.value(), u64::from);
        Link { rate: link.rate, slots: link.slots_per_frame.value(), longest }
    }

    /// Slots in the frame of each carrier; `None` when they are not whole.
    pub fn carriers(&self) -> Option<Vec<u32>> {
        let link = &self.return_link;
        if link.carriers.is_empty() {
            return Some(vec![link.slots_per_frame.value() as u32]);
        }
        let mut carriers = Vec::new();
        for Carrier { rate, count } in &link.carriers {
            let slots = u128::from(rate.bits_per_second()) * u128::from(link.slots_per_frame.value());
            let of = u128::from(link.rate.bits_per_second());
            let whole = u32::try_from(slots / of).ok().filter(|slots| (1..=MAX_SLOTS).contains(slots));
            let slots = whole.filter(|_| slots % of == 0)?;
            carriers.extend(std::iter::repeat_n(slots, count.value() as usize));
        }
        Some(carriers)
    }

    /// When terminals ask and the control centre plans.
    pub fn schedule(&self, frame: &Frame, members: &[Member]) -> Schedule {
        let dama = &self.return_link.dama;
        let timings = members.iter().map(|member| &member.timing);
        match dama.planning {
            Planning::Boundary => Schedule::default(),
            Planning::JustInTime => {
                let transmission = self.plan_transmission(frame, members.len());
                Schedule::just_in_time(frame, dama.processing, transmission, timings)
            }
        }
    }

    /// The terminals one by one, with their delays.
    ///
    /// # Panics
    /// When [`Config::check`] has something to say.
    pub fn members(&self) -> Vec<Member> {
        let mut members = Vec::new();
        for entry in &self.terminals {
            let group = entry.group();
            let constant = self.slots_of(group.cra).expect("check has passed");
            let one_way = self.one_way(group.site.as_ref()).expect("check has passed");
            let slots = |rate: Option<RateOrZero>| {
                rate.map(|rate| self.link().whole_slots(rate).expect("check has passed"))
            };
            let (min, max) = (slots(group.min).unwrap_or(0), slots(group.max).unwrap_or(u32::MAX));
            let weight = group.weight.map_or(1, |weight| weight.value() as u32);
            let (logon, logoff, period) = (group.logon, group.logoff, group.period);
            let slot_bytes = self.slot_bytes_of(group.esn0_db).expect("check has passed");
            for name in entry.names() {
                let timing = Timing { up: one_way.0, one_way: one_way.0 + one_way.1, offset: Span::ZERO };
                members.push(Member {
                    name,
                    constant,
                    logon,
                    logoff,
                    period,
                    min,
                    max,
                    weight,
                    slot_bytes,
                    timing,
                });
            }
        }
        Timing::align(members.iter_mut().map(|member| &mut member.timing));
        members
    }

    /// Bytes that the slots of a terminal with this signal of its own carry; `None` when it is too weak.
    pub fn slot_bytes_of(&self, esn0_db: Option<Decibel>) -> Option<u32> {
        match &self.return_link.acm {
            None => self.frame().map(|frame| frame.slot_bytes),
            Some(acm) => acm.choose(esn0_db).map(waveform::Waveform::bytes),
        }
    }

    /// Longest time that a plan or a logon response takes on the forward link.
    pub fn plan_transmission(&self, frame: &Frame, terminals: usize) -> Span {
        let slots: u64 = self.carriers().into_iter().flatten().map(u64::from).sum();
        // A terminal's slots may lie in several places.
        let carriers = self.return_link.carriers.len().min(1);
        let logoffs = self.terminals.iter().any(|entry| entry.group().logoff.is_some());
        let entries = match logoffs {
            true => slots as usize,
            false => (terminals + carriers * terminals).min(slots as usize),
        };
        let bytes = Tbtp::bytes(frame, entries).max(LOGON_RESPONSE_BYTES);
        let framed =
            self.forward.framing.build(None).map(|mut framer| framer.add(bytes, false).units * framer.unit());
        self.forward.rate.span_of(u64::from(framed.unwrap_or(bytes)))
    }

    /// Constant slots of a terminal with this rate of its own; `None` when they are not whole.
    pub(super) fn slots_of(&self, own: Option<RateOrZero>) -> Option<u32> {
        match own.or(self.return_link.dama.cra) {
            Some(cra) => self.link().whole_slots(cra),
            None => Some(self.default_slots()),
        }
    }

    /// Constant slots of a terminal for which the scenario names no rate: one, or its share where there is nothing else.
    fn default_slots(&self) -> u32 {
        let category::Config::Cra(_) = self.return_link.dama.scheme else { return 1 };
        let mut plan = Plan::new(&self.carriers().unwrap_or_default());
        let mut sharing = 0;
        for entry in &self.terminals {
            match entry.group().cra {
                Some(cra) => {
                    let slots = self.link().whole_slots(cra).unwrap_or(0);
                    for _ in 0..entry.count() {
                        plan.add_constant(slots);
                    }
                }
                None => sharing += entry.count(),
            }
        }
        let shares = |slots: u32| plan.gaps().map(|gap| u64::from(gap / slots)).sum::<u64>();
        (1..=plan.longest()).rev().find(|slots| shares(*slots) >= sharing.max(1)).unwrap_or(0)
    }

    /// Propagation terminal to satellite and satellite to gateway; `None` when the terminal's place is not
    /// known.
    fn one_way(&self, site: Option<&Site>) -> Option<(Span, Span)> {
        match &self.propagation {
            Propagation::Delay(delay) => Some((*delay, Span::ZERO)),
            Propagation::Positions(positions) => {
                let satellite = Satellite { longitude: positions.satellite };
                let site = site.or(positions.terminals.as_ref())?;
                Some((satellite.delay(site), satellite.delay(&positions.gateway)))
            }
        }
    }
}

/// The study's frame.
const FRAME: Span = Span::from_micros(23_500);
/// Slots are numbered in 16 bits.
pub(super) const MAX_SLOTS: u32 = 60_000;
/// More than any burst carries; keeps arithmetic on a superframe's bytes in 32 bits.
pub(super) const MAX_SLOT_BYTES: u32 = 1 << 20;
/// Longer than any system's, and short enough for 64-bit arithmetic on slots.
pub(super) const MAX_FRAME: Span = Span::from_secs(60);
/// Logon identifiers have 16 bits.
pub(super) const MAX_TERMINALS: usize = 65_000;

impl Serialize for Terminals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Terminals::Name(name) => serializer.serialize_str(name),
            Terminals::Group(group) => group.serialize(serializer),
        }
    }
}

/// Deserializes what is written as a text or as a table, such that errors inside the table keep their key
/// path (which serde's untagged enums lose).
macro_rules! text_or_table {
    ($type:ty, $expecting:literal, $from_text:expr, $from_table:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct TextOrTable;
                impl<'de> Visitor<'de> for TextOrTable {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        let make: fn(&str) -> Result<$type, String> = $from_text;
                        make(text).map_err(E::custom)
                    }
                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        Deserialize::deserialize(MapAccessDeserializer::new(map)).map($from_table)
                    }
                }
                deserializer.deserialize_any(TextOrTable)
            }
        }
    };
}

text_or_table!(
    Terminals,
    "a node name, or a table with name, or with prefix and count",
    |text| Ok(Terminals::Name(text.to_owned())),
    Terminals::Group
);
text_or_table!(
    Propagation,
    "a delay such as \"250 ms\", or a table with satellite and gateway",
    |text| text
        .parse()
        .map(Propagation::Delay)
        .map_err(|error: bentpipe_core::QuantityError| error.to_string()),
    Propagation::Positions
);
