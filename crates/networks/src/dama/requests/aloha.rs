//! Contention mini-slots with slotted ALOHA (Abramson 1970, Roberts 1975). A terminal without
//! traffic slots sends its request in a random one of the superframe's shared mini-slots. If two
//! requests are sent in one mini-slot, both are lost. A terminal with traffic slots sends its
//! request in its burst.
//!
//! After sending, a terminal waits for a plan that assigns slots to it. If no such plan arrives
//! within L + 1 superframes, the terminal backs off: after the k-th failure it skips a random
//! number of superframes, uniform in 0..2^k - 1, where k is limited to `backoff` (binary
//! exponential back-off). With RBDC this takes longer than the standard's time-out of two
//! superframes: set `timeout` accordingly.
//!
//! With an offered load of G requests per mini-slot, a fraction G e^-G of the mini-slots carries a
//! request successfully.

use super::contention::{Contention, MAX_REPLICAS};
use super::{Path, RequestChannel, RequestOpportunities};
use bentpipe_core::{Count, Sample, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shared mini-slots with slotted ALOHA (Abramson 1970, Roberts 1975): each request is sent once,
/// and requests that collide are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of shared mini-slots in a superframe, 8 by default.
    pub slots: Count<1, 10_000>,
    /// Maximum exponent of the binary exponential back-off, 6 by default.
    pub backoff: Count<0, 16>,
}

impl Default for Config {
    fn default() -> Config {
        Config { slots: Count::new(8), backoff: Count::new(6) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "slots = 6";
}

impl Path for Config {
    fn build(&self, _terminal: u16, response: u64) -> Box<dyn RequestOpportunities> {
        Box::new(Random::new(self.slots.value() as u16, 1, self.backoff.value() as u32, response))
    }

    fn shared_slots(&self) -> u32 {
        self.slots.value() as u32
    }
}

/// The attempts of one terminal to send a request.
pub(super) struct Random {
    slots: u16,
    replicas: u8,
    backoff: u32,
    /// Number of superframes for which the terminal waits for an answer.
    answer_wait: u64,
    /// The superframe in which the terminal may send again, after its wait for an answer or its
    /// back-off.
    waits_until: u64,
    /// True if a request has been sent and not answered.
    awaits_answer: bool,
    failures: u32,
}

impl Random {
    pub(super) fn new(slots: u16, replicas: u8, backoff: u32, response: u64) -> Random {
        Random {
            slots,
            replicas,
            backoff,
            answer_wait: response + 1,
            waits_until: 0,
            awaits_answer: false,
            failures: 0,
        }
    }
}

impl RequestOpportunities for Random {
    fn next_opportunity(
        &mut self,
        superframe: u64,
        has_slots: bool,
        stream: &mut Stream,
    ) -> Option<RequestChannel> {
        if has_slots {
            self.awaits_answer = false;
            self.failures = 0;
            return Some(RequestChannel::Piggybacked);
        }
        if superframe < self.waits_until {
            return None;
        }
        if std::mem::take(&mut self.awaits_answer) {
            self.failures += 1;
            let window = 1u64 << self.failures.min(self.backoff);
            self.waits_until = superframe + stream.bits() % window;
            if self.waits_until > superframe {
                return None;
            }
        }
        self.awaits_answer = true;
        self.waits_until = superframe + self.answer_wait;
        Some(RequestChannel::Shared(Contention::draw(
            superframe,
            self.slots,
            self.replicas.min(MAX_REPLICAS as u8),
            stream,
        )))
    }

    fn answered(&mut self) {
        self.awaits_answer = false;
        self.failures = 0;
        self.waits_until = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn backoff_window_grows_with_failures_and_resets_on_an_answer() {
        let mut stream = Streams::new(1, 0).stream("aloha");
        let mut opportunities = Random::new(4, 1, 3, 5);
        let mut tries = Vec::new();
        for superframe in 0..4000 {
            if opportunities.next_opportunity(superframe, false, &mut stream).is_some() {
                tries.push(superframe);
            }
        }
        let gaps: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Six superframes for the answer, and a back-off of 0..1, 0..3, 0..7, 0..7, ...
        // superframes.
        for (gap, max_backoff) in gaps.iter().zip([1u64, 3].into_iter().chain(std::iter::repeat(7))) {
            assert!((6..=6 + max_backoff).contains(gap), "{gaps:?}");
        }
        let mean = gaps[2..].iter().sum::<u64>() as f64 / (gaps.len() - 2) as f64;
        assert!((mean - 9.5).abs() < 0.5, "6 + 7/2: {mean}");
        opportunities.answered();
        assert!(opportunities.next_opportunity(4000, false, &mut stream).is_some());
        assert_eq!(
            opportunities.next_opportunity(4001, true, &mut stream),
            Some(RequestChannel::Piggybacked)
        );
    }
}
