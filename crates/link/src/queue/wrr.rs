//! Weighted round robin: in its turn, a class sends as many packets as its weight.
//!
//! Shares are in packets, so classes with larger packets get more bytes. A class that cannot send
//! loses the rest of its turn.
//!
//! ```toml
//! [link.queue]
//! kind = "wrr"
//! classes = [{ name = "gold", dscp = ["af11"], weight = 3 }, { name = "rest" }]
//! ```

use super::classes::{self, Class, Lanes, Policy, Scheduler};
use super::{Discipline, Queue};
use bentpipe_core::{Dscp, Problems, Rate, Sample, Time};
use bentpipe_stage::facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weighted round robin: classes take turns, and each sends as many packets per turn as its weight.
/// Shares are in packets, so classes with larger packets get more bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The classes, in the order of their turns; 1 to 64.
    pub classes: Vec<Class>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"classes = [{ name = "voice", dscp = ["ef"], weight = 1 }, { name = "best", queue = { kind = "drop-tail", packets = 30 }, weight = 3 }]"#;
}

impl Discipline for Config {
    fn build(&self, rate: Rate) -> Queue {
        let weights: Vec<u64> = self.classes.iter().map(Class::weight).collect();
        let wrr = Wrr { turn: 0, left: weights[0], weights };
        Queue::Departure(Box::new(Scheduler::new(&self.classes, rate, wrr)))
    }

    fn facts(&self, rate: Rate, dscp: Dscp) -> facts::Queue {
        classes::facts("wrr", &self.classes, rate, dscp)
    }

    fn check(&self, problems: &mut Problems) {
        classes::check_scheduled(&self.classes, true, problems);
    }
}

struct Wrr {
    weights: Vec<u64>,
    turn: usize,
    /// Number of packets that may still be sent in this turn.
    left: u64,
}

impl Policy for Wrr {
    fn next(&mut self, now: Time, lanes: &Lanes) -> Option<usize> {
        for _ in 0..=self.weights.len() {
            if self.left > 0 && lanes.ready(self.turn, now).is_some() {
                return Some(self.turn);
            }
            self.turn = (self.turn + 1) % self.weights.len();
            self.left = self.weights[self.turn];
        }
        None
    }

    fn sent(&mut self, _now: Time, _class: usize, size: u32, _lanes: &Lanes) {
        self.left -= u64::from(size > 0);
    }
}
