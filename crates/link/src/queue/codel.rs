//! CoDel, controlled delay (RFC 8289): drops packets at departure, with increasing frequency, while
//! every packet of an interval has waited longer than the target.
//!
//! States have the names of the pseudo-code in section 5. A packet may be dropped (`ok_to_drop`)
//! when the delay has been above `target` for `interval` at `first_above_time`. While `dropping`,
//! the next drop is due at `drop_next`, `interval` / sqrt(`count`) after the previous one. Packets
//! of ECN-capable transports are marked instead of dropped.
//!
//! ```toml
//! queue = { kind = "codel", packets = 1000, target = "5 ms", interval = "100 ms" }
//! ```
//!
//! The default target suits paths through the Internet. The RFC recommends 5 to 10 % of the
//! interval, which should be a worst-case round-trip time: 600 ms over a geostationary satellite.

use super::buffer::{Buffer, Effects, Head, Line, Waiting};
use super::drop_tail::FULL;
use super::early::{mark, Packets};
use super::{Discipline, Queue};
use bentpipe_core::{Dscp, Problems, Rate, Sample, Size, Span, Time};
use bentpipe_stage::{facts, DropReason, Held, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drop reason: packets have waited longer than the target for an interval.
pub const DELAY: DropReason = DropReason::new("delay above target");

/// CoDel (RFC 8289): drops packets at departure while the queueing delay has stayed above a target
/// for a whole interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of waiting packets. Default 1000. Packets that arrive at a full queue are
    /// dropped.
    pub packets: Packets,
    /// Target: minimum standing queue delay (TARGET in RFC 8289), longer than 0 s and shorter than
    /// `interval`. Default 5 ms, as the RFC recommends.
    pub target: Span,
    /// Interval: time for which the delay must stay above the target before packets are dropped
    /// (INTERVAL in RFC 8289). It should be a worst-case round-trip time, such as 600 ms over a
    /// geostationary satellite. Default 100 ms.
    pub interval: Span,
    /// Size of the largest packet. Nothing is dropped while no more than this is waiting. Default
    /// 1500 B.
    pub largest: Size,
    /// True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default
    /// true.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            packets: Packets::new(1000),
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            largest: Size::from_bytes(1500),
            ecn: true,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"packets = 200, target = "10 ms""#;
}

impl Discipline for Config {
    fn build(&self, _rate: Rate) -> Queue {
        let (line, control) = (Line::default(), Control::new(self));
        Queue::Departure(Box::new(Codel { packets: self.packets.value(), line, control }))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        facts::Queue::early("codel", self.packets.value())
    }

    fn check(&self, problems: &mut Problems) {
        check_times(self.target, self.interval, problems);
    }
}

/// Adds a problem if target and interval are inconsistent.
pub(super) fn check_times(target: Span, interval: Span, problems: &mut Problems) {
    if target == Span::ZERO || target >= interval {
        let message = format!("must be longer than 0 s and shorter than the interval, {interval}");
        problems.add("target", message);
    }
}

/// A packet with the time of its arrival, and true if it may be dropped.
type Taken = ((Packet, Time), bool);

/// The state of CoDel for one line of packets.
#[derive(Clone, Debug)]
pub struct Control {
    target: Span,
    interval: Span,
    largest: u64,
    ecn: bool,
    first_above_time: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
    last_count: u32,
}

impl Control {
    /// Creates the state of a line whose delay has not been above the target.
    pub fn new(config: &Config) -> Control {
        Control {
            target: config.target,
            interval: config.interval,
            largest: config.largest.bytes(),
            ecn: config.ecn,
            first_above_time: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    fn control_law(&self, from: Time, count: u32) -> Time {
        from + Span::from_secs_f64(self.interval.as_secs_f64() / f64::from(count).sqrt())
    }

    /// Removes the first packet. Returns it with the time of its arrival, and true if it may be
    /// dropped (`dodequeue` in section 5). `others` is the number of bytes that count as waiting
    /// besides those of the line.
    fn take(&mut self, now: Time, line: &mut Line, others: u64) -> Option<Taken> {
        let Some((packet, arrived)) = line.pop() else {
            self.first_above_time = None;
            return None;
        };
        if now.since(arrived) < self.target || line.held().bytes + others <= self.largest {
            self.first_above_time = None;
            return Some(((packet, arrived), false));
        }
        let Some(first_above_time) = self.first_above_time else {
            self.first_above_time = Some(now + self.interval);
            return Some(((packet, arrived), false));
        };
        Some(((packet, arrived), now >= first_above_time))
    }

    /// Marks the packet, or drops it and takes the next one.
    fn drop(
        &mut self,
        now: Time,
        (mut packet, arrived): (Packet, Time),
        line: &mut Line,
        others: u64,
        effects: &mut Effects<'_>,
    ) -> (Option<Taken>, bool) {
        if self.ecn && mark(&mut packet) {
            return (Some(((packet, arrived), true)), true);
        }
        effects.drop(packet, DELAY);
        (self.take(now, line, others), false)
    }

    /// Returns the packet that leaves now and the time of its arrival, if a packet leaves. `others`
    /// is the number of bytes that count as waiting besides those of the line.
    pub fn dequeue(
        &mut self,
        now: Time,
        line: &mut Line,
        others: u64,
        effects: &mut Effects<'_>,
    ) -> Option<(Packet, Time)> {
        let mut first = self.take(now, line, others);
        if self.dropping {
            self.dropping = first.as_ref().is_some_and(|(_, ok_to_drop)| *ok_to_drop);
            while self.dropping && now >= self.drop_next {
                let (packet, _) = first.take()?;
                self.count += 1;
                let (next, marked) = self.drop(now, packet, line, others, effects);
                self.dropping = next.as_ref().is_some_and(|(_, ok_to_drop)| *ok_to_drop);
                if self.dropping {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                }
                first = next;
                if marked {
                    break;
                }
            }
        } else if let Some((packet, true)) = first {
            (first, _) = self.drop(now, packet, line, others, effects);
            self.dropping = true;
            // If packets were dropped a short time ago, resume near the drop rate that controlled
            // the queue then.
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now.since(self.drop_next).as_nanos() < 16 * self.interval.as_nanos();
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.control_law(now, self.count);
            self.last_count = self.count;
        }
        first.map(|(packet, _)| packet)
    }
}

struct Codel {
    packets: u64,
    line: Line,
    control: Control,
}

impl Buffer for Codel {
    fn enqueue(&mut self, now: Time, packet: Packet, effects: &mut Effects<'_>) {
        if self.line.held().packets < self.packets {
            self.line.push(now, packet);
        } else {
            effects.drop(packet, FULL);
        }
    }

    fn dequeue(&mut self, now: Time, effects: &mut Effects<'_>) -> Option<(Packet, Time)> {
        self.control.dequeue(now, &mut self.line, 0, effects)
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
