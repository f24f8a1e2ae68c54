//! Contention resolution diversity slotted ALOHA (Casini, De Gaudenzi, Herrero, IEEE Trans.
//! Wireless Commun. 6, 2007). Each request is sent as several replicas in different mini-slots of a
//! frame, here the superframe, and each replica contains the positions of the others. The receiver
//! decodes the bursts that are alone in a mini-slot and subtracts their replicas, until no further
//! burst is alone. Decoding ends at the end of the frame.
//!
//! Small data bursts may be sent in the same way: with `data`, a terminal sends its waiting data
//! without a request if they are at most `data` bytes and if the terminal has no slots in the
//! superframe and none planned. Bursts that are not decoded are lost, and the transport retransmits
//! them.
//!
//! Back-off and answers are as in [`super::aloha`]. Limits: interference cancellation is perfect,
//! and there is no capture effect.

use super::aloha::Random;
use super::contention::MAX_REPLICAS;
use super::{Path, RequestOpportunities};
use bentpipe_core::{Count, Problems, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shared mini-slots with contention resolution diversity slotted ALOHA (Casini, De Gaudenzi,
/// Herrero 2007): each request is sent as several replicas, from which the receiver resolves
/// collisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of shared mini-slots in a superframe, 16 by default; at least `replicas`.
    pub slots: Count<2, 10_000>,
    /// Number of replicas of each request, 2 by default.
    pub replicas: Count<2, 4>,
    /// Maximum exponent of the binary exponential back-off, 6 by default.
    pub backoff: Count<0, 16>,
    /// Maximum number of data bytes that a burst carries without a request, 0 by default (requests
    /// only).
    pub data: Count<0, 2000>,
}

impl Default for Config {
    fn default() -> Config {
        Config { slots: Count::new(16), replicas: Count::new(2), backoff: Count::new(6), data: Count::new(0) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "slots = 8, data = 400";
}

impl Path for Config {
    fn build(&self, _terminal: u16, response: u64) -> Box<dyn RequestOpportunities> {
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
        debug_assert!(self.replicas.value() as usize <= MAX_REPLICAS);
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
