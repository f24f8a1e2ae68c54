//! FQ-CoDel (RFC 8290): flows are hashed to many lines with their own CoDel, which are served by
//! deficit round robin; new lines have precedence.
//!
//! Packets are hashed to lines by flow, source and connection. A line that was empty is appended to
//! the new lines, with a credit of one quantum. The first new line is served, or the first old line
//! if there are no new ones. A line without credit receives a quantum and is appended to the old
//! lines (section 4.2). An empty new line becomes an old one, so that it cannot return to the front
//! at once; an empty old line is removed. When there are too many packets, half of those of the
//! longest line, at most 64, are dropped from its head.
//!
//! CoDel drops nothing while at most a packet waits (RFC 8289, section 5). Here this counts the
//! bytes of a line. Linux counts the bytes of all lines, and so also drops from flows near their
//! fair share, of which one packet waits at a time; `backlog = "all"` does the same.
//!
//! ```toml
//! queue = { kind = "fq-codel", packets = 10240 }
//! ```

use super::buffer::{Buffer, Effects, Head, Line, Waiting};
use super::codel::{self, Control};
use super::drop_tail::FULL;
use super::early::Packets;
use super::{Discipline, Queue};
use bentpipe_core::{Count, Dscp, Problems, Rate, Sample, Size, Span, Time};
use bentpipe_stage::{facts, Held, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// FQ-CoDel (RFC 8290): hashes flows to lines, each with its own CoDel, and serves the lines by
/// deficit round robin with precedence for new ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of waiting packets in all lines together. Default 10240, as in RFC 8290.
    /// Above it, up to 64 packets are dropped from the head of the longest line.
    pub packets: Packets,
    /// Number of lines to which flows are hashed, 1 to 65536. Default 1024, as in RFC 8290.
    pub flows: Count<1, 65_536>,
    /// Quantum: the bytes that a line may send per turn, 64 B to 1 MB. Default 1514 B, as in RFC
    /// 8290.
    pub quantum: Size,
    /// Target: minimum standing queue delay of each line's CoDel (TARGET in RFC 8289). Default 5
    /// ms.
    pub target: Span,
    /// Interval: time for which a line's delay must stay above the target before its packets are
    /// dropped (INTERVAL in RFC 8289). Default 100 ms.
    pub interval: Span,
    /// Bytes that count as waiting for the rule that nothing is dropped while at most 1500 B wait.
    /// Default `"line"`.
    pub backlog: Backlog,
    /// True if packets of ECN-capable transports are marked instead of dropped (RFC 3168). Default
    /// true.
    pub ecn: bool,
}

/// The backlog that exempts a packet from CoDel's drops and marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "FqCodelBacklog")]
pub enum Backlog {
    /// The bytes of the packet's line: RFC 8289, applied to each line.
    Line,
    /// The bytes of all lines, as in Linux: CoDel then drops single packets of a line while other
    /// lines have packets.
    All,
}

impl Default for Config {
    fn default() -> Config {
        let codel = codel::Config::default();
        Config {
            packets: Packets::new(10_240),
            flows: Count::new(1024),
            quantum: Size::from_bytes(1514),
            target: codel.target,
            interval: codel.interval,
            backlog: Backlog::Line,
            ecn: codel.ecn,
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"packets = 300, flows = 64, target = "10 ms""#;
}

impl Discipline for Config {
    fn build(&self, _rate: Rate) -> Queue {
        let codel = codel::Config {
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ..codel::Config::default()
        };
        let lane = || Lane { line: Line::default(), control: Control::new(&codel), credit: 0, listed: false };
        Queue::Departure(Box::new(FqCodel {
            packets: self.packets.value(),
            quantum: self.quantum.bytes() as i64,
            backlog: self.backlog,
            lanes: (0..self.flows.value()).map(|_| lane()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            held: Held::default(),
        }))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        facts::Queue::early("fq-codel", self.packets.value())
    }

    fn check(&self, problems: &mut Problems) {
        codel::check_times(self.target, self.interval, problems);
        super::classes::check_quantum(self.quantum, problems);
    }
}

/// Maximum number of packets dropped at once.
const BATCH: u64 = 64;

struct Lane {
    line: Line,
    control: Control,
    credit: i64,
    /// True if the line is in the list of new or of old lines.
    listed: bool,
}

struct FqCodel {
    packets: u64,
    quantum: i64,
    backlog: Backlog,
    lanes: Vec<Lane>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    held: Held,
}

/// Hashes the fields that distinguish connections (the finaliser of SplitMix64).
fn hash(packet: &Packet) -> u64 {
    let words =
        u64::from(packet.flow.0) << 32 | u64::from(packet.source.0) << 16 | u64::from(packet.connection);
    let mixed = words.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl FqCodel {
    fn count(&mut self) {
        self.held = self.lanes.iter().map(|lane| lane.line.held()).sum();
    }

    fn make_room(&mut self, effects: &mut Effects<'_>) {
        let longest = self.lanes.iter_mut().max_by_key(|lane| lane.line.held().bytes);
        let Some(lane) = longest else { return };
        for _ in 0..lane.line.held().packets.div_ceil(2).min(BATCH) {
            let Some((packet, _)) = lane.line.pop() else { break };
            effects.drop(packet, FULL);
        }
        self.count();
    }
}

impl Buffer for FqCodel {
    fn enqueue(&mut self, now: Time, packet: Packet, effects: &mut Effects<'_>) {
        let index = (hash(&packet) % self.lanes.len() as u64) as u32;
        let lane = &mut self.lanes[index as usize];
        self.held.add(&packet);
        lane.line.push(now, packet);
        if !lane.listed {
            lane.listed = true;
            lane.credit = self.quantum;
            self.new.push_back(index);
        }
        if self.held.packets > self.packets {
            self.make_room(effects);
        }
    }

    fn dequeue(&mut self, now: Time, effects: &mut Effects<'_>) -> Option<(Packet, Time)> {
        loop {
            let (index, new) = match self.new.front() {
                Some(index) => (*index, true),
                None => (*self.old.front()?, false),
            };
            let list = if new { &mut self.new } else { &mut self.old };
            let lane = &mut self.lanes[index as usize];
            if lane.credit <= 0 {
                lane.credit += self.quantum;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = lane.line.held();
            let others = match self.backlog {
                Backlog::Line => 0,
                Backlog::All => self.held.bytes - before.bytes,
            };
            let packet = lane.control.dequeue(now, &mut lane.line, others, effects);
            let after = lane.line.held();
            self.held.packets -= before.packets - after.packets;
            self.held.bytes -= before.bytes - after.bytes;
            let Some(packet) = packet else {
                list.pop_front();
                if new {
                    self.old.push_back(index);
                } else {
                    lane.listed = false;
                }
                continue;
            };
            lane.credit -= i64::from(packet.0.size);
            return Some(packet);
        }
    }

    fn head(&self, now: Time) -> Option<Head> {
        let lines = self.new.iter().chain(&self.old).map(|index| &self.lanes[*index as usize].line);
        lines.filter_map(|line| line.head(now)).next()
    }

    fn held(&self) -> Held {
        self.held
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = Waiting> + '_> {
        Box::new(self.lanes.iter().flat_map(|lane| lane.line.waiting()))
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.held = Held::default();
        self.lanes.iter_mut().flat_map(|lane| lane.line.drain()).collect()
    }
}
