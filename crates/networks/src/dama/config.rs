//! The configuration of a DVB-RCS network, and the values derived from it.
//!
//! ```toml
//! [network.sat]
//! kind = "dvb-rcs"
//! forward = { rate = "10 Mbit/s" }
//! return = { rate = "2048 kbit/s", dama = { scheme = "rbdc", cra = "64 kbit/s" } }
//! terminals = ["st1", { name = "st2", cra = "128 kbit/s", logon = "5 s" }, { name = "crowd", count = 20 }]
//! gateway = "gw"
//! ```
//!
//! All defaults are taken from the study (Luglio, Roseti, Zampognaro 2009) except for L, which is
//! derived from the delays unless `response` is set.

use super::frame::Frame;
use super::message::{Tbtp, LOGON_RESPONSE_BYTES};
use super::plan::Plan;
use super::scheme::Link;
use super::terminals::{Member, Terminals};
use super::timing::Schedule;
use super::traffic::Class;
use super::{allocator, requests, scheme};
use crate::propagation::Propagation;
use bentpipe_core::{ChannelRate, Count, Fraction, Rate, RateOrZero, Sample, Span};
use bentpipe_link::acm;
use bentpipe_link::framing::{self, Framer};
use bentpipe_link::{channel, queue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A DVB-RCS star network (EN 301 790): terminals, a transparent satellite, and a gateway with the
/// network control centre.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The broadcast link from the gateway to all terminals (DVB-S).
    pub forward: Forward,
    /// The shared link from the terminals to the gateway (MF-TDMA).
    #[serde(rename = "return")]
    pub return_link: Return,
    /// One-way propagation delay between gateway and terminal, 250 ms by default. Either a delay,
    /// or positions from which the delays over a geostationary satellite or over moving satellites
    /// are computed.
    #[serde(default)]
    pub propagation: Propagation,
    /// The terminals: node names, or tables with settings that differ from the network's.
    pub terminals: Vec<Terminals>,
    /// Name of the node that is the gateway: the terrestrial end of the satellite network.
    pub gateway: String,
    /// Fraction of the links' capacity that may be granted to Quick-Start requests (RFC 4782). If
    /// unset, the network does not support Quick-Start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_start: Option<Fraction>,
}

/// The forward link, from the gateway to all terminals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// Rate at the network layer or, with a framing, the rate of the framing's units. The link also
    /// carries the burst time plans.
    #[schemars(extend("changeable" = true))]
    pub rate: ChannelRate,
    /// Queue discipline in front of the forward link.
    #[serde(default)]
    #[schemars(extend("changeable" = true))]
    pub queue: queue::Config,
    /// Framing: the mapping of packets to transmission units of the link; none by default. With a
    /// framing, `rate` is the rate of these units.
    #[serde(default)]
    pub framing: framing::Config,
    /// Errors on the forward link, which also hit burst time plans. They are drawn separately for
    /// each terminal.
    #[serde(default)]
    #[schemars(extend("changeable" = true))]
    pub error: channel::Config,
    /// Adaptive coding and modulation: a packet is sent with the MODCOD that its terminal's signal
    /// allows. `rate` is then the symbol rate, given as the rate at one bit per symbol.
    /// Transmitting a packet takes its size in bits, divided by `rate` times the bits per symbol of
    /// its MODCOD. With the framing `gse`, packets of one MODCOD share baseband frames. Burst time
    /// plans use the most robust MODCOD. If unset, all packets are sent at `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acm: Option<acm::Config>,
}

/// The return link, from the terminals to the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Return {
    /// Rate of a carrier, the sum of the rates of its slots. Rate x frame / (8 x slots) must be a
    /// whole number of bytes.
    pub rate: Rate,
    /// Number of slots in a carrier's frame, 32 by default.
    #[serde(default = "default_slots_per_frame")]
    pub slots_per_frame: Count<1, 4096>,
    /// Length of a frame, up to 60 s. If neither this nor `slot_bytes` is set, it is 23.5 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<Span>,
    /// Size of a slot in bytes, as an alternative to `frame`. The length of the frame is then the
    /// time that its slots take at `rate`, rounded to the nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_bytes: Option<Count<1, 1_048_576>>,
    /// The carriers, if there are several. All slots have the same size; the number of slots on a
    /// carrier follows from its rate. A terminal sends on one carrier at a time and may change
    /// carriers with every slot (MF-TDMA).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carriers: Vec<Carrier>,
    /// Number of frames in a superframe, 4 by default. An assignment holds for one superframe and
    /// is the same in each of its frames.
    #[serde(default = "default_frames_per_superframe")]
    pub frames_per_superframe: Count<1, 255>,
    /// Adaptive coding and modulation: the capacity of a slot follows each terminal's signal and
    /// may change with every superframe. `rate` is then the rate of a carrier whose slots have the
    /// size given by `slot_bytes` or `frame`, and the rates of terminals count such slots. If
    /// unset, all slots have the same capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acm: Option<acm::Config>,
    /// Framing: the mapping of packets to slots; none by default. A slot must hold a whole number
    /// of cells or MPEG packets.
    #[serde(default)]
    pub framing: framing::Config,
    /// Traffic classes, highest priority first. If unset, all packets belong to a single class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// Queue discipline in each terminal, for every class that does not set its own. A discipline
    /// that decides at departure chooses a packet when a slot starts, and knows the granted rate.
    #[serde(default)]
    #[schemars(extend("changeable" = true))]
    pub queue: queue::Config,
    /// Errors on the return link, which also hit requests.
    #[serde(default)]
    #[schemars(extend("changeable" = true))]
    pub error: channel::Config,
    /// Demand assignment: the request and the assignment of slots.
    #[serde(default)]
    pub dama: Dama,
}

/// One or more carriers of the same rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Carrier {
    /// Rate of each carrier, which must be a whole number of slots. A slot's rate is the return
    /// link's `rate` divided by `slots_per_frame`.
    pub rate: Rate,
    /// Number of such carriers, 1 by default.
    #[serde(default = "default_count")]
    pub count: Count<1, 1000>,
}

/// Times of requests and plans within a superframe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Planning {
    /// Plans and requests are made at the boundaries of superframes.
    #[default]
    Boundary,
    /// As late as possible. A plan is made so that it arrives when its superframe starts; a request
    /// is made so that it arrives when the plan is made.
    JustInTime,
}

/// Access of a terminal's packets to its slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "QueueAccess")]
pub enum Access {
    /// A packet may use every slot that starts after its arrival.
    #[default]
    Immediate,
    /// A packet may use slots from the first superframe on that starts after its arrival. It waits
    /// half a superframe on average (Delta_SF in equation 11 of the study).
    Superframe,
}

/// Demand-assigned multiple access (DAMA): the request and the assignment of slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dama {
    /// Scheme by which terminals request slots beyond their constant slots: a capacity category of
    /// EN 301 790, section 6.6.1.2, or a mix of several. The default `cra` requests none. Terminals
    /// may have their own scheme (`terminals`).
    pub scheme: scheme::Config,
    /// Constant rate of each terminal (CRA), which must be a whole number of slots. If unset, it is
    /// one slot. If all terminals have the scheme `cra`, which has no other slots, it is an equal
    /// share of the slots that are not taken by terminals with their own `cra`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cra: Option<RateOrZero>,
    /// Division of the free slots if the requests exceed them; in proportion to the requests by
    /// default.
    pub allocator: allocator::Config,
    /// Time from the arrival of a request until the allocator can use it; 0 s by default.
    pub processing: Span,
    /// Times of requests and plans within a superframe; at superframe boundaries by default.
    pub planning: Planning,
    /// Slots that a packet may use: all that start after its arrival, by default, or those of later
    /// superframes only. It applies to constant and to requested slots. With `superframe`, packets
    /// that arrive in different superframes do not share a unit of the framing.
    pub access: Access,
    /// Transmission of requests to the control centre; in dedicated request slots by default.
    pub requests: requests::Config,
    /// Errors that hit requests in addition to those of the return link; none by default.
    pub request_error: channel::Config,
    /// Errors that hit burst time plans in addition to those of the forward link; none by default.
    /// They are drawn separately for each terminal.
    pub plan_error: channel::Config,
    /// Number of superframes from a request to its assignment (L). If set, a request made at the
    /// start of superframe n takes effect in superframe n + L. If unset, L follows from
    /// propagation, processing and the waits for superframe boundaries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Count<1, 100_000>>,
}

fn default_count() -> Count<1, 1000> {
    Count::new(1)
}

fn default_slots_per_frame() -> Count<1, 4096> {
    Count::new(32)
}

fn default_frames_per_superframe() -> Count<1, 255> {
    Count::new(4)
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"forward = { rate = "4 Mbit/s" }, return = { rate = "2048 kbit/s", dama = { scheme = "rbdc", cra = "64 kbit/s" } }, terminals = ["a"], gateway = "b""#;
}

impl Default for Dama {
    fn default() -> Dama {
        Dama {
            scheme: scheme::Config::default(),
            cra: None,
            allocator: allocator::Config::default(),
            processing: Span::ZERO,
            planning: Planning::default(),
            access: Access::default(),
            requests: requests::Config::default(),
            request_error: channel::Config::default(),
            plan_error: channel::Config::default(),
            response: None,
        }
    }
}

impl Forward {
    /// Returns the rate of burst time plans and other signalling, which all terminals receive.
    pub fn signalling_rate(&self) -> Rate {
        self.acm.as_ref().map_or(*self.rate, |acm| acm.most_robust().rate(*self.rate))
    }

    /// Returns the framing of signalling. With ACM, signalling uses frames of the most robust
    /// MODCOD.
    pub fn signalling_framer(&self) -> Option<Box<dyn Framer>> {
        let bytes = self.acm.as_ref().map(|acm| acm.most_robust().frame_bytes());
        self.framing.build(bytes.filter(|_| self.framing.has_frames()))
    }
}

impl Dama {
    /// Returns the mean wait of a packet before it may use a slot: half of a superframe of this
    /// length, if packets wait for superframes.
    pub fn mean_access_wait(&self, superframe: Span) -> Span {
        match self.access {
            Access::Immediate => Span::ZERO,
            Access::Superframe => superframe / 2,
        }
    }
}

impl Config {
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

    /// Returns the time structure, or `None` if a slot would not carry a whole number of bytes.
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

    /// The return link as seen by schemes.
    pub fn link(&self) -> Link {
        let link = self.one_carrier();
        let longest = self.carriers().into_iter().flatten().max().map_or(link.longest, u64::from);
        Link { longest, ..link }
    }

    /// Returns the return link as if its only carrier had the link's `rate`.
    fn one_carrier(&self) -> Link {
        let slots = self.return_link.slots_per_frame.value();
        Link { rate: self.return_link.rate, slots, longest: slots }
    }

    /// Returns the number of slots per frame of each carrier, or `None` if one is not a whole
    /// number.
    pub fn carriers(&self) -> Option<Vec<u32>> {
        let link = &self.return_link;
        if link.carriers.is_empty() {
            return Some(vec![link.slots_per_frame.value() as u32]);
        }
        let mut carriers = Vec::new();
        for Carrier { rate, count } in &link.carriers {
            let rate = RateOrZero::from_bits_per_second(rate.bits_per_second());
            let slots =
                self.one_carrier().whole_slots(rate).filter(|slots| (1..=MAX_SLOTS).contains(slots))?;
            carriers.extend(std::iter::repeat_n(slots, count.value() as usize));
        }
        Some(carriers)
    }

    /// Times of requests and plans within a superframe.
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

    /// Returns the times of requests and plans, the number of superframes that plans are made
    /// ahead, and L.
    pub fn response(&self, frame: &Frame, members: &[Member]) -> (Schedule, u64, u64) {
        let (dama, timings) = (&self.return_link.dama, || members.iter().map(|member| &member.timing));
        let schedule = self.schedule(frame, members);
        let lead = schedule.lead(frame, self.plan_transmission(frame, members.len()), timings());
        let emergent = schedule.response(frame, dama.processing, lead, timings());
        (schedule, lead, dama.response.map_or(emergent, |response| response.value()))
    }

    /// Returns the maximum transmission time of a plan or a logon response on the forward link.
    pub fn plan_transmission(&self, frame: &Frame, terminals: usize) -> Span {
        let slots: u64 = self.carriers().into_iter().flatten().map(u64::from).sum();
        // A terminal's slots may be split into several runs of the plan.
        let carriers = self.return_link.carriers.len().min(1);
        let logoffs = self.terminals.iter().any(|entry| entry.group().logoff.is_some());
        let entries = match logoffs {
            true => slots as usize,
            false => (terminals + carriers * terminals).min(slots as usize),
        };
        let bytes = Tbtp::bytes(frame, entries).max(LOGON_RESPONSE_BYTES);
        let framed =
            self.forward.signalling_framer().map(|mut framer| framer.add(bytes, false).units * framer.unit());
        self.forward.signalling_rate().span_of(u64::from(framed.unwrap_or(bytes)))
    }

    /// Returns the number of constant slots of a terminal with this `cra`, or `None` if it is not a
    /// whole number.
    pub(super) fn slots_of(&self, own: Option<RateOrZero>) -> Option<u32> {
        match own.or(self.return_link.dama.cra) {
            Some(cra) => self.link().whole_slots(cra),
            None => Some(self.default_slots()),
        }
    }

    /// Returns the number of constant slots of a terminal without its own `cra`: one, or an equal
    /// share if no terminal has other slots.
    fn default_slots(&self) -> u32 {
        let network = &self.return_link.dama.scheme;
        let is_constant =
            |entry: &Terminals| matches!(entry.own_scheme().unwrap_or(network), scheme::Config::Cra(_));
        if !self.terminals.iter().all(is_constant) {
            return 1;
        }
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
}

/// Length of a frame in the study.
/// Default length of a frame, from the study.
const FRAME: Span = Span::from_micros(23_500);
/// Maximum number of slots per frame. Slots are numbered in 16 bits.
pub(super) const MAX_SLOTS: u32 = 60_000;
/// Maximum size of a slot, larger than any real burst. It keeps arithmetic on a superframe's bytes
/// within 32 bits.
pub(super) const MAX_SLOT_BYTES: u32 = 1 << 20;
/// Maximum length of a frame, longer than in any real system and short enough for 64-bit arithmetic
/// on slots.
pub(super) const MAX_FRAME: Span = Span::from_secs(60);
/// Maximum number of terminals. Logon identifiers have 16 bits.
pub(super) const MAX_TERMINALS: usize = 65_000;
