//! Drop front: first in, first out. A full queue drops packets at its front to make room for an
//! arriving one.
//!
//! A sender detects a loss at the front one queueing delay earlier than a loss at the tail, and the
//! remaining packets are fresher (T. V. Lakshman, A. Neidhardt, T. Ott, "The drop from front
//! strategy in TCP and in TCP over ATM", INFOCOM 1996). Measured on Starlink's downlink (arXiv
//! 2605.27717).
//!
//! The packet in transmission is not counted and never dropped. The default limit is 1000 packets,
//! as for drop tail.
//!
//! ```toml
//! queue = { kind = "drop-front", packets = 417 }
//! ```

use super::buffer::{Buffer, Effects, Head, Line, Waiting};
use super::drop_tail::FULL;
use super::{limit, Discipline, Queue};
use bentpipe_core::{Dscp, Problems, Rate, Sample, Size, Time};
use bentpipe_stage::{facts, Held, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queue that drops from its front when it is full, limited in packets, in bytes or in both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Maximum number of waiting packets. If neither this nor `bytes` is given, 1000 packets, as in
    /// a Linux device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<limit::Packets>,
    /// Maximum number of waiting bytes, at least 1500 B. If unset, only `packets` limits the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Size>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"packets = 40, bytes = "50 kB""#;
}

impl Discipline for Config {
    fn build(&self, _rate: Rate) -> Queue {
        let (packets, bytes) = limit::limits(self.packets, self.bytes);
        Queue::Departure(Box::new(DropFront { packets, bytes, line: Line::default() }))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        let note = "drop-front drops the packet that has waited longest".to_owned();
        let fifo = facts::Queue::fifo(
            "drop-front",
            limit::max_packets(self.packets, self.bytes),
            self.bytes.map(Size::bytes),
        );
        facts::Queue { notes: vec![note], ..fifo }
    }

    fn check(&self, problems: &mut Problems) {
        limit::check(self.bytes, problems);
    }
}

struct DropFront {
    packets: u64,
    bytes: u64,
    line: Line,
}

impl Buffer for DropFront {
    fn enqueue(&mut self, now: Time, packet: Packet, effects: &mut Effects<'_>) {
        let size = u64::from(packet.size);
        if size > self.bytes {
            return effects.drop(packet, FULL);
        }
        let full = |held: Held| held.packets >= self.packets || held.bytes + size > self.bytes;
        while full(self.line.held()) {
            let (front, _) = self.line.pop().expect("what is full is not empty");
            effects.drop(front, FULL);
        }
        self.line.push(now, packet);
    }

    fn dequeue(&mut self, _now: Time, _effects: &mut Effects<'_>) -> Option<(Packet, Time)> {
        self.line.pop()
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

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;
    use bentpipe_stage::Outbox;

    #[test]
    fn the_oldest_packets_are_dropped() {
        let config: Config = serde_json::from_str(r#"{"packets": 3, "bytes": "3 kB"}"#).unwrap();
        let Queue::Departure(mut queue) = config.build(Rate::from_bits_per_second(1000)) else { panic!() };
        let (mut stream, mut out) = (Streams::new(1, 0).stream("front"), Outbox::default());
        let mut effects = Effects::new(&mut stream, &mut out);
        for (number, size) in [(0, 100), (1, 100), (2, 100), (3, 100), (4, 2850), (5, 4000)] {
            queue.enqueue(Time::ZERO, Packet { number, size, ..Packet::default() }, &mut effects);
        }
        // Packet 3 drops 0; 4 fits next to 3 alone; 5 does not fit at all.
        assert_eq!(effects.drops, 4);
        let left: Vec<u32> = queue.drain().iter().map(|packet| packet.number).collect();
        assert_eq!(left, [3, 4]);
    }
}
