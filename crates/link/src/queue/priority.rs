//! Strict priority: the first class that can send is served.
//!
//! ```toml
//! [link.queue]
//! kind = "priority"
//! classes = [
//!     { name = "voice", dscp = ["ef"], queue = { kind = "drop-tail", packets = 20 } },
//!     { name = "rest", queue = { kind = "red" } },
//! ]
//! ```

use super::classes::{self, Class, Lanes, Policy, Scheduler};
use super::{Discipline, Queue};
use bentpipe_core::{Dscp, Problems, Rate, Sample, Time};
use bentpipe_stage::facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Strict priority: whenever the link is free, it serves the first class in the list that has a
/// packet to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The classes, highest priority first; 1 to 64.
    pub classes: Vec<Class>,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"classes = [{ name = "voice", dscp = ["ef"] }, { name = "best", queue = { kind = "drop-tail", packets = 30 } }]"#;
}

impl Discipline for Config {
    fn build(&self, rate: Rate) -> Queue {
        Queue::Departure(Box::new(Scheduler::new(&self.classes, rate, Priority)))
    }

    fn facts(&self, rate: Rate, dscp: Dscp) -> facts::Queue {
        classes::facts("priority", &self.classes, rate, dscp)
    }

    fn check(&self, problems: &mut Problems) {
        classes::check_scheduled(&self.classes, false, problems);
    }
}

struct Priority;

impl Policy for Priority {
    fn next(&mut self, now: Time, lanes: &Lanes) -> Option<usize> {
        (0..lanes.count()).find(|class| lanes.ready(*class, now).is_some())
    }

    fn sent(&mut self, _now: Time, _class: usize, _size: u32, _lanes: &Lanes) {}
}
