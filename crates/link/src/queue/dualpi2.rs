//! DualPI2, a coupled dual-queue AQM (RFC 9332): low-latency traffic has a shallow queue L, and
//! classic traffic a queue C. One controller sets the probabilities of both.
//!
//! States have the names of the pseudo-code in appendix A. Packets with ECT(1) or CE join L, others
//! C. Every Tupdate the base probability p' changes by alpha (curq - target) + beta (curq - prevq),
//! in which curq is the wait of the first packet in L or in C, the longer one, in seconds. A packet
//! leaves C with the probability p_C = p'^2 of a mark, or of a drop if it is Not-ECT. A packet
//! leaves L marked with the probability max(p'_L, p_CL): p_CL = k p' is coupled to C, and p'_L of
//! the native AQM rises from 0 at a sojourn time of minTh to 1 at minTh + range.
//!
//! Overload (appendix A.2): if p_CL reaches p_Lmax = 1, packets of L are dropped with probability
//! p_C, and the others are marked. If p_C reaches p_Cmax = 1/k^2, packets of C are dropped
//! instead of marked.
//!
//! ```toml
//! queue = { kind = "dualpi2", target = "15 ms", min_th = "1 ms" }
//! ```
//!
//! Scheduler (section 4.2.2, weighted round robin): L has priority until C has missed its share.
//! While both queues have packets, each byte of L earns C a credit of `classic_protection` bytes. C
//! sends a packet of s bytes when the credit is (1 - `classic_protection`) s, and pays this amount.
//! The credit is 0 if one of the queues is empty.
//!
//! Deviations: marks and drops are random draws instead of the deterministic `recur`, which could
//! lock on to a periodic order of flows. The queue is limited in packets instead of bytes. p' is
//! limited to 0 to 1. Defaults are those of Linux (tc-dualpi2(8)): a step at 1 ms instead of a ramp
//! from 0.8 to 1.2 ms, and native marking of a single packet (Th_len 0 instead of 1). Updates that
//! were due since the last arrival or departure are processed at the next one, each with the wait
//! at its due time.
//!
//! Limits: the default gains and target suit round-trip times up to 100 ms. For a longest time
//! RTT_max the RFC sets alpha = 0.1 Tupdate / RTT_max^2 and beta = 0.3 / RTT_max: with 600 ms,
//! 0.0044 and 0.5. Nothing exempts short queues: on a link where the transmission of a packet takes
//! longer than the target or minTh, packets are marked or dropped while a second packet waits.

use super::buffer::{Buffer, Effects, Head, Line, Waiting};
use super::drop_tail::FULL;
use super::early::{mark, Packets, EARLY};
use super::{pie, Discipline, Queue};
use bentpipe_core::{Count, Dscp, Fraction, Problems, Rate, Real, Sample, Span, Stream, Time};
use bentpipe_stage::{facts, Ecn, Held, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A gain of the controller in Hz.
pub type Gain = Real<1, 1_000_000>;

/// DualPI2 (RFC 9332): a shallow queue for L4S traffic and a queue for classic traffic, whose mark
/// and drop probabilities are coupled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of waiting packets in both queues together (limit in RFC 9332). Default
    /// 10000. Packets that arrive at a full queue are dropped.
    pub packets: Packets,
    /// Target queueing delay of classic traffic, longer than 0 s. Default 15 ms. On slow links it
    /// should exceed the transmission time of two packets.
    pub target: Span,
    /// Period of the updates of the base probability (Tupdate in RFC 9332), longer than 0 s.
    /// Default 16 ms.
    pub update: Span,
    /// Integral gain in Hz, per second of difference from the target. Default 0.16015625 (41/256).
    pub alpha: Gain,
    /// Proportional gain in Hz, per second of change of the delay. Default 3.19921875 (819/256).
    pub beta: Gain,
    /// Coupling factor from the base probability to the probability of marks in the L4S queue (k in
    /// RFC 9332), 0 to 255. Default 2. A factor of 0 uncouples the queues.
    pub coupling: Real<0, 255_000>,
    /// Sojourn time in the L4S queue above which packets may be marked (minTh in RFC 9332). Default
    /// 1 ms.
    pub min_th: Span,
    /// Width of the ramp above `min_th` in which the probability of a mark rises from 0 to 1 (range
    /// in RFC 9332). Default 0 s, a step: every packet with a sojourn time of at least `min_th` is
    /// marked.
    pub range: Span,
    /// Number of packets in the L4S queue, with the departing one, up to which the sojourn time
    /// causes no marks (Th_len in RFC 9332). Default 0.
    pub th_len: Count<0, 1_000_000>,
    /// Share of the link's bytes for classic traffic while both queues have packets, 0 to 1. L4S
    /// traffic has priority for the rest. Default 0.1.
    pub classic_protection: Fraction,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            packets: Packets::new(10_000),
            target: Span::from_millis(15),
            update: Span::from_millis(16),
            alpha: Gain::of(41.0 / 256.0),
            beta: Gain::of(819.0 / 256.0),
            coupling: Real::of(2.0),
            min_th: Span::from_millis(1),
            range: Span::ZERO,
            th_len: Count::new(0),
            classic_protection: Fraction::thousandths(100),
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"packets = 250, target = "20 ms", range = "2 ms""#;
}

impl Discipline for Config {
    fn build(&self, _rate: Rate) -> Queue {
        Queue::Departure(Box::new(DualPi2::new(self)))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        facts::Queue::early("dualpi2", self.packets.value())
    }

    fn check(&self, problems: &mut Problems) {
        pie::check_times(self.target, self.update, problems);
    }
}

/// Largest probability of a mark in L. At this coupled probability, L drops packets.
const P_LMAX: f64 = 1.0;
/// Parts of a byte in which the credit of C is counted.
const PARTS: i64 = 1_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lane {
    L,
    C,
}

/// The fate of a packet at the head of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Pass,
    Mark,
    Drop,
}

/// The controller of the probabilities. Delays are in seconds.
struct Control {
    target: f64,
    update: Span,
    alpha: f64,
    beta: f64,
    k: f64,
    p_cmax: f64,
    min_th: f64,
    range: f64,
    /// p', from which the probabilities of both queues follow.
    base: f64,
    prevq: f64,
    next: Time,
}

impl Control {
    fn new(config: &Config) -> Control {
        let k = config.coupling.value();
        Control {
            target: config.target.as_secs_f64(),
            update: config.update,
            alpha: config.alpha.value(),
            beta: config.beta.value(),
            k,
            p_cmax: (1.0 / (k * k)).min(1.0),
            min_th: config.min_th.as_secs_f64(),
            range: config.range.as_secs_f64(),
            base: 0.0,
            prevq: 0.0,
            next: Time::ZERO + config.update,
        }
    }

    /// Runs the updates that are due. `oldest` is the arrival of the packet that has waited
    /// longest.
    fn catch_up(&mut self, now: Time, oldest: Option<Time>) {
        while self.next <= now {
            let curq = oldest.map_or(0.0, |arrived| self.next.since(arrived).as_secs_f64());
            self.next += self.update;
            self.change(curq);
            if oldest.is_none() && self.base == 0.0 && self.prevq == 0.0 {
                // Further updates of an empty queue change nothing.
                let missed = now.since(self.next).as_nanos() / self.update.as_nanos();
                self.next += Span::from_nanos(missed * self.update.as_nanos());
            }
        }
    }

    /// Updates the base probability (`dualpi2_update`).
    fn change(&mut self, curq: f64) {
        let change = self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.base = (self.base + change).clamp(0.0, 1.0);
        self.prevq = curq;
    }

    fn p_c(&self) -> f64 {
        self.base * self.base
    }

    fn p_cl(&self) -> f64 {
        self.k * self.base
    }

    /// Returns the probability p'_L of the native AQM of L (`laqm`).
    fn laqm(&self, sojourn: f64) -> f64 {
        if sojourn >= self.min_th + self.range {
            1.0
        } else if sojourn > self.min_th {
            (sojourn - self.min_th) / self.range
        } else {
            0.0
        }
    }

    /// Decides about a packet of L after this sojourn time; `native` is true if the native AQM
    /// applies.
    fn low_latency(&self, sojourn: f64, native: bool, stream: &mut Stream) -> Fate {
        if self.p_cl() >= P_LMAX {
            return if draw(self.p_c(), stream) { Fate::Drop } else { Fate::Mark };
        }
        let p_l = if native { self.laqm(sojourn) } else { 0.0 };
        if draw(p_l.max(self.p_cl()), stream) {
            Fate::Mark
        } else {
            Fate::Pass
        }
    }

    /// Decides about a packet of C.
    fn classic(&self, ecn: Ecn, stream: &mut Stream) -> Fate {
        if !draw(self.p_c(), stream) {
            Fate::Pass
        } else if ecn == Ecn::NotEct || self.p_c() >= self.p_cmax {
            Fate::Drop
        } else {
            Fate::Mark
        }
    }
}

/// Returns true with this probability.
fn draw(probability: f64, stream: &mut Stream) -> bool {
    probability >= 1.0 || (probability > 0.0 && stream.chance(probability))
}

struct DualPi2 {
    packets: u64,
    th_len: u64,
    /// Share of C in parts of a byte per byte.
    share: i64,
    /// Credit of C in parts of a byte.
    credit: i64,
    l: Line,
    c: Line,
    control: Control,
}

impl DualPi2 {
    fn new(config: &Config) -> DualPi2 {
        DualPi2 {
            packets: config.packets.value(),
            th_len: config.th_len.value(),
            share: (config.classic_protection.value() * PARTS as f64).round() as i64,
            credit: 0,
            l: Line::default(),
            c: Line::default(),
            control: Control::new(config),
        }
    }

    fn catch_up(&mut self, now: Time) {
        let first = |line: &Line| line.waiting().next().map(|waiting| waiting.arrival);
        let oldest = [&self.l, &self.c].into_iter().filter_map(first).min();
        self.control.catch_up(now, oldest);
    }

    /// Returns the credit that a packet of C needs and pays.
    fn price(&self, size: u32) -> i64 {
        (PARTS - self.share) * i64::from(size)
    }

    /// Returns the queue to serve next.
    fn choose(&self) -> Option<Lane> {
        match (self.l.first(), self.c.first()) {
            (None, None) => None,
            (Some(_), None) => Some(Lane::L),
            (None, Some(_)) => Some(Lane::C),
            (Some(_), Some(size)) if self.credit >= self.price(size) => Some(Lane::C),
            (Some(_), Some(_)) => Some(Lane::L),
        }
    }

    /// Accounts for a packet that is sent from a queue; `both` is true if the other queue had
    /// packets too.
    fn account(&mut self, lane: Lane, size: u32, both: bool) {
        self.credit = match lane {
            _ if !both => 0,
            Lane::L => self.credit + self.share * i64::from(size),
            Lane::C => self.credit - self.price(size),
        };
    }
}

impl Buffer for DualPi2 {
    fn enqueue(&mut self, now: Time, packet: Packet, effects: &mut Effects<'_>) {
        self.catch_up(now);
        if self.held().packets >= self.packets {
            effects.drop(packet, FULL);
        } else if matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) {
            self.l.push(now, packet);
        } else {
            self.c.push(now, packet);
        }
    }

    fn dequeue(&mut self, now: Time, effects: &mut Effects<'_>) -> Option<(Packet, Time)> {
        self.catch_up(now);
        loop {
            let lane = self.choose()?;
            let both = self.l.first().is_some() && self.c.first().is_some();
            let native = self.l.held().packets > self.th_len;
            let line = if lane == Lane::L { &mut self.l } else { &mut self.c };
            let (mut packet, arrived) = line.pop()?;
            let sojourn = now.since(arrived).as_secs_f64();
            let fate = match lane {
                Lane::L => self.control.low_latency(sojourn, native, effects.stream),
                Lane::C => self.control.classic(packet.ecn, effects.stream),
            };
            if fate == Fate::Drop {
                effects.drop(packet, EARLY);
                continue;
            }
            if fate == Fate::Mark {
                mark(&mut packet);
            }
            self.account(lane, packet.size, both);
            return Some((packet, arrived));
        }
    }

    fn head(&self, now: Time) -> Option<Head> {
        match self.choose()? {
            Lane::L => self.l.head(now),
            Lane::C => self.c.head(now),
        }
    }

    fn held(&self) -> Held {
        [self.l.held(), self.c.held()].into_iter().sum()
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = Waiting> + '_> {
        Box::new(self.l.waiting().chain(self.c.waiting()))
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.credit = 0;
        let mut packets = self.l.drain();
        packets.append(&mut self.c.drain());
        packets
    }
}

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
