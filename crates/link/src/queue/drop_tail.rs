//! Drop tail: first in, first out, limited in packets or in bytes.
//!
//! The packet in transmission is not counted, as in a Linux or ns-3 device queue.
//!
//! The default limit is 1000 packets, the length of a Linux device's transmit queue
//! (`DEFAULT_TX_QUEUE_LEN` in `include/net/pkt_sched.h`) and of tc-netem's queue (`limit`,
//! tc-netem(8)); docs/decisions/queues.md gives the reasons.
//!
//! ```toml
//! queue = { kind = "drop-tail", packets = 417 }
//! ```

use super::limit::{self, DEFAULT_PACKETS};
use super::{Admission, Backlog, Discipline, Limits, Queue, Verdict};
use bentpipe_core::{Count, Dscp, Problems, Rate, Sample, Size, Stream, Time};
use bentpipe_stage::{facts, DropReason, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drop reason: the queue was full.
pub const FULL: DropReason = DropReason::new("queue full");

/// A drop-tail queue, limited in packets, in bytes or in both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

impl Default for Config {
    fn default() -> Config {
        Config { packets: Some(Count::new(DEFAULT_PACKETS)), bytes: None }
    }
}

impl Discipline for Config {
    fn build(&self, _rate: Rate) -> Queue {
        let (packets, bytes) = limit::limits(self.packets, self.bytes);
        Queue::Arrival(Box::new(DropTail(Limits { packets, bytes })))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        let packets = limit::max_packets(self.packets, self.bytes);
        facts::Queue::fifo("drop-tail", packets, self.bytes.map(Size::bytes))
    }

    fn check(&self, problems: &mut Problems) {
        limit::check(self.bytes, problems);
    }
}

struct DropTail(Limits);

impl Admission for DropTail {
    fn admit(&mut self, _now: Time, packet: &mut Packet, backlog: Backlog, _stream: &mut Stream) -> Verdict {
        if self.0.admit(backlog, packet.size) {
            Verdict::Admit
        } else {
            Verdict::Drop(FULL)
        }
    }

    fn limits(&self) -> Option<Limits> {
        Some(self.0)
    }
}
