//! {Title}: the rule that admits or drops a packet, in a sentence.
//!
//! Equations with their numbers, source, deviations, limits.
//!
//! ```toml
//! queue = { kind = "{kebab}", packets = 417 }
//! ```

use super::{Admission, Backlog, Discipline, Queue, Verdict};
use bentpipe_core::{Count, Dscp, Rate, Sample, Stream, Time};
use bentpipe_stage::{facts, DropReason, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The drop reason of a packet that the discipline refuses.
pub const REFUSED: DropReason = DropReason::new("refused by {words}");

/// {Title}: the rule that admits or drops a packet, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of waiting packets, 1000 by default.
    pub packets: Count<1, 1_000_000_000>,
}

impl Default for Config {
    fn default() -> Config {
        Config { packets: Count::new(1000) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "packets = 20";
}

impl Discipline for Config {
    fn build(&self, _rate: Rate) -> Queue {
        Queue::Arrival(Box::new({Camel} { packets: self.packets.value() }))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        facts::Queue::fifo("{kebab}", Some(self.packets.value()), None)
    }
}

struct {Camel} {
    packets: u64,
}

impl Admission for {Camel} {
    fn admit(&mut self, _now: Time, _packet: &mut Packet, backlog: Backlog, _stream: &mut Stream) -> Verdict {
        if backlog.packets < self.packets {
            Verdict::Admit
        } else {
            Verdict::Drop(REFUSED)
        }
    }
}
