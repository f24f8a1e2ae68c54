//! Deficit round robin (Shreedhar and Varghese 1995): in its turn, a class receives a quantum times
//! its weight in bytes, sends the packets that its credit covers, and keeps the rest for its next
//! turn. A class with nothing to send loses its credit.
//!
//! ```toml
//! [link.queue]
//! kind = "drr"
//! quantum = "1500 B"
//! classes = [{ name = "gold", dscp = ["af11"], weight = 3 }, { name = "rest" }]
//! ```

use super::classes::{self, Class, Lanes, Policy, Scheduler};
use super::{Discipline, Queue};
use bentpipe_core::{Dscp, Problems, Rate, Sample, Size, Time};
use bentpipe_stage::facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Deficit round robin (Shreedhar and Varghese 1995): classes take turns, and each may send
/// `quantum` times its weight in bytes per turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Quantum: the bytes that a class of weight 1 may send per turn, 64 B to 1 MB. Default 1500 B.
    #[serde(default = "quantum")]
    pub quantum: Size,
    /// The classes, in the order of their turns; 1 to 64.
    pub classes: Vec<Class>,
}

fn quantum() -> Size {
    Size::from_bytes(1500)
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"quantum = "1600 B", classes = [{ name = "voice", dscp = ["ef"], weight = 1 }, { name = "best", queue = { kind = "drop-tail", packets = 30 }, weight = 3 }]"#;
}

impl Discipline for Config {
    fn build(&self, rate: Rate) -> Queue {
        let quanta: Vec<u64> =
            self.classes.iter().map(|class| class.weight() * self.quantum.bytes()).collect();
        let drr = Drr { deficits: vec![0; quanta.len()], quanta, turn: 0, given: false };
        Queue::Departure(Box::new(Scheduler::new(&self.classes, rate, drr)))
    }

    fn facts(&self, rate: Rate, dscp: Dscp) -> facts::Queue {
        classes::facts("drr", &self.classes, rate, dscp)
    }

    fn check(&self, problems: &mut Problems) {
        classes::check_quantum(self.quantum, problems);
        classes::check_scheduled(&self.classes, true, problems);
    }
}

struct Drr {
    quanta: Vec<u64>,
    /// Deficit counter of each class, in bytes.
    deficits: Vec<u64>,
    turn: usize,
    /// True if the class whose turn it is has received its quantum.
    given: bool,
}

impl Drr {
    fn pass(&mut self) {
        self.turn = (self.turn + 1) % self.quanta.len();
        self.given = false;
    }
}

impl Policy for Drr {
    fn next(&mut self, now: Time, lanes: &Lanes) -> Option<usize> {
        let mut idle = 0;
        while idle < self.quanta.len() {
            match lanes.ready(self.turn, now) {
                Some(size) => {
                    idle = 0;
                    if !self.given {
                        self.given = true;
                        self.deficits[self.turn] += self.quanta[self.turn];
                    }
                    if u64::from(size) <= self.deficits[self.turn] {
                        return Some(self.turn);
                    }
                }
                None => idle += 1,
            }
            self.pass();
        }
        None
    }

    fn sent(&mut self, _now: Time, class: usize, size: u32, lanes: &Lanes) {
        self.deficits[class] = self.deficits[class].saturating_sub(u64::from(size));
        if lanes.is_empty(class) {
            self.deficits[class] = 0;
            self.pass();
        }
    }
}
