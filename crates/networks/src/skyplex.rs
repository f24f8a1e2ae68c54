//! Skyplex DATA: DVB-RCS-like access to an on-board multiplexer, with long frames of MPEG packets.
//!
//! A frame has N slots of M MPEG packets (188 bytes). L frames form a multi-frame, and three
//! multi-frames form a super-frame. The smallest assignment is one slot in each multi-frame: 8 x
//! 188 x M bits in L frames. With N = 6, M = 8 and L = 8 on the low-rate channel of 2.112 Mbit/s:
//!
//! | | |
//! | --- | --- |
//! | slot | 8 x 188 = 1504 bytes, 5.70 ms |
//! | frame | 6 slots, 34.18 ms |
//! | multi-frame | 8 frames, 273.45 ms, 48 slots: at most 48 terminals with one each |
//! | super-frame | 3 multi-frames, 820.4 ms; the burst time plan holds for one |
//! | one slot per multi-frame | 12 032 bits in 273.45 ms: 44 kbit/s (with L = 1: 352 kbit/s) |
//!
//! Source: T. de Cola, L. S. Ronga, T. Pecorella, P. Barsocchi, et al., "Communications and
//! networking over satellites: SatNEx experimental activities and testbeds", Int. J. Satell.
//! Commun. Network. 2009. All other numbers are computed from this structure.
//!
//! **Access.** *TDMA*: the terminals share carriers. *SCPC*: each terminal has its own carrier.
//!
//! **Assignment.** *BoD* (bandwidth on demand): in each super-frame, a terminal requests capacity
//! for its waiting packets. The assignment is valid for one super-frame, on a best-effort basis and
//! without priorities. This is RBDC (EN 301 790) with weight 1 and a time-out of one super-frame;
//! the capacity is divided in proportion to the requests. *CIR* (committed information rate):
//! constant slots. *Mixed*: constant slots, and BoD for further slots.
//!
//! **Timing.** Requests and plans travel 250 ms each way, "so assignments trail the traffic by at
//! least 500 ms plus management overhead". This minimum requires that plans arrive when their
//! super-frame begins, and requests when the plan is made (`planning = "just-in-time"`, the
//! default). If both could happen only at boundaries of super-frames, the minimum would be two
//! super-frames. `processing` is the management overhead.
//!
//! Deviations: the source does not give the positions of a terminal's slots in the multi-frame;
//! here, they are adjacent. As in [`super::dama`], the forward link and the return link are one hop
//! each: the on-board multiplexer has no queue. The source does not give the structure of the
//! high-rate channel, so N, M and L can be set.
//!
//! ```toml
//! [network.sat]
//! kind = "skyplex"
//! channel = "low-rate"
//! assignment = "bod"
//! forward = { rate = "10 Mbit/s" }
//! terminals = ["st1"]
//! gateway = "gw"
//! ```

use super::dama::config::{Carrier, Forward, Planning, Return};
use super::dama::scheme::{self, cra, rbdc};
use super::dama::terminals::Terminals;
use super::dama::{self, config::Dama};
use crate::propagation::Propagation;
use crate::{AccessNetwork, Changing, Construction, Part, RatedLink};
use bentpipe_core::{Count, Fraction, Problems, Rate, RateOrZero, Sample, Span, Tables};
use bentpipe_link::framing;
use bentpipe_link::{channel, queue};
use bentpipe_stage::facts::{Crossing, Hop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A Skyplex DATA network: DVB-RCS-like access to an on-board multiplexer, with long frames of MPEG
/// packets (SatNEx 2009).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate of each carrier: `"low-rate"` (2.112 Mbit/s, the default) or `"high-rate"` (6.226
    /// Mbit/s).
    #[serde(default)]
    pub channel: Channel,
    /// Access to the carriers: terminals share carriers slot by slot (`"tdma"`, the default), or
    /// each terminal has its own carrier (`"scpc"`).
    #[serde(default)]
    pub access: Access,
    /// Assignment of slots to terminals: on demand (`"bod"`, the default), constant (`"cir"`), or
    /// both (`"mixed"`). With SCPC, each terminal has all slots of its carrier.
    #[serde(default)]
    pub assignment: Assignment,
    /// Committed information rate of each terminal; must be a whole number of slots per
    /// multi-frame. Required with the assignments `cir` and `mixed` under TDMA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cir: Option<RateOrZero>,
    /// Number of slots in a frame (N), 6 by default.
    #[serde(default = "default_slots")]
    pub slots: Count<1, 256>,
    /// Number of MPEG packets in a slot (M), 8 by default.
    #[serde(default = "default_cells")]
    pub cells: Count<1, 256>,
    /// Number of frames in a multi-frame (L), 8 by default.
    #[serde(default = "default_frames")]
    pub frames: Count<1, 64>,
    /// Number of carriers with TDMA, 1 by default.
    #[serde(default = "default_carriers")]
    pub carriers: Count<1, 1000>,
    /// Time from the arrival of a request until the allocator can use it; 0 s by default.
    #[serde(default)]
    pub processing: Span,
    /// Times at which terminals send requests and the control centre makes plans; `"just-in-time"`
    /// by default.
    #[serde(default = "default_planning")]
    pub planning: Planning,
    /// Framing of packets in the MPEG packets of a slot: `"none"` (the default), `"mpe"` or
    /// `"ule"`.
    #[serde(default)]
    pub framing: framing::Config,
    /// The link from the gateway to the terminals. All terminals receive it.
    pub forward: Forward,
    /// Queue and errors of the link from the terminals.
    #[serde(default, rename = "return")]
    pub return_link: Back,
    /// One-way propagation between gateway and terminal, 250 ms by default: a fixed delay, or
    /// positions of a geostationary satellite or of moving satellites, from which delays are
    /// computed.
    #[serde(default)]
    pub propagation: Propagation,
    /// The terminals: node names, or tables with node names and with values that differ from those
    /// of the network.
    pub terminals: Vec<Terminals>,
    /// Name of the node that is the gateway: the terrestrial end of the satellite network.
    pub gateway: String,
    /// Fraction of the links' capacity that may be granted to Quick-Start requests (RFC 4782). If
    /// unset, the network does not support Quick-Start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_start: Option<Fraction>,
}

/// Queue and errors of the link from the terminals. The other keys of the network define the
/// structure of this link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Back {
    /// Queue discipline in each terminal; drop-tail with 1000 packets by default.
    #[schemars(extend("changeable" = true))]
    pub queue: queue::Config,
    /// Errors on the link from the terminals. They also affect requests.
    #[schemars(extend("changeable" = true))]
    pub error: channel::Config,
}

/// Rate of a carrier of the return link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// Low-rate carriers of 2.112 Mbit/s.
    #[default]
    LowRate,
    /// High-rate carriers of 6.226 Mbit/s.
    HighRate,
}

/// Access to a carrier: by one terminal or shared by several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SkyplexAccess")]
pub enum Access {
    /// The terminals share carriers, slot by slot.
    #[default]
    Tdma,
    /// Each terminal has its own carrier.
    Scpc,
}

/// Assignment of the slots of a super-frame to terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Assignment {
    /// Bandwidth on demand: slots on request, for one super-frame.
    #[default]
    Bod,
    /// Constant slots at the committed rate `cir`.
    Cir,
    /// Constant slots, and further slots on demand.
    Mixed,
}

fn default_slots() -> Count<1, 256> {
    Count::new(6)
}

fn default_cells() -> Count<1, 256> {
    Count::new(8)
}

fn default_frames() -> Count<1, 64> {
    Count::new(8)
}

fn default_carriers() -> Count<1, 1000> {
    Count::new(1)
}

fn default_planning() -> Planning {
    Planning::JustInTime
}

/// Number of multi-frames in a super-frame.
const MULTI_FRAMES: u64 = 3;
/// Size of an MPEG packet in bytes.
const PACKET: u64 = 188;

impl Channel {
    /// Returns the rate of the carrier.
    pub fn rate(self) -> Rate {
        let text = match self {
            Channel::LowRate => "2112 kbit/s",
            Channel::HighRate => "6226 kbit/s",
        };
        text.parse().expect("it is a constant")
    }
}

impl Config {
    /// Returns the equivalent star network. A frame of the star is a multi-frame, so an assignment
    /// of one slot means one slot in each multi-frame of a super-frame.
    pub fn star(&self) -> dama::Config {
        let rate = self.channel.rate();
        let scpc = self.access == Access::Scpc;
        let terminals = self.terminals.iter().map(|entry| entry.names().len() as u64).sum::<u64>();
        let carriers = if scpc { terminals.clamp(1, 1000) } else { self.carriers.value() };
        let bod = rbdc::Config {
            gamma: Fraction::thousandths(1000),
            timeout: Count::new(1),
            ..rbdc::Config::default()
        };
        let constant = scpc || self.assignment == Assignment::Cir;
        let zero = || "0 bit/s".parse().expect("it is a constant");
        let cra = match self.assignment {
            _ if scpc => rate.to_string().parse().expect("every rate is a valid rate that may be zero"),
            Assignment::Bod => zero(),
            Assignment::Cir | Assignment::Mixed => self.cir.unwrap_or_else(zero),
        };
        let dama = Dama {
            scheme: match constant {
                true => scheme::Config::Cra(cra::Config {}),
                false => scheme::Config::Rbdc(bod),
            },
            cra: Some(cra),
            processing: self.processing,
            planning: self.planning,
            ..Dama::default()
        };
        dama::Config {
            forward: self.forward.clone(),
            return_link: Return {
                rate,
                slots_per_frame: Count::new(self.slots.value() * self.frames.value()),
                frame: None,
                slot_bytes: Some(Count::new(self.cells.value() * PACKET)),
                carriers: match carriers {
                    1 => Vec::new(),
                    _ => vec![Carrier { rate, count: Count::new(carriers) }],
                },
                frames_per_superframe: Count::new(MULTI_FRAMES),
                acm: None,
                framing: self.framing.clone(),
                classes: Vec::new(),
                queue: self.return_link.queue.clone(),
                error: self.return_link.error.clone(),
                dama,
            },
            propagation: self.propagation.clone(),
            terminals: self.terminals.clone(),
            gateway: self.gateway.clone(),
            quick_start: self.quick_start,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"forward = { rate = "4 Mbit/s" }, terminals = ["a"], gateway = "b""#;
}

impl Tables for Config {}

impl AccessNetwork for Config {
    fn hops(&self, name: &str, crossings: &[Crossing<'_>]) -> Vec<Hop> {
        self.star().hops(name, crossings)
    }

    fn queues(&self) -> Vec<(String, Rate, queue::Config)> {
        self.star().queues()
    }

    fn nodes(&self) -> Vec<String> {
        self.star().nodes()
    }

    fn named_after_nodes(&self) -> (&'static str, Vec<String>) {
        self.star().named_after_nodes()
    }

    fn parts(&self, name: &str) -> Vec<Part> {
        self.star().parts(name)
    }

    fn framings(&self, name: &str) -> Vec<(String, framing::Config)> {
        self.star().framings(name)
    }

    fn rated(&self, name: &str) -> Vec<RatedLink> {
        self.star().rated(name)
    }

    fn remark(&self, duration: Span, remarks: &mut Problems) {
        self.star().remark(duration, remarks);
    }

    fn build<'a>(&'a self, name: &'a str, site: &mut dyn Construction<'a>) {
        dama::star::build(name, &self.star(), site);
    }

    fn multicast(&self, _crossings: &BTreeSet<[&str; 2]>) -> Result<(), &'static str> {
        Ok(())
    }

    fn changing(&self, name: &str) -> Option<Changing> {
        self.star().changing(name)
    }

    fn check_change(&self, start: &Changing, problems: &mut Problems) {
        AccessNetwork::check_change(&self.star(), start, problems);
    }

    fn check(&self, problems: &mut Problems) {
        let slots = self.slots.value() * self.frames.value();
        let slot = self.channel.rate().bits_per_second() as f64 / 1e3 / slots as f64;
        let is_constant = self.assignment != Assignment::Bod;
        if self.access == Access::Scpc && (self.cir.is_some() || self.assignment == Assignment::Mixed) {
            let message = format!(
                "with SCPC a terminal has all {slots} slots of its carrier; allowed: assignment = \"bod\" or \"cir\" without cir"
            );
            problems.add("access", message);
        } else if self.access == Access::Tdma && is_constant != self.cir.is_some() {
            let message = match is_constant {
                true => {
                    format!("is missing; allowed: a whole number of slots of {slot:.3} kbit/s, up to {slots}")
                }
                false => "has no effect without constant slots; allowed: assignment = \"cir\" or \"mixed\""
                    .to_owned(),
            };
            problems.add("cir", message);
        }
        if slots > 4096 {
            let message = format!(
                "{} x {} frames are {slots} slots; allowed: at most 4096",
                self.slots.value(),
                self.frames.value()
            );
            return problems.add("slots", message);
        }
        if problems.count() == 0 {
            // The keys of the star differ from those of this configuration, so the key paths of
            // problems are translated.
            let mut found = Problems::default();
            self.star().check(&mut found);
            for mut problem in found.into_vec() {
                let path: Vec<&str> = problem.path.iter().map(String::as_str).collect();
                problem.path = match path[..] {
                    ["return", "dama", "cra"] => vec!["cir".to_owned()],
                    ["return", "queue" | "error", ..] => problem.path,
                    ["return", "framing", ..] => problem.path[1..].to_vec(),
                    ["return", ..] => Vec::new(),
                    _ => problem.path,
                };
                problems.adopt(problem);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        serde_json::from_str(&format!(
            r#"{{"forward": {{"rate": "10 Mbit/s"}}, "gateway": "gw", "terminals": ["st1", "st2"] {text}}}"#
        ))
        .unwrap()
    }

    /// Returns the rate of the smallest assignment in kbit/s and the length of the super-frame in
    /// ms.
    fn structure(text: &str) -> (f64, f64) {
        let star = config(text).star();
        let frame = star.frame().unwrap();
        let superframe = frame.superframe().as_secs_f64();
        (frame.unit() as f64 * 8.0 / superframe / 1e3, superframe * 1e3)
    }

    #[test]
    fn structure_reproduces_the_numbers_of_the_source() {
        let (granularity, superframe) = structure("");
        assert!((granularity - 44.0).abs() < 1e-5 && (superframe - 820.36).abs() < 0.01);
        let (granularity, _) = structure(r#", "frames": 1"#);
        assert!((granularity - 352.0).abs() < 1e-5);
        // The expected rate is 6226 / 48 kbit/s.
        let (granularity, _) = structure(r#", "channel": "high-rate""#);
        assert!((granularity - 129.708).abs() < 0.001);
        let star = config("").star();
        let frame = star.frame().unwrap();
        assert_eq!((frame.slot_bytes, star.return_link.slots_per_frame.value()), (1504, 48));
        // The response time is only 250 ms to the control centre and 250 ms back.
        let members = star.members();
        let ask = frame.superframe() - star.schedule(&frame, &members).request_offset;
        let plan = star.plan_transmission(&frame, members.len());
        assert_eq!(ask, Span::from_millis(500) + plan + Span::from_nanos(2));
    }

    #[test]
    fn terminals_have_their_committed_slots() {
        let slots = |text: &str| -> Vec<u32> {
            let mut problems = Problems::default();
            config(text).check(&mut problems);
            assert_eq!(problems.into_vec(), [], "{text}");
            config(text).star().members().iter().map(|member| member.constant).collect()
        };
        assert_eq!(slots(""), [0, 0]);
        assert_eq!(slots(r#", "assignment": "cir", "cir": "440 kbit/s""#), [10, 10]);
        assert_eq!(slots(r#", "assignment": "mixed", "cir": "44 kbit/s""#), [1, 1]);
        assert_eq!(slots(r#", "access": "scpc""#), [48, 48]);
        assert_eq!(config(r#", "access": "scpc""#).star().carriers(), Some(vec![48, 48]));
    }

    #[test]
    fn invalid_configurations_are_refused() {
        for (text, key, part) in [
            (r#", "assignment": "cir""#, "cir", "44.000 kbit/s, up to 48"),
            (r#", "cir": "44 kbit/s""#, "cir", "assignment"),
            (r#", "assignment": "mixed", "cir": "50 kbit/s""#, "cir", "1.136 slots"),
            (
                r#", "assignment": "cir", "cir": "1100 kbit/s""#,
                "terminals",
                "take 50 slots, but a frame has 48",
            ),
            (r#", "access": "scpc", "assignment": "mixed""#, "access", "48 slots"),
        ] {
            let mut problems = Problems::default();
            config(text).check(&mut problems);
            let found = problems.into_vec();
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].path.join("."), key);
            assert!(found[0].message.contains(part), "{}", found[0].message);
        }
    }
}
