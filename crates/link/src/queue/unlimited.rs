//! A queue without a limit: first in, first out, without drops.
//!
//! No device has such a queue. It isolates the behaviour of a protocol: a window that grows over it
//! fills no buffer, and the delay grows instead. Scenarios must request it explicitly.
//!
//! ```toml
//! queue = "unlimited"
//! ```

use super::{Admission, Backlog, Discipline, Limits, Queue, Verdict};
use bentpipe_core::{Dscp, Rate, Sample, Stream, Time};
use bentpipe_stage::{facts, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A first-in, first-out queue that admits every packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Sample for Config {
    const SAMPLE: &'static str = "";
}

impl Discipline for Config {
    fn build(&self, _rate: Rate) -> Queue {
        Queue::Arrival(Box::new(Unlimited))
    }

    fn facts(&self, _rate: Rate, _dscp: Dscp) -> facts::Queue {
        facts::Queue::fifo("unlimited", None, None)
    }
}

/// The admission of an unlimited queue, which admits every packet.
pub struct Unlimited;

impl Admission for Unlimited {
    fn admit(
        &mut self,
        _now: Time,
        _packet: &mut Packet,
        _backlog: Backlog,
        _stream: &mut Stream,
    ) -> Verdict {
        Verdict::Admit
    }

    fn limits(&self) -> Option<Limits> {
        Some(Limits { packets: u64::MAX, bytes: u64::MAX })
    }
}
