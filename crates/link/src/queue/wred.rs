//! Weighted RED, or RED with in and out (Clark and Fang 1998): thresholds for each of three drop
//! precedences (RFC 2597, section 2).
//!
//! Packets are green, yellow or red by the drop precedence of their assured forwarding code point;
//! other packets are green. Averages and probabilities are those of RED ([`super::early`]), with a
//! separate count for each precedence. The packets of an average:
//!
//! - `all`: every waiting packet, so there is one average (WRED);
//! - `coupled`: packets of the same and of lower precedence: green sees green, red sees all (RIO);
//! - `own`: packets of the same precedence.
//!
//! ```toml
//! queue = { kind = "wred", green = { min = 50, max = 90 }, red = { min = 20, max = 50 } }
//! queue = { kind = "wred", average = "coupled", red = { min = 30, max = 90, probability = 0.1 } }
//! ```
//!
//! With `spacing = "geometric"`, each packet is dropped with the probability of its average alone,
//! instead of RED's even spacing.
//!
//! While packets wait but an average counts none of them, that average decays with each arrival.
//! The average decays with the idle time while the queue is empty.

use super::early::{self, Average, Curve, Packets, Spread};
use super::{Admission, Backlog, Discipline, Queue, Verdict};
use bentpipe_core::{Dscp, Fraction, Problems, Rate, Sample, Size, Stream, Time};
use bentpipe_stage::{facts, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Thresholds and drop probability for the packets of one drop precedence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Average queue in packets above which packets are dropped or marked at random (min_th).
    pub min: Packets,
    /// Average queue in packets above which all packets are dropped (max_th), greater than `min`.
    pub max: Packets,
    /// Drop probability just below `max` (max_p), 0 to 1. Default 0.1.
    #[serde(default = "early::probability")]
    pub probability: Fraction,
}

impl Thresholds {
    fn new(min: u64, max: u64) -> Thresholds {
        Thresholds { min: Packets::new(min), max: Packets::new(max), probability: early::probability() }
    }
}

/// The packets that the average queue of a drop precedence counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// All waiting packets, in one average (WRED).
    #[default]
    All,
    /// Packets of the same and of lower drop precedence (RIO, Clark and Fang 1998).
    Coupled,
    /// Packets of the same drop precedence, in one average per precedence.
    Own,
}

/// The drawing of drops from the probability p_b of an average (Floyd and Jacobson 1993, section
/// 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Uniform spacing: the number of packets between two drops is uniformly distributed (method 2,
    /// RED's own).
    #[default]
    Uniform,
    /// Geometric spacing: each packet is dropped with p_b, so the number of packets between drops
    /// is geometrically distributed (method 1). At the same average fewer packets are dropped,
    /// almost half as many for a small p_b, and queues are longer.
    Geometric,
}

/// Weighted RED (Clark and Fang 1998): RED with thresholds for each of the three drop precedences
/// of assured forwarding (RFC 2597, section 2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of waiting packets. Default 100. Packets that arrive at a full queue are
    /// dropped.
    pub packets: Packets,
    /// Thresholds for green packets: low drop precedence (AFx1) and all code points other than
    /// assured forwarding.
    pub green: Thresholds,
    /// Thresholds for yellow packets: medium drop precedence (AFx2).
    pub yellow: Thresholds,
    /// Thresholds for red packets: high drop precedence (AFx3).
    pub red: Thresholds,
    /// The packets that each average queue counts: `"all"` (the default, WRED), `"coupled"` or
    /// `"own"`.
    pub average: Counted,
    /// Spacing of the drops: `"uniform"` (the default, as in RED) or `"geometric"`.
    pub spacing: Spacing,
    /// True if the drop probability rises linearly above `max`, to 1 at twice `max`, instead of
    /// jumping to 1. Default false.
    pub gentle: bool,
    /// Weight of an arrival in a moving average (w_q), 0 to 1. Default 0.002.
    pub weight: Fraction,
    /// Size of a typical packet, 1 B to 65535 B. During idle time the averages decay as if such
    /// packets were sent. Default 500 B.
    pub typical: Size,
    /// True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default
    /// true.
    pub ecn: bool,
}

/// Thresholds in series, with those of red packets lowest.
impl Default for Config {
    fn default() -> Config {
        Config {
            packets: Packets::new(100),
            green: Thresholds::new(60, 90),
            yellow: Thresholds::new(40, 60),
            red: Thresholds::new(20, 40),
            average: Counted::All,
            spacing: Spacing::Uniform,
            gentle: false,
            weight: early::weight(),
            typical: early::typical(),
            ecn: true,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str =
        "green = { min = 30, max = 40 }, yellow = { min = 20, max = 30 }, red = { min = 10, max = 20 }";
}

impl Discipline for Config {
    fn build(&self, rate: Rate) -> Queue {
        Queue::Arrival(Box::new(Wred::new(self, rate)))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        facts::Queue::early("wred", self.packets.value())
    }

    fn check(&self, problems: &mut Problems) {
        for (name, of) in [("green", self.green), ("yellow", self.yellow), ("red", self.red)] {
            problems.within(name, |problems| early::check_thresholds(of.min, of.max, problems));
        }
        early::check_typical(self.typical, problems);
    }
}

struct Wred {
    packets: u64,
    counted: Counted,
    spacing: Spacing,
    /// The curves, indexed by drop precedence, like all fields below.
    curves: [Curve; 3],
    spreads: [Spread; 3],
    averages: [Average; 3],
    counts: [u64; 3],
    /// Precedences of the packets admitted last. The waiting packets are the last of them, because
    /// the queue is first in, first out.
    waiting: VecDeque<u8>,
    typical: Size,
    ecn: bool,
}

impl Wred {
    fn new(config: &Config, rate: Rate) -> Wred {
        let curve = |of: Thresholds| {
            let (min, max) = (of.min.value() as f64, of.max.value() as f64);
            Curve { min, max, max_probability: of.probability.value(), gentle: config.gentle }
        };
        Wred {
            packets: config.packets.value(),
            counted: config.average,
            spacing: config.spacing,
            curves: [config.green, config.yellow, config.red].map(curve),
            spreads: Default::default(),
            averages: std::array::from_fn(|_| Average::new(config.weight, config.typical, rate)),
            counts: [0; 3],
            waiting: VecDeque::new(),
            typical: config.typical,
            ecn: config.ecn,
        }
    }

    /// Updates all averages that count this arrival. Returns the average that decides its fate.
    #[inline]
    fn average(&mut self, now: Time, precedence: usize, backlog: Backlog) -> f64 {
        while self.waiting.len() as u64 > backlog.packets {
            let gone = self.waiting.pop_front().expect("it is longer than something");
            self.counts[usize::from(gone)] -= 1;
        }
        match self.counted {
            Counted::All => self.averages[0].update(now, backlog.packets, backlog),
            Counted::Own => self.averages[precedence].update(now, self.counts[precedence], backlog),
            Counted::Coupled => {
                for of in precedence..3 {
                    let packets = self.counts[..=of].iter().sum();
                    self.averages[of].update(now, packets, backlog);
                }
                self.averages[precedence].value()
            }
        }
    }
}

impl Admission for Wred {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: Backlog, stream: &mut Stream) -> Verdict {
        let precedence = Dscp::new(packet.dscp & 63).map_or(0, Dscp::precedence);
        let average = self.average(now, precedence, backlog);
        let curve = &self.curves[precedence];
        let fate = match self.spacing {
            Spacing::Uniform => self.spreads[precedence].decide(curve, average, stream),
            Spacing::Geometric => early::decide_alone(curve, average, stream),
        };
        let verdict = early::verdict(fate, backlog.packets < self.packets, self.ecn, packet);
        if verdict == Verdict::Admit {
            self.waiting.push_back(precedence as u8);
            self.counts[precedence] += 1;
        }
        verdict
    }

    fn set_rate(&mut self, rate: Rate) {
        self.averages.iter_mut().for_each(|average| average.set_rate(self.typical, rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    /// Returns the averages, which follow at once, that a packet of each colour meets after 10
    /// green, 4 yellow and 2 red packets wait.
    fn met(counted: Counted) -> [f64; 3] {
        let config = Config { weight: Fraction::thousandths(1000), average: counted, ..Config::default() };
        let mut stream = Streams::new(1, 0).stream("wred");
        let mut averages = [0.0; 3];
        for (precedence, average) in averages.iter_mut().enumerate() {
            let mut wred = Wred::new(&config, Rate::from_bits_per_second(1_000_000));
            let mut backlog = Backlog::default();
            for (dscp, count) in [(Dscp::af(1, 1), 10), (Dscp::af(1, 2), 4), (Dscp::af(1, 3), 2)] {
                for _ in 0..count {
                    let mut packet = Packet { dscp: dscp.value(), ..Packet::default() };
                    assert_eq!(wred.admit(Time::ZERO, &mut packet, backlog, &mut stream), Verdict::Admit);
                    backlog.packets += 1;
                }
            }
            *average = wred.average(Time::ZERO, precedence, backlog);
            // Green packets leave first.
            backlog.packets = 5;
            assert_eq!(wred.average(Time::ZERO, 2, backlog), if counted == Counted::Own { 2.0 } else { 5.0 });
        }
        averages
    }

    #[test]
    fn averages_count_the_configured_packets() {
        assert_eq!(met(Counted::All), [16.0; 3]);
        assert_eq!(met(Counted::Coupled), [10.0, 14.0, 16.0]);
        assert_eq!(met(Counted::Own), [10.0, 4.0, 2.0]);
    }
}
