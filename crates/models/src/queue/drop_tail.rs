//! Drop tail: first in, first out, full at a number of packets or of bytes.
//!
//! The packet in transmission is not counted, as in a Linux or ns-3 device queue.
//!
//! ```toml
//! queue = { kind = "drop-tail", packets = 417 }
//! ```

use super::{Admission, Backlog, Discipline, Queue, Verdict};
use crate::{DropReason, Packet};
use bentpipe_core::{Count, Problems, Rate, Size, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The queue was full.
pub const FULL: DropReason = DropReason::new("queue full");

/// A drop-tail queue; without a limit it takes everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The most packets that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Count<1, 1_000_000_000>>,
    /// The most bytes that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Size>,
}

impl Discipline for Config {
    fn build(&self, _rate: Rate) -> Queue {
        Queue::Arrival(Box::new(DropTail {
            packets: self.packets.map_or(u64::MAX, Count::value),
            bytes: self.bytes.map_or(u64::MAX, Size::bytes),
        }))
    }

    fn check(&self, problems: &mut Problems) {
        if self.bytes.is_some_and(|bytes| bytes.bytes() < 1500) {
            problems.add("bytes", "a queue must hold at least one packet of 1500 B; allowed: 1500 B or more");
        }
    }
}

struct DropTail {
    packets: u64,
    bytes: u64,
}

impl Admission for DropTail {
    fn admit(&mut self, _now: Time, packet: &mut Packet, backlog: Backlog, _stream: &mut Stream) -> Verdict {
        if backlog.packets < self.packets && backlog.bytes + u64::from(packet.size) <= self.bytes {
            Verdict::Admit
        } else {
            Verdict::Drop(FULL)
        }
    }
}
