//! Weighted fair queueing, self-clocked (Golestani 1994): packets leave in the order in which a
//! fluid system that serves all classes at once, in proportion to their weights, would complete
//! them.
//!
//! A packet's tag is max(tag of the packet before it in its class, virtual time at its arrival) +
//! size / weight. The virtual time is the tag of the packet in service, and the packet with the
//! smallest tag is served first. The rate need not be known, so the discipline may be nested.
//! Deviation: with the virtual time of the fluid system itself (Demers, Keshav and Shenker 1989;
//! Parekh and Gallager 1993), a packet may leave earlier by at most one packet of each other class.
//!
//! ```toml
//! [link.queue]
//! kind = "wfq"
//! classes = [{ name = "gold", dscp = ["af11"], weight = 3 }, { name = "rest" }]
//! ```

use super::classes::{self, Class, Lanes, Policy, Scheduler};
use super::{Discipline, Queue};
use bentpipe_core::{Dscp, Problems, Rate, Sample, Time};
use bentpipe_stage::facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weighted fair queueing in its self-clocked form (Golestani 1994): classes share the rate in
/// bytes in proportion to their weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The classes, in any order; 1 to 64.
    pub classes: Vec<Class>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"classes = [{ name = "voice", dscp = ["ef"], weight = 1 }, { name = "best", queue = { kind = "drop-tail", packets = 30 }, weight = 3 }]"#;
}

impl Discipline for Config {
    fn build(&self, rate: Rate) -> Queue {
        let weights: Vec<f64> = self.classes.iter().map(|class| class.weight() as f64).collect();
        let wfq = Wfq { starts: vec![0.0; weights.len()], weights, virtual_time: 0.0 };
        Queue::Departure(Box::new(Scheduler::new(&self.classes, rate, wfq)))
    }

    fn facts(&self, rate: Rate, dscp: Dscp) -> facts::Queue {
        classes::facts("wfq", &self.classes, rate, dscp)
    }

    fn check(&self, problems: &mut Problems) {
        classes::check_scheduled(&self.classes, true, problems);
    }
}

struct Wfq {
    weights: Vec<f64>,
    /// For each class, the start of its first packet's tag: the tag of the packet before it, or the
    /// virtual time at its arrival.
    starts: Vec<f64>,
    virtual_time: f64,
}

impl Policy for Wfq {
    fn begins(&mut self, _now: Time, class: usize, _lanes: &Lanes) {
        self.starts[class] = self.starts[class].max(self.virtual_time);
    }

    fn next(&mut self, now: Time, lanes: &Lanes) -> Option<usize> {
        let tag = |class: usize| {
            let size = lanes.ready(class, now)?;
            Some((self.starts[class] + f64::from(size) / self.weights[class], class))
        };
        (0..lanes.count()).filter_map(tag).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, class)| class)
    }

    fn sent(&mut self, _now: Time, class: usize, size: u32, lanes: &Lanes) {
        self.starts[class] += f64::from(size) / self.weights[class];
        self.virtual_time = self.virtual_time.max(self.starts[class]);
        if (0..lanes.count()).all(|class| lanes.is_empty(class)) {
            // A new busy period starts at virtual time zero.
            self.virtual_time = 0.0;
            self.starts.fill(0.0);
        }
    }
}
