//! Contention resolution diversity slotted ALOHA (Casini, De Gaudenzi, Herrero, IEEE Trans. Wireless Commun. 6, 2007): each
//! request is sent as several replicas in different mini-slots of a frame, here the superframe, and each replica says where the
//! others are. The receiver takes what is alone in its mini-slot, subtracts its replicas from theirs, and looks again, until
//! nothing is alone any more. What is decoded is known at the end of the frame.
//!
//! Small data bursts may go the same way: with `data`, a terminal that has no slots in a superframe, and none planned, sends what waits
//! without asking, when all of it is no more than so many bytes. What is not decoded is lost; the transport repeats it.
//!
//! Back-off and answers are those of [`super::aloha`]. Limits: cancellation is perfect; no capture effect.

use super::aloha::Random;
use super::contention::MOST_REPLICAS;
use super::{Path, Turns};
use bentpipe_core::{Count, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shared mini-slots, several replicas each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Mini-slots in a superframe.
    pub slots: Count<2, 10_000>,
    /// Replicas of each request.
    pub replicas: Count<2, 4>,
    /// Greatest exponent of the back-off.
    pub backoff: Count<0, 16>,
    /// Most bytes of data that a burst carries; 0 for requests alone.
    pub data: Count<0, 2000>,
}

impl Default for Config {
    fn default() -> Config {
        Config { slots: Count::new(16), replicas: Count::new(2), backoff: Count::new(6), data: Count::new(0) }
    }
}

impl Path for Config {
    fn build(&self, _terminal: u16, response: u64) -> Box<dyn Turns> {
        let (slots, replicas) = (self.slots.value() as u16, self.replicas.value() as u8);
        Box::new(Random::new(slots, replicas, self.backoff.value() as u32, response))
    }

    fn shared_slots(&self) -> u32 {
        self.slots.value() as u32
    }

    fn data(&self) -> u32 {
        self.data.value() as u32
    }

    fn check(&self, problems: &mut Problems) {
        debug_assert!(self.replicas.value() as usize <= MOST_REPLICAS);
        if self.replicas.value() > self.slots.value() {
            let message = format!(
                "{} replicas need as many mini-slots, and a superframe has {}; allowed: at most {1}",
                self.replicas.value(),
                self.slots.value()
            );
            problems.add("replicas", message);
        }
    }
}
