//! Collision-aware rate adaptation (CARA): the sender retransmits a failed frame after an RTS, to
//! distinguish collisions from channel errors.
//!
//! At first, data is sent without RTS. After `probe` consecutive failures, an RTS precedes the
//! frame. If the data then fails although a CTS has arrived, the channel is the reason. After
//! `failures` consecutive failures of data, the rate steps down; an unanswered RTS does not count.
//! After `successes` consecutive acknowledged frames, or after `timer` transmissions, the rate
//! steps up.
//!
//! Source: J. Kim, S. Kim, S. Choi, D. Qiao, "CARA: Collision-Aware Rate Adaptation for IEEE 802.11
//! WLANs", INFOCOM 2006: CARA-1. The optional detection of collisions by a medium that is still
//! busy after the sender's own frame (CARA-2) is not implemented.
//!
//! ```toml
//! adaptation = "cara"
//! ```

use super::{Adaptation, Adapter, Choice, Outcome, Speed};
use bentpipe_core::{Count, Sample, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Collision-aware rate adaptation (CARA, Kim 2006): uses RTS to distinguish collisions from
/// channel errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of consecutive failed transmissions after which an RTS precedes the frame; 1 by
    /// default (Kim 2006).
    pub probe: Count<1, 1000>,
    /// Number of consecutive failed transmissions of data required for a step down; 2 by default
    /// (Kim 2006).
    pub failures: Count<1, 1000>,
    /// Number of consecutive acknowledged frames required for a step up; 10 by default (Kim 2006).
    pub successes: Count<1, 10_000>,
    /// Number of transmissions since the last step after which the rate steps up even without
    /// `successes` consecutive acknowledgments; 15 by default (ns-3).
    pub timer: Count<1, 10_000>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            probe: Count::new(1),
            failures: Count::new(2),
            successes: Count::new(10),
            timer: Count::new(15),
        }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "failures = 3";
}

impl Adaptation for Config {
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter> {
        Box::new(Cara {
            config: self.clone(),
            highest: rates.len() - 1,
            rate: 0,
            failures: 0,
            successes: 0,
            transmissions: 0,
        })
    }
}

struct Cara {
    config: Config,
    highest: usize,
    rate: usize,
    /// Number of consecutive failed transmissions.
    failures: u64,
    /// Number of consecutive acknowledged transmissions.
    successes: u64,
    /// Number of transmissions since the last step.
    transmissions: u64,
}

impl Cara {
    fn start(&mut self, rate: usize) {
        (self.rate, self.failures, self.successes, self.transmissions) = (rate, 0, 0, 0);
    }
}

impl Adapter for Cara {
    fn choose(&mut self, _now: Time, _attempt: u32, _stream: &mut Stream) -> Choice {
        Choice { rate: self.rate, rts: self.failures >= self.config.probe.value() }
    }

    fn record_outcome(&mut self, _now: Time, _rate: usize, _attempt: u32, outcome: Outcome) {
        let Some(success) = outcome.success() else { return };
        self.transmissions += 1;
        if success {
            (self.successes, self.failures) = (self.successes + 1, 0);
            let due = self.successes >= self.config.successes.value()
                || self.transmissions >= self.config.timer.value();
            if due && self.rate < self.highest {
                self.start(self.rate + 1);
            }
        } else {
            (self.successes, self.failures) = (0, self.failures + 1);
            if self.failures >= self.config.failures.value() {
                self.start(self.rate.saturating_sub(1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{rates, trajectory};
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn an_rts_precedes_the_second_attempt_and_its_loss_is_not_counted() {
        let check = |outcomes: &str, expected: &str| {
            assert_eq!(trajectory(&Config::default(), outcomes), expected, "{outcomes}");
        };
        check("aaaaaaaaaaasbbbna", "00000000001111110");
        check("aaaaaaaaaaasbbba", "0000000000111111");
        let mut adapter = Config::default().build(&rates());
        let mut stream = Streams::new(1, 0).stream("adaptation");
        assert!(!adapter.choose(Time::ZERO, 0, &mut stream).rts);
        adapter.record_outcome(Time::ZERO, 0, 0, Outcome::Unanswered { sent: 1 });
        assert!(adapter.choose(Time::ZERO, 1, &mut stream).rts);
        adapter.record_outcome(Time::ZERO, 0, 1, Outcome::Acknowledged { sent: 1, acknowledged: 1 });
        assert!(!adapter.choose(Time::ZERO, 0, &mut stream).rts);
    }
}
