//! PIE, proportional integral controller enhanced (RFC 8033): drops packets at arrival with a
//! probability that follows the queueing delay.
//!
//! States have the names of the pseudo-code in appendix A. Every T_UPDATE of 15 ms, `drop_prob`
//! changes by 0.125 (qdelay - target) + 1.25 (qdelay - qdelay_old) with the delay in seconds, and
//! by less if `drop_prob` is small. It decays while there is no delay. For `burst` after an idle
//! time nothing is dropped. The delay is that of the packet that left last, from its time stamp
//! (allowed by section 5.2); it is zero when nothing waits. Packets of ECN-capable transports are
//! marked instead of dropped while `drop_prob` is at most a tenth (section 5.1).
//!
//! ```toml
//! queue = { kind = "pie", packets = 1000, target = "15 ms" }
//! ```
//!
//! Updates that were due since the last arrival or departure are processed at the next one, with
//! the state in between, which does not change. Drops are derandomised (section 5.4).

use super::buffer::{Buffer, Effects, Head, Line, Waiting};
use super::drop_tail::FULL;
use super::early::{mark, Packets, EARLY};
use super::{Discipline, Queue};
use bentpipe_core::{Dscp, Problems, Rate, Sample, Span, Stream, Time};
use bentpipe_stage::{facts, Held, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// PIE (RFC 8033): drops packets at arrival with a probability that a controller adjusts to hold
/// the queueing delay at a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of waiting packets. Default 1000. Packets that arrive at a full queue are
    /// dropped.
    pub packets: Packets,
    /// Target queueing delay of the controller (QDELAY_REF in RFC 8033), longer than 0 s. Default
    /// 15 ms.
    pub target: Span,
    /// Period of the updates of the drop probability (T_UPDATE in RFC 8033), longer than 0 s.
    /// Default 15 ms.
    pub update: Span,
    /// Burst allowance: time without drops when a delay builds up after an idle period (MAX_BURST
    /// in RFC 8033). Default 150 ms.
    pub burst: Span,
    /// True if packets of ECN-capable transports are marked instead of dropped while the drop
    /// probability is at most 10 % (section 5.1). Default true.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            packets: Packets::new(1000),
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            burst: Span::from_millis(150),
            ecn: true,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"packets = 250, target = "20 ms""#;
}

impl Discipline for Config {
    fn build(&self, _rate: Rate) -> Queue {
        let (line, control) = (Line::default(), Control::new(self));
        Queue::Departure(Box::new(Pie { packets: self.packets.value(), line, control }))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        facts::Queue::early("pie", self.packets.value())
    }

    fn check(&self, problems: &mut Problems) {
        check_times(self.target, self.update, problems);
    }
}

/// Adds a problem for each time of the controller that is 0 s.
pub(super) fn check_times(target: Span, update: Span, problems: &mut Problems) {
    for (key, span) in [("target", target), ("update", update)] {
        if span == Span::ZERO {
            problems.add(key, "must be longer than 0 s");
        }
    }
}

/// A typical packet size in bytes: nothing is dropped while no more than two such packets are
/// waiting.
const MEAN_PKTSIZE: u64 = 1024;
/// The `drop_prob` up to which packets are marked instead of dropped.
const MARK_ECNTH: f64 = 0.1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Say {
    Enqueue,
    Drop,
}

/// The controller of the drop probability. Delays are in seconds.
struct Control {
    target: f64,
    update: Span,
    burst: Span,
    ecn: bool,
    drop_prob: f64,
    qdelay_old: f64,
    qdelay: f64,
    burst_allowance: Span,
    accu_prob: f64,
    next: Time,
}

impl Control {
    fn new(config: &Config) -> Control {
        Control {
            target: config.target.as_secs_f64(),
            update: config.update,
            burst: config.burst,
            ecn: config.ecn,
            drop_prob: 0.0,
            qdelay_old: 0.0,
            qdelay: 0.0,
            burst_allowance: config.burst,
            accu_prob: 0.0,
            next: Time::ZERO + config.update,
        }
    }

    /// Runs the updates that are due.
    fn catch_up(&mut self, now: Time) {
        while self.next <= now {
            self.next += self.update;
            self.calculate_drop_prob();
            let quiet = self.drop_prob == 0.0 && self.qdelay == 0.0 && self.qdelay_old == 0.0;
            if quiet && self.burst_allowance == Span::ZERO {
                let missed = now.since(self.next).as_nanos() / self.update.as_nanos();
                self.next += Span::from_nanos(missed * self.update.as_nanos());
            }
        }
    }

    fn calculate_drop_prob(&mut self) {
        let mut p = 0.125 * (self.qdelay - self.target) + 1.25 * (self.qdelay - self.qdelay_old);
        let scales = [
            (0.000_001, 2048.0),
            (0.000_01, 512.0),
            (0.000_1, 128.0),
            (0.001, 32.0),
            (0.01, 8.0),
            (0.1, 2.0),
        ];
        if let Some((_, scale)) = scales.iter().find(|(below, _)| self.drop_prob < *below) {
            p /= scale;
        } else {
            p = p.min(0.02);
        }
        self.drop_prob += p;
        if self.qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 1.0 - 1.0 / 64.0;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(self.update);
    }

    fn drop_early(&mut self, bytes: u64, stream: &mut Stream) -> Say {
        if (self.qdelay_old < self.target / 2.0 && self.drop_prob < 0.2) || bytes <= 2 * MEAN_PKTSIZE {
            return Say::Enqueue;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 {
            return Say::Enqueue;
        }
        if self.accu_prob >= 8.5 || stream.chance(self.drop_prob) {
            self.accu_prob = 0.0;
            return Say::Drop;
        }
        Say::Enqueue
    }

    /// Decides if a packet that finds `bytes` waiting is admitted. May mark it instead of dropping
    /// it.
    fn admit(&mut self, now: Time, packet: &mut Packet, bytes: u64, stream: &mut Stream) -> bool {
        self.catch_up(now);
        let half = self.target / 2.0;
        if self.drop_prob == 0.0 && self.qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.burst;
        }
        if self.burst_allowance > Span::ZERO || self.drop_early(bytes, stream) == Say::Enqueue {
            return true;
        }
        self.ecn && self.drop_prob <= MARK_ECNTH && mark(packet)
    }
}

struct Pie {
    packets: u64,
    line: Line,
    control: Control,
}

impl Buffer for Pie {
    fn enqueue(&mut self, now: Time, mut packet: Packet, effects: &mut Effects<'_>) {
        let Held { packets, bytes } = self.line.held();
        if packets >= self.packets {
            effects.drop(packet, FULL);
        } else if self.control.admit(now, &mut packet, bytes, effects.stream) {
            self.line.push(now, packet);
        } else {
            effects.drop(packet, EARLY);
        }
    }

    fn dequeue(&mut self, now: Time, _effects: &mut Effects<'_>) -> Option<(Packet, Time)> {
        self.control.catch_up(now);
        let (packet, arrived) = self.line.pop()?;
        let empty = self.line.held().packets == 0;
        self.control.qdelay = if empty { 0.0 } else { now.since(arrived).as_secs_f64() };
        Some((packet, arrived))
    }

    fn head(&self, now: Time) -> Option<Head> {
        self.line.head(now)
    }

    fn held(&self) -> Held {
        self.line.held()
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = Waiting> + '_> {
        Box::new(self.line.waiting())
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.line.drain()
    }
}
