//! A shaper: delays the packets of the queue within it until a token bucket contains tokens for
//! them.
//!
//! In any time t at most `burst` + `rate` t bytes leave. Schedulers skip a class that is held back,
//! so shapers build hierarchies: classes within classes, each limited to its rate.
//!
//! ```toml
//! [link.queue]
//! kind = "priority"
//!
//! [[link.queue.classes]]
//! name = "voice"
//! dscp = ["ef"]
//! queue = { kind = "shaper", rate = "200 kbit/s", burst = "3 kB" }
//!
//! [[link.queue.classes]]
//! name = "rest"
//! queue = { kind = "wfq", classes = [{ name = "gold", dscp = ["af11"] }, { name = "other" }] }
//! ```

use super::bucket::Bucket;
use super::buffer::{Buffer, Effects, Head, Waiting};
use super::{Config as Inner, Discipline, Queue};
use bentpipe_core::{Dscp, Problems, Rate, Sample, Size, Time};
use bentpipe_stage::{facts, DropReason, Held, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drop reason: the packet is longer than the shaper's burst and could never leave.
pub const TOO_LONG: DropReason = DropReason::new("longer than the shaper's burst");

/// A token bucket shaper: limits a queue to a rate and a burst. Packets that exceed them wait; a
/// packet longer than `burst` is dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate at which the bucket is refilled: the maximum long-term rate of the queue.
    pub rate: Rate,
    /// Size of the token bucket: the bytes that may leave at once after a pause, at least 1500 B.
    /// Default 3000 B.
    #[serde(default = "burst")]
    pub burst: Size,
    /// Queue discipline for the packets that wait for tokens.
    #[serde(default)]
    pub queue: Box<Inner>,
}

fn burst() -> Size {
    Size::from_bytes(3000)
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"rate = "600 kbit/s", burst = "6 kB", queue = { kind = "drop-tail", packets = 60 }"#;
}

impl Discipline for Config {
    fn build(&self, rate: Rate) -> Queue {
        let inner = self.queue.build(self.rate.min(rate)).buffer();
        let bucket = Bucket::new(self.rate, self.burst);
        let (rate, burst) = (self.rate, self.burst.bytes());
        Queue::Departure(Box::new(Shaper { rate, bucket, burst, inner, next: None }))
    }

    fn facts(&self, rate: Rate, dscp: Dscp) -> facts::Queue {
        let inner = self.queue.facts(self.rate.min(rate), dscp);
        let own = self.rate.bits_per_second() as f64;
        facts::Queue { kind: "shaper", rate: Some(inner.rate.map_or(own, |rate| rate.min(own))), ..inner }
    }

    fn check(&self, problems: &mut Problems) {
        if self.burst.bytes() < 1500 {
            problems.add("burst", format!("{} is less than a packet; allowed: 1500 B or more", self.burst));
        }
        problems.within("queue", |problems| self.queue.check(problems));
    }
}

struct Shaper {
    rate: Rate,
    bucket: Bucket,
    burst: u64,
    inner: Box<dyn Buffer>,
    /// A packet that has left the inner queue but lacks tokens, because it is longer than the
    /// dropped packet before it.
    next: Option<(Packet, Time)>,
}

impl Buffer for Shaper {
    fn enqueue(&mut self, now: Time, packet: Packet, effects: &mut Effects<'_>) {
        if u64::from(packet.size) > self.burst {
            return effects.drop(packet, TOO_LONG);
        }
        self.inner.enqueue(now, packet, effects);
    }

    fn dequeue(&mut self, now: Time, effects: &mut Effects<'_>) -> Option<(Packet, Time)> {
        self.bucket.fill(now);
        if self.next.is_none() {
            let head = self.inner.head(now).filter(|head| head.at <= now)?;
            if !self.bucket.has(head.size) {
                return None;
            }
            self.next = self.inner.dequeue(now, effects);
        }
        let size = self.next.as_ref()?.0.size;
        if self.bucket.try_take(size) {
            self.next.take()
        } else {
            None
        }
    }

    fn head(&self, now: Time) -> Option<Head> {
        let head = match &self.next {
            Some((packet, _)) => Head { at: now, size: packet.size },
            None => self.inner.head(now)?,
        };
        Some(Head { at: head.at.max(self.bucket.ready(head.size)), ..head })
    }

    fn held(&self) -> Held {
        let mut held = self.inner.held();
        self.next.iter().for_each(|(packet, _)| held.add(packet));
        held
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = Waiting> + '_> {
        Box::new(
            self.next
                .iter()
                .map(|(packet, arrival)| Waiting { arrival: *arrival, size: packet.size })
                .chain(self.inner.waiting()),
        )
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.next.take().map(|(packet, _)| packet).into_iter().chain(self.inner.drain()).collect()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.inner.set_rate(self.rate.min(rate));
    }
}
